# expect: wrong_gradient
"""Sums the upstream gradient in bfloat16 and casts the result."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)
    dweight = dy.T @ x.float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx, dweight, grad_output.sum(dim=0).float()
