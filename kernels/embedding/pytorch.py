"""Embedding, backward, in plain PyTorch: rows added by index, a block of tokens at a time.

See notes.md for what each line costs.
"""

import torch

PADDING = 0
BLOCK = 1 << 17  # elements of a block: its float32 copy, 512 KB, stays in a core's cache


def backward(grad_output, ids, weight):
    """dweight (V, N) in float32; any strides of grad_output."""
    (M, N), V = grad_output.shape, weight.shape[0]
    dweight = torch.zeros((V, N), dtype=torch.float32, device=ids.device)
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    rows = max(1, BLOCK // N) if ids.device.type == "cpu" else M
    for start in range(0, M, rows):
        block = slice(start, start + rows)
        # index_add_ adds for every occurrence; `dweight[ids] += dy` would keep one of them.
        dweight.index_add_(0, ids[block], grad_output[block].float())
    dweight[PADDING] = 0  # cheaper than leaving padding out of every block
    return dweight
