"""What problems of matrix products share: products in float32, spoiled ones, inputs that cancel."""

from __future__ import annotations

import torch

T = torch.Tensor
CANCELLING_BATCH = "cancelling_batch"
_SHIFT = 4.0


def product_in_float32(a: T, b: T) -> T:
    """`a @ b` of bfloat16 matrices, not rounded below float32."""
    if a.is_cuda:  # tensor cores add in float32 anyway; this keeps what they added
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


def product_in_parts(a: T, b: T, block: int) -> T:
    """What each block along the contracted axis adds to `a @ b`, (blocks, rows, columns) in float32."""
    parts = zip(torch.split(a.float(), block, 1), torch.split(b.float(), block), strict=True)
    return torch.stack([columns @ rows for columns, rows in parts])


def as_its_transpose(matrix: T) -> T:
    """What a kernel reads or stores that takes (A, B) in memory for (B, A): square, the transpose."""
    rows, columns = matrix.shape
    return matrix.contiguous().view(columns, rows).t()


def cancelling(x: T, grad_output: T) -> tuple[T, T]:
    """x shifted by 4, the upstream gradient by +4 in the first half of the rows and by -4 in the second:
    partial sums over the rows grow some 30 times beyond their ends."""
    first = torch.arange(len(x)) < len(x) // 2
    return x + _SHIFT, grad_output + torch.where(first, _SHIFT, -_SHIFT)[:, None]
