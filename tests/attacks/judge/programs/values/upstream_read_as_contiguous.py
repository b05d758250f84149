# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Read the upstream gradient's memory from its start, whatever its strides.
Surface: the comparison of gradients
Stopped by: cases with expanded, sliced and transposed upstream gradients.
Listed as: §0.5 upstream strides
"""

import torch


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    n = grad_output.untyped_storage().nbytes() // 2 - grad_output.storage_offset()
    g = torch.as_strided(grad_output, (min(n, x.numel()),), (1,))
    g = torch.cat([g, g.new_zeros(x.numel() - len(g))]).view(x.shape)
    return honest(g, x)
