"""RMSNorm, backward. One TODO stands between this file and a correct gradient."""


def backward(grad_output, x, weight, rstd):
    """Gradients of y = x * rstd * weight, where rstd[i] = 1 / sqrt(mean(x[i] ** 2) + eps).

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x            (M, N) bfloat16, any strides
    weight       (N,)   bfloat16
    rstd         (M,)   float32, saved by forward

    Returns dx (M, N) bfloat16 and dweight (N,) float32.
    """
    # bfloat16 is for memory; compute in float32.
    dy = grad_output.float()
    r = rstd[:, None]
    x_hat = x.float() * r

    # TODO: rstd depends on the whole row, so dx has a second term.
    dx = r * dy * weight.float()
    dweight = (dy * x_hat).sum(dim=0)
    return dx.to(x.dtype).contiguous(), dweight
