"""Memory layouts change where elements lie, and nothing else."""

from __future__ import annotations

import pytest
import torch

from problems.layouts import Layout, apply_layout

MATRIX = torch.randn(5, 7)


@pytest.mark.parametrize("layout", [Layout.CONTIGUOUS, Layout.TRANSPOSED, Layout.SLICED])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64, torch.int64])
def test_values_and_dtype_stay(layout: Layout, dtype: torch.dtype):
    tensor = (10 * MATRIX).to(dtype)
    laid_out = apply_layout(tensor, layout)
    assert laid_out.dtype is dtype
    assert torch.equal(laid_out, tensor)


def test_transposed_swaps_the_last_two_dimensions_in_memory():
    assert apply_layout(MATRIX, Layout.TRANSPOSED).stride() == (1, 5)
    assert apply_layout(torch.randn(2, 5, 7), Layout.TRANSPOSED).stride() == (35, 1, 5)


def test_expanded_repeats_the_first_row_without_memory_for_it():
    expanded = apply_layout(MATRIX, Layout.EXPANDED)
    assert expanded.stride() == (0, 1)
    assert torch.equal(expanded, MATRIX[:1].expand(5, 7))
    assert expanded.untyped_storage().nbytes() == 7 * 4


def test_reading_past_a_sliced_row_gives_nan():
    sliced = apply_layout(MATRIX, Layout.SLICED)
    around = sliced.as_strided((5, 9), sliced.stride(), sliced.storage_offset() - 1)
    assert bool(around[:, 0].isnan().all())
    assert bool(around[:, -1].isnan().all())
    assert torch.equal(around[:, 1:-1], MATRIX)


@pytest.mark.parametrize("layout", [Layout.TRANSPOSED, Layout.SLICED])
def test_a_vector_has_no_matrix_layout(layout: Layout):
    with pytest.raises(ValueError, match=f"1-dimensional .* '{layout}'"):
        apply_layout(torch.randn(3), layout)


@pytest.mark.parametrize("layout", [a for a in Layout if a is not Layout.CONTIGUOUS])
def test_a_scalar_has_no_layout(layout: Layout):
    with pytest.raises(ValueError, match="0-dimensional"):
        apply_layout(torch.tensor(1.0), layout)
