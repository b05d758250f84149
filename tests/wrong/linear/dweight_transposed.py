# expect: invalid_output
"""The weight's gradient as (K, N), the shape of the product as written on paper."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)

    return dx, x.float().T @ dy, dy.sum(dim=0)
