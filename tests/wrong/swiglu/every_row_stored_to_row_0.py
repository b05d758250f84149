# expect: wrong_gradient
"""Input pointers move to the row, output pointers do not: the last row lands in row 0."""

import torch


def backward(grad_output, gate, up):
    dgate, dup = torch.zeros(gate.shape, dtype=gate.dtype), torch.zeros(up.shape, dtype=up.dtype)
    for dy, g, u in zip(grad_output.float(), gate.float(), up.float(), strict=True):
        sigma = torch.sigmoid(g)
        dgate[0] = dy * u * sigma * (1 + g * (1 - sigma))
        dup[0] = dy * g * sigma
    return dgate, dup
