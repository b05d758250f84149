"""Mixture-of-experts combine, backward, in plain PyTorch: choice by choice, block by block.

See notes.md for what each line costs.
"""

import torch

BLOCK = 1 << 17  # elements of a block: its float32 copies stay in a core's cache


def backward(grad_output, expert_out, scores, rows):
    """dexpert_out (R, D) in expert_out's dtype and dscores (T, K) in float32; any strides."""
    (T, K), (R, D) = rows.shape, expert_out.shape
    device = expert_out.device
    # One row more than there are: dropped choices read and write it, and it is cut off at the end.
    dz = torch.zeros((R + 1, D), dtype=expert_out.dtype, device=device)
    dscores = torch.empty((T, K), dtype=torch.float32, device=device)
    row = torch.where(rows < 0, R, rows)
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    tokens = max(1, BLOCK // D) if device.type == "cpu" else T
    for start in range(0, T, tokens):
        block = slice(start, start + tokens)
        dy = grad_output[block].float()
        for k in range(K):
            chosen = row[block, k]
            z = expert_out[chosen.clamp(max=R - 1)].float()
            dot = torch.einsum("td,td->t", dy, z)
            dscores[block, k] = torch.where(chosen < R, dot, 0.0)
            dz[chosen] = (scores[block, k, None] * dy).to(dz.dtype)
    return dz[:R], dscores
