"""Softmax, backward, in plain PyTorch: blocks of rows, so that temporaries stay in the cache.

See notes.md for what each line costs.
"""

import torch

BLOCK = 1 << 17  # elements of a block: each float32 temporary, 512 KB, stays in a core's cache


def backward(grad_output, y):
    """dx (M, N) in y's dtype; any strides of grad_output and y."""
    M, N = y.shape
    dx = torch.empty((M, N), dtype=y.dtype, device=y.device)
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    rows = max(1, BLOCK // N) if y.device.type == "cpu" else M
    for start in range(0, M, rows):
        block = slice(start, start + rows)
        p = y[block].float()
        g = grad_output[block].float()
        s = (g * p).sum(dim=1, keepdim=True)
        dx[block] = g.sub_(s).mul_(p)
    return dx
