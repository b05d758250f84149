"""Memory layouts that real training hands to a backward kernel.

The largest class of public bug reports of wrong gradients is a kernel that reads a strided or
stride-0 upstream gradient as if it were contiguous; `y.sum().backward()` alone produces stride 0.
"""

from __future__ import annotations

from enum import StrEnum

import torch


class Layout(StrEnum):
    """How an argument's elements lie in memory."""

    CONTIGUOUS = "contiguous"
    TRANSPOSED = "transposed"  # the last two dimensions swapped in memory
    SLICED = "sliced"  # a column slice of a wider buffer, as torch.cat's backward makes
    EXPANDED = "expanded"  # stride 0 along the first dimension, as sum's backward makes


def apply_layout(tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
    """`tensor`'s values (EXPANDED: its first row's, everywhere) in another memory layout.

    SLICED pads each row with NaN, so that a kernel which reads past its row shows it.

    Raises:
        ValueError: the layout needs more dimensions than `tensor` has.
    """
    if layout is Layout.CONTIGUOUS:
        return tensor.contiguous()
    if tensor.ndim < (1 if layout is Layout.EXPANDED else 2):
        raise ValueError(f"a {tensor.ndim}-dimensional tensor has no layout {layout.value!r}")
    if layout is Layout.TRANSPOSED:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout is Layout.EXPANDED:
        return tensor[:1].clone(memory_format=torch.contiguous_format).expand_as(tensor)
    width = tensor.shape[-1]
    padding = float("nan") if tensor.is_floating_point() else 0
    wide = tensor.new_full((*tensor.shape[:-1], width + 24), padding)
    view = wide[..., 8 : 8 + width]
    view.copy_(tensor)
    return view
