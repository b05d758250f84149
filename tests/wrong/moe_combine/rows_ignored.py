# expect: wrong_gradient
"""Takes the choices' rows to lie in the tokens' order."""

import torch


def backward(grad_output, expert_out, scores, rows):
    dz = torch.zeros(expert_out.shape, dtype=expert_out.dtype)
    dscores = torch.zeros(scores.shape)
    dy = grad_output.float()
    place = torch.arange(rows.numel()).reshape(rows.shape) % len(expert_out)
    rows = torch.where(rows >= 0, place, -1)
    for k in range(rows.shape[1]):
        kept = rows[:, k] >= 0
        row = rows[kept, k]
        dz[row] = (scores[kept, k, None] * dy[kept]).to(dz.dtype)
        dscores[kept, k] = (dy[kept] * expert_out[row].float()).sum(1)
    return dz, dscores
