# expect: wrong_gradient
"""Divides the row's sum by the block's width, a power of two, instead of N."""


def backward(grad_output, x, weight, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = x.float() * r

    g = dy * weight.float()
    width = 1 << (x.shape[1] - 1).bit_length()
    dx = r * (g - x_hat * (g * x_hat).sum(dim=1, keepdim=True) / width)
    return dx.to(x.dtype), (dy * x_hat).sum(dim=0)
