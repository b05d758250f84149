"""SwiGLU, backward. One TODO stands between this file and a correct gradient."""

import torch


def backward(grad_output, gate, up):
    """Gradients of y = silu(gate) * up, where silu(g) = g * sigmoid(g).

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    gate         (M, N) bfloat16, any strides
    up           (M, N) bfloat16, any strides

    Returns dgate (M, N) bfloat16 and dup (M, N) bfloat16.
    """
    # bfloat16 is for memory; compute in float32.
    dy = grad_output.float()
    g = gate.float()
    u = up.float()

    sigma = torch.sigmoid(g)
    dup = dy * g * sigma
    # TODO: silu(g) = g * sigma is a product, so its derivative has a second term.
    dgate = dy * u * sigma
    return dgate.to(gate.dtype).contiguous(), dup.to(up.dtype).contiguous()
