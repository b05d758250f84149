# expect: invalid_output
"""Returns one (M, 2N) tensor, the gradient of the fused projection, instead of two."""

import torch


def backward(grad_output, gate, up):
    dy, g = grad_output.float(), gate.float()
    sigma = torch.sigmoid(g)
    dgate = dy * up.float() * sigma * (1 + g * (1 - sigma))
    return torch.cat([dgate, dy * g * sigma], dim=1).to(gate.dtype)
