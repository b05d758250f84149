# expect: wrong_gradient
"""Treats rstd as a constant, so dx lacks the term that couples a row."""


def backward(grad_output, x, weight, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = x.float() * r

    dx = r * dy * weight.float()
    return dx.to(x.dtype), (dy * x_hat).sum(dim=0)
