# expect: invalid_output
"""Returns dx alone, as a frozen weight would allow."""


def backward(grad_output, x, weight, rstd):
    dy, r = grad_output.float(), rstd[:, None]
    x_hat = x.float() * r

    g = dy * weight.float()
    return (r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))).to(x.dtype)
