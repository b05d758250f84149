# expect: compile_error
"""The function is there, under another name."""


def rms_norm_backward(grad_output, x, weight, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = x.float() * r

    g = dy * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (dy * x_hat).sum(dim=0)
