# expect: wrong_gradient
"""RMSNorm's formula with layer norm's x̂: the term through the mean is missing."""


def backward(grad_output, x, weight, mean, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = (x.float() - mean[:, None]) * r

    g = dy * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (dy * x_hat).sum(dim=0), dy.sum(dim=0)
