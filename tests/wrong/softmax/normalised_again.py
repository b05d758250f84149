# expect: wrong_gradient
"""Divides y by its row's sum, which rounding has moved away from 1, before using it."""


def backward(grad_output, y):
    g, p = grad_output.float(), y.float()
    p = p / p.sum(dim=1, keepdim=True)
    return (p * (g - (g * p).sum(dim=1, keepdim=True))).to(y.dtype)
