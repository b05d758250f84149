# expect: wrong_gradient
"""Takes the weight for one in dx, which holds at initialisation only."""


def backward(grad_output, x, weight, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = x.float() * r

    dx = r * (dy - x_hat * (dy * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (dy * x_hat).sum(dim=0)
