"""Softmax cross-entropy, backward, in plain PyTorch: block by block, so that temporaries stay small.

See notes.md for what each line costs.
"""

import torch

IGNORE_INDEX = -100
BLOCK = 1 << 17  # elements of a block: its float32 temporary, 512 KB, stays in a core's cache


def backward(grad_output, logits, target, lse):
    """dlogits (M, V) in logits' dtype; any strides of logits."""
    M, V = logits.shape
    dlogits = torch.empty((M, V), dtype=logits.dtype, device=logits.device)
    kept = target != IGNORE_INDEX
    scale = torch.where(kept, grad_output / kept.sum().clamp(min=1), 0.0)
    column = target.clamp(min=0)  # an ignored row is multiplied by 0, so any valid column will do
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    rows = max(1, BLOCK // V) if logits.device.type == "cpu" else M
    for start in range(0, M, rows):
        block = slice(start, start + rows)
        dz = (logits[block] - lse[block, None]).exp_()  # bfloat16 − float32 is computed in float32
        dz.scatter_add_(1, column[block, None], dz.new_full((1, 1), -1.0).expand(len(dz), 1))
        dlogits[block] = dz.mul_(scale[block, None])
    return dlogits
