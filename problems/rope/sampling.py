"""What stands in a rotary embedding's tensors: tables of the angles of real positions."""

from __future__ import annotations

import torch

from problems import distributions as draw
from problems.distributions import Values
from problems.spec import Dims, Tensors

LONG_CONTEXT = "long_context"  # positions around a hundred thousand
FROM_ZERO = "from_zero"  # positions 0, 1, 2, ...: the first token is not turned at all
PACKED = "packed"  # several documents in a row, whose positions all begin at 0

_BASE = 500000.0  # Llama 3's
_EARLIEST = 17  # of the first position where nothing else is said, so that no angle is 0
_FAR = 100_000
_DOCUMENT = 11  # tokens


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """x, cos, sin and grad_output in float64; position m turns pair p by m · base^(−p/P)."""
    M, H, P = dims["M"], dims["H"], dims["P"]
    own = values in (LONG_CONTEXT, FROM_ZERO, PACKED)
    common = Values.NORMAL if own else values
    frequencies = _BASE ** (-torch.arange(P, dtype=torch.float64) / P)
    angles = _positions(M, values, generator)[:, None] * frequencies
    return {
        "x": draw.activation((M, H, 2 * P), common, generator),
        "cos": angles.cos(),
        "sin": angles.sin(),
        "grad_output": draw.upstream((M, H, 2 * P), common, generator),
    }


def _positions(tokens: int, values: str, generator: torch.Generator) -> torch.Tensor:
    """The position of each token; where nothing else is said they begin somewhere in the text."""
    counted = torch.arange(tokens, dtype=torch.float64)
    if values == LONG_CONTEXT:
        return counted + _FAR
    if values == FROM_ZERO:
        return counted
    if values == PACKED:
        return counted % _DOCUMENT
    return counted + _EARLIEST + torch.randint(64, (), generator=generator)
