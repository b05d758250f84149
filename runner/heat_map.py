"""A small picture of where a gradient is wrong: whole rows, columns, blocks and tails show at once."""

from __future__ import annotations

import torch

from wire.verdict import HeatMap

MAX_ROWS = 16
MAX_COLUMNS = 32


def heat_map(wrong: torch.Tensor) -> HeatMap:
    """The share of wrong elements in each cell of a grid over `wrong` (bool, any shape).

    Leading dimensions are flattened into rows; a vector is one row.
    """
    matrix = wrong.reshape(-1, wrong.shape[-1]) if wrong.ndim >= 2 else wrong.reshape(1, -1)
    height, width = matrix.shape
    rows, columns = min(MAX_ROWS, height), min(MAX_COLUMNS, width)
    row_of = torch.arange(height) * rows // height
    column_of = torch.arange(width) * columns // width
    cell = (row_of[:, None] * columns + column_of[None, :]).reshape(-1)
    hits = torch.bincount(cell, weights=matrix.reshape(-1).double(), minlength=rows * columns)
    sizes = torch.bincount(cell, minlength=rows * columns)
    share = (hits / sizes).tolist()
    return HeatMap(
        rows=rows,
        columns=columns,
        extent=(height, width),
        wrong_share=tuple(round(max(s, 1e-4), 4) if s else 0.0 for s in share),
    )
