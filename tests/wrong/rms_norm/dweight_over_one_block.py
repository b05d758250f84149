# expect: wrong_gradient
"""Sums dweight over the first 128 rows only: one block, as if there were no other."""


def backward(grad_output, x, weight, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = x.float() * r

    g = dy * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (dy * x_hat)[:128].sum(dim=0)
