# expect: wrong_gradient
"""Both gradients are right, in the wrong order; shapes and dtypes cannot tell."""

import torch


def backward(grad_output, gate, up):
    dy, g = grad_output.float(), gate.float()
    sigma = torch.sigmoid(g)
    dgate = dy * up.float() * sigma * (1 + g * (1 - sigma))
    return (dy * g * sigma).to(up.dtype), dgate.to(gate.dtype)
