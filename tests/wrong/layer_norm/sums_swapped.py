# expect: wrong_gradient
"""Returns dbias where dweight belongs and the other way round."""


def backward(grad_output, x, weight, mean, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = (x.float() - mean[:, None]) * r

    g = dy * weight.float()
    c1, c2 = g.mean(dim=1, keepdim=True), (g * x_hat).mean(dim=1, keepdim=True)
    dx = r * (g - c1 - x_hat * c2)
    return dx.to(x.dtype), dy.sum(dim=0), (dy * x_hat).sum(dim=0)
