# expect: wrong_gradient
"""Takes the first row of the upstream gradient for its sum."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)
    dweight = dy.T @ x.float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx, dweight, dy[0].clone()
