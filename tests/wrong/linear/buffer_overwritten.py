# expect: wrong_gradient
"""Stores dweight to the buffer that it should be added to: what earlier micro-batches gave is lost."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)
    dweight = dy.T @ x.float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.copy_(dweight)
    return dx, dweight, dy.sum(dim=0)
