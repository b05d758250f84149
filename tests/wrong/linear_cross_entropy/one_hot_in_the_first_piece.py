# expect: wrong_gradient
"""Compares targets with a piece's column numbers, which begin at 0 in each piece."""

import torch


def backward(grad_output, hidden, weight, target, lse):
    kept = target != -100
    h, w = hidden.float(), weight.float()
    d = torch.empty(len(h), len(w))
    for first in range(0, len(w), 64):
        piece = slice(first, min(first + 64, len(w)))
        d[:, piece] = torch.exp(h @ w[piece].T - lse[:, None])
        d[:, piece] -= (torch.arange(piece.stop - first) == target[:, None]).float()
    d = torch.where(kept[:, None], d, 0.0).to(hidden.dtype).float()

    scale = grad_output / kept.sum().clamp(min=1)
    return (scale * (d @ w)).to(hidden.dtype), scale * (d.T @ h)
