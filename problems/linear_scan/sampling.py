"""How fast the states of a scan decay, and what comes in."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.spec import Dims, Tensors

LONGEST = 3.0  # decades: decays up to 1 − 10⁻³, a memory of a thousand steps
STRONG = 1e-3  # fifteen such steps in a row underflow float32
RESET_SHARE = 0.15


class ScanValues(StrEnum):
    """The distributions that `sample` knows."""

    NORMAL = "normal"
    RESETS = "resets"
    STRONG_DECAY = "strong_decay"
    LONG_MEMORY = "long_memory"
    ALTERNATING = "alternating"
    ZERO_UPSTREAM = "zero_upstream"
    ONE_HOT_UPSTREAM = "one_hot_upstream"
    LARGE = "large"
    TINY = "tiny"


_COMMON = {
    ScanValues.ZERO_UPSTREAM,
    ScanValues.ONE_HOT_UPSTREAM,
    ScanValues.LARGE,
    ScanValues.TINY,
}


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """a, x and grad_output (B, T, D) in float64."""
    chosen = ScanValues(values)
    shape = (dims["B"], dims["T"], dims["D"])
    common = chosen.value if chosen in _COMMON else draw.Values.NORMAL
    return {
        "a": _decay(shape, chosen, generator),
        "x": draw.activation(shape, common, generator),
        "grad_output": draw.upstream(shape, common, generator),
    }


def _decay(shape: tuple[int, ...], values: ScanValues, generator: torch.Generator) -> torch.Tensor:
    """Decays whose memory 1 / (1 − a) is anything from one step to a thousand."""
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
    match values:
        case ScanValues.RESETS:
            reset = torch.rand(shape[:2], generator=generator) < RESET_SHARE
            return torch.where(reset[..., None], 0.0, 1 - 10 ** (-LONGEST * uniform))
        case ScanValues.STRONG_DECAY:
            return STRONG * (0.5 + uniform)
        case ScanValues.LONG_MEMORY:
            return 1 - 1e-4 * uniform
        case ScanValues.ALTERNATING:
            return 2 * uniform - 1
        case _:
            return 1 - 10 ** (-LONGEST * uniform)
