# expect: wrong_gradient
"""A grid half as large as it should be: the upper half of the columns stays zero."""

import torch


def backward(grad_output, gate, up):
    dgate, dup = torch.zeros(gate.shape, dtype=gate.dtype), torch.zeros(up.shape, dtype=up.dtype)
    half = slice(0, (gate.shape[1] + 1) // 2)
    dy, g, u = (t[:, half].float() for t in (grad_output, gate, up))
    sigma = torch.sigmoid(g)
    dgate[:, half] = dy * u * sigma * (1 + g * (1 - sigma))
    dup[:, half] = dy * g * sigma
    return dgate, dup
