"""RMSNorm, forward and backward. One TODO stands between this file and correct gradients."""

import torch

EPS = 1e-6


def forward(x, weight):
    """The output y = x * rstd * weight with rstd[i] = 1 / sqrt(mean(x[i] ** 2) + EPS), and what to save.

    x            (M, N) bfloat16, any strides
    weight       (N,)   bfloat16

    Returns y (M, N) bfloat16 and a tuple of tensors, whose bytes are measured and ranked.
    """
    x_hat = x.float()
    rstd = torch.rsqrt(x_hat.square().mean(dim=1) + EPS)
    y = x_hat * rstd[:, None] * weight.float()
    # Plain PyTorch saves these two. Can backward do with less?
    return y.to(x.dtype).contiguous(), (x, rstd)


def backward(grad_output, saved, weight):
    """The gradients of forward, in another process: nothing of it is here but what it saved.

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    saved        (a tuple) what forward returned beside y, contiguous
    weight       (N,)   bfloat16, as in forward

    Returns dx (M, N) bfloat16 and dweight (N,) float32.
    """
    x, rstd = saved
    # bfloat16 is for memory; compute in float32.
    dy = grad_output.float()
    r = rstd[:, None]
    x_hat = x.float() * r

    # TODO: rstd depends on the whole row, so dx has a second term.
    dx = r * dy * weight.float()
    dweight = (dy * x_hat).sum(dim=0)
    return dx.to(x.dtype).contiguous(), dweight
