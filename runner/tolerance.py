"""How wrong a gradient may be: every constant of the criterion, in one place, with its reason.

A gradient's error against float64 is allowed to be ``K`` times a *yardstick* plus a *floor*.

The yardstick is the error that cannot be held against anybody: element by element, the larger of
- the error of the plain PyTorch backward in the submission's own dtypes on the same tensors, and
- the change of the float64 gradient when the arguments move by a few float32 roundings, which is what
  any algorithm computing in float32 may lose where terms cancel (backward stability: Higham, *Accuracy
  and Stability of Numerical Algorithms*, chapter 1). Where kernels cut a sum into chunks of any
  length, each rounds matrices to bfloat16 in places of its own (`Problem.free_roundings`): there,
  arguments in bfloat16 move by half a unit of theirs.

``K = 2`` is FlashAttention's rule for its own tests. The floor keeps small samples fair, where the plain
backward happens to round exactly: one unit in the last place of the output dtype, at the scale of the
elements compared. That is what two roundings, each of at most half a unit relative to the value, can add
up to, so a kernel that rounds once more than the plain backward cannot fail by bad luck.

For float32 gradients one unit says nothing, because a sum over M rows in another order moves by sqrt(M)
of them. ``FLOAT32_ULPS`` of 256 covers sums of 131,072 rows added one by one in a random order (they use
about half of it) and stays a hundred times under what rounding to bfloat16 anywhere on the way costs,
2^-8, which must be refused. `benchmarks/tolerance.py` measures both margins.
"""

from __future__ import annotations

import torch

K = 2.0
FLOAT32_ULPS = 256.0
HALF_ULPS = 1.0
# Relative size of the perturbation that stands for float32 rounding, and how many are drawn.
PERTURBATION = 4 * torch.finfo(torch.float32).eps
PERTURBATIONS = 2
# Where it stands for roundings to bfloat16, too few draws would leave rows that none of them moved.
DRAWS_OF_ROUNDINGS = 4
# Groups of fewer elements than this are not measured on their own, only within larger groups.
SMALLEST_BIN = 16
MAGNITUDE_BINS = 4
# A gradient that is exactly zero in float64 may differ by this much and still be right.
ABSOLUTE = 1e-30


def floor_factor(dtype: torch.dtype) -> float:
    """The floor for gradients of `dtype`, relative to the scale of the elements compared."""
    ulps = FLOAT32_ULPS if dtype in (torch.float32, torch.float64) else HALF_ULPS
    return ulps * torch.finfo(dtype).eps
