# expect: wrong_gradient
"""Uses -1 as an index: it reads and writes the last row."""

import torch


def backward(grad_output, expert_out, scores, rows):
    dz = torch.zeros(expert_out.shape, dtype=expert_out.dtype)
    dscores = torch.zeros(scores.shape)
    dy = grad_output.float()
    for k in range(rows.shape[1]):
        kept = slice(None)
        row = rows[kept, k]
        dz[row] = (scores[kept, k, None] * dy[kept]).to(dz.dtype)
        dscores[kept, k] = (dy[kept] * expert_out[row].float()).sum(1)
    return dz, dscores
