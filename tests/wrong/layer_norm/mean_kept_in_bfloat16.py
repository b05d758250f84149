# expect: wrong_gradient
"""Keeps the mean of each row in bfloat16, as if it were an activation."""


def backward(grad_output, x, weight, mean, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = (x.float() - mean.bfloat16().float()[:, None]) * r

    g = dy * weight.float()
    c1, c2 = g.mean(dim=1, keepdim=True), (g * x_hat).mean(dim=1, keepdim=True)
    dx = r * (g - c1 - x_hat * c2)
    return dx.to(x.dtype), (dy * x_hat).sum(dim=0), dy.sum(dim=0)
