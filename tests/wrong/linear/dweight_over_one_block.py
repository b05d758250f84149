# expect: wrong_gradient
"""Sums dweight over the first 512 rows only: one part of the batch, as if there were no other."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)
    dweight = dy[:512].T @ x[:512].float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx, dweight, dy.sum(dim=0)
