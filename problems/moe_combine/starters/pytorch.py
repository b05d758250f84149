"""Mixture-of-experts combine, backward. Two TODOs stand between this file and a correct gradient."""

import torch


def backward(grad_output, expert_out, scores, rows):
    """Gradients of y[t] = sum over k of scores[t, k] * expert_out[rows[t, k]]; rows of -1 are dropped.

    grad_output  (T, D) bfloat16, any strides: the gradient of the loss with respect to y
    expert_out   (R, D) bfloat16, any strides
    scores       (T, K) float32, any strides
    rows         (T, K) int64, any strides; a row of expert_out or -1, no row twice

    Returns dexpert_out (R, D) bfloat16 and dscores (T, K) float32.
    """
    # bfloat16 is for memory; compute in float32.
    dy = grad_output.float()
    dexpert_out = torch.zeros(expert_out.shape, dtype=torch.float32, device=dy.device)
    dscores = torch.zeros(scores.shape, dtype=torch.float32, device=dy.device)
    for k in range(rows.shape[1]):
        kept = rows[:, k] >= 0
        # TODO 1: each choice counts as much as its score says.
        dexpert_out[rows[kept, k]] = dy[kept]
        # TODO 2: dscores[t, k] is the dot product of dy[t] and the row that the choice refers to.
    return dexpert_out.to(expert_out.dtype), dscores
