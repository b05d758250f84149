# expect: wrong_gradient
"""Sums dweight over the first 512 rows only: one part of the batch, as if there were no other."""


def backward(grad_output, x, weight):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)

    return dx, dy[:512].T @ x[:512].float(), dy.sum(dim=0)
