"""Gathering the rows that choices refer to, and scattering to them."""

from __future__ import annotations

import torch

T = torch.Tensor


def gathered(values: T, rows: T) -> T:
    """`values[rows]`, (T, K, D), with zeros where a choice has no row: it was dropped, or cut off."""
    kept = (rows >= 0) & (rows < len(values))
    return torch.where(kept[..., None], values[torch.where(kept, rows, 0)], 0.0)


def scattered(of_choices: T, rows: T, count: int) -> T:
    """(count, D): what each choice has, in the row that it refers to; zeros where none does."""
    kept = (rows >= 0) & (rows < count)
    out = torch.zeros((count, of_choices.shape[-1]), dtype=of_choices.dtype, device=rows.device)
    out[rows[kept]] = of_choices[kept]
    return out
