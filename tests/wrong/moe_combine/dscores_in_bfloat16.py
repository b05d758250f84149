# expect: wrong_gradient
"""Rounds the products to bfloat16 before it adds them up."""

import torch


def backward(grad_output, expert_out, scores, rows):
    dz = torch.zeros(expert_out.shape, dtype=expert_out.dtype)
    dscores = torch.zeros(scores.shape)
    dy = grad_output.float()
    for k in range(rows.shape[1]):
        kept = rows[:, k] >= 0
        row = rows[kept, k]
        dz[row] = (scores[kept, k, None] * dy[kept]).to(dz.dtype)
        dscores[kept, k] = (dy[kept].bfloat16() * expert_out[row]).float().sum(1)
    return dz, dscores
