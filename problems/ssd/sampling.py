"""How fast the states of SSD decay, how large a step is, and what comes in."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.distributions import Values
from problems.spec import Dims, Tensors

# As Mamba-2 is initialised: A from −16 to −1, dt from 10⁻³ to 10⁻¹, uniform in its logarithm.
FASTEST = 16.0
SLOW = 40.0  # how much slower for a long memory
SHORTEST_STEP, DECADES = 1e-3, 2.0
SHARE = 0.15  # of steps that are resets, or empty
RESET = 12.0  # a step after which nothing is left: exp(−12) and less


class Decay(StrEnum):
    """The distributions that `sample` knows besides the common ones."""

    STRONG = "strong_decay"  # a state forgets all but 10⁻⁵ of itself in a step
    LONG_MEMORY = "long_memory"  # a state lives for several chunks
    RESETS = "resets"  # some long steps, as where a new document begins
    EMPTY_STEPS = "empty_steps"  # some steps of length 0, which change nothing


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """x and grad_output (S, T, G·R, P), dt (S, T, G·R), A (G·R,), B and C (S, T, G, N) in float64.

    LARGE and TINY are for x and grad_output: B and C come from the same projection, but their product
    with x is what has to be large.
    """
    kind = values if values in list(Decay) else ""
    common = Values.NORMAL if kind else Values(values)
    of_heads = (dims["S"], dims["T"], dims["G"] * dims["R"])
    of_groups = (dims["S"], dims["T"], dims["G"], dims["N"])
    dt, A = _steps(of_heads, kind, generator)
    return {
        "x": draw.activation((*of_heads, dims["P"]), common, generator),
        "dt": dt,
        "A": A,
        "B": draw.normal(of_groups, generator),
        "C": draw.normal(of_groups, generator),
        "grad_output": draw.upstream((*of_heads, dims["P"]), common, generator),
    }


def _steps(
    shape: tuple[int, ...], kind: str, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """dt and A: log decays dt · A from −1.6 to −0.001 unless said."""
    uniform, chance = torch.rand((2, *shape), generator=generator, dtype=torch.float64)
    A = -(1 + (FASTEST - 1) * torch.rand(shape[-1], generator=generator, dtype=torch.float64))
    dt = SHORTEST_STEP * 10 ** (DECADES * uniform)
    match kind:
        case Decay.STRONG:
            return 1 + 2 * uniform, A - FASTEST / 2
        case Decay.LONG_MEMORY:
            return dt, A / SLOW
        case Decay.RESETS:
            return torch.where(chance < SHARE, RESET * (1 + uniform), dt), A
        case Decay.EMPTY_STEPS:
            return torch.where(chance < SHARE, 0.0, dt), A
        case _:
            return dt, A
