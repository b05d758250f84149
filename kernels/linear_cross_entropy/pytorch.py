"""Linear cross-entropy, backward, in plain PyTorch: the vocabulary in pieces, so that logits stay few.

See notes.md for what each line costs.
"""

import torch

IGNORE_INDEX = -100
CLASSES = 8192  # of a piece: the most columns of logits there are at any time


def product(a, b):
    """a @ b in float32; on a GPU both are rounded to bfloat16, whose products are exact and added up."""
    if a.is_cuda:
        return torch.mm(a.bfloat16(), b.bfloat16(), out_dtype=torch.float32)
    return a.float() @ b.float()


def backward(grad_output, hidden, weight, target, lse):
    """grad_output () float32; hidden (M, K) and weight (V, K) bfloat16, any strides; lse (M,) float32.

    Returns dhidden (M, K) in bfloat16 and dweight (V, K) in float32.
    """
    (M, K), V = hidden.shape, weight.shape[0]
    dhidden = torch.zeros((M, K), dtype=torch.float32, device=hidden.device)
    dweight = torch.empty((V, K), dtype=torch.float32, device=hidden.device)
    kept = target != IGNORE_INDEX
    scale = torch.where(kept, grad_output / kept.sum().clamp(min=1), 0.0)[:, None]
    for first in range(0, V, CLASSES):
        piece = slice(first, min(first + CLASSES, V))
        d = product(hidden, weight[piece].t()).sub_(lse[:, None]).exp_()
        # The target's column, if it lies in this piece; elsewhere nothing is subtracted.
        column = target - first
        here = (column >= 0) & (column < d.shape[1])
        column = column.clamp(0, d.shape[1] - 1)[:, None]
        d.scatter_add_(1, column, -here.to(d.dtype)[:, None])
        d.mul_(scale)
        dhidden += product(d, weight[piece])
        dweight[piece] = product(d.t(), hidden)
    return dhidden.to(hidden.dtype), dweight
