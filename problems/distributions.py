"""Value distributions that several problems share: what stands in the tensors, whatever their layout.

Everything is drawn in float64 from the given generator, so one seed means one set of inputs. A
problem's `sample` uses these and adds distributions of its own.
"""

from __future__ import annotations

from enum import StrEnum

import torch

LARGE = 1e4  # beyond float16's reach once squared, well within bfloat16's and float32's
TINY_ACTIVATION = 1e-6
TINY_UPSTREAM = 1e-8  # below float16's smallest subnormal: an unscaled gradient of a mean loss

Shape = tuple[int, ...]


class Values(StrEnum):
    """The distributions of `Case.values` that `activation` and `upstream` know."""

    NORMAL = "normal"
    ZERO_UPSTREAM = "zero_upstream"
    ONE_HOT_UPSTREAM = "one_hot_upstream"
    LARGE = "large"
    TINY = "tiny"
    TIES = "ties"
    CONSTANT_ROWS = "constant_rows"


def normal(shape: Shape, generator: torch.Generator, scale: float = 1.0) -> torch.Tensor:
    """Independent normal values with mean 0 and standard deviation `scale`, float64."""
    return scale * torch.randn(shape, generator=generator, dtype=torch.float64)


def activation(shape: Shape, values: str, generator: torch.Generator) -> torch.Tensor:
    """An input of forward.

    LARGE and TINY scale it, TIES takes it from five values with 0 among them, CONSTANT_ROWS repeats
    one value along the last dimension; the distributions of the upstream gradient leave it normal.

    Raises:
        ValueError: `values` is not one of `Values`.
    """
    match Values(values):
        case Values.LARGE:
            return normal(shape, generator, LARGE)
        case Values.TINY:
            return normal(shape, generator, TINY_ACTIVATION)
        case Values.TIES:
            return torch.randint(-2, 3, shape, generator=generator).to(torch.float64) / 2
        case Values.CONSTANT_ROWS:
            return normal((*shape[:-1], 1), generator).expand(shape).contiguous()
        case _:
            return normal(shape, generator)


def upstream(shape: Shape, values: str, generator: torch.Generator) -> torch.Tensor:
    """The gradient of the loss with respect to forward's output.

    It is never all ones, so that a kernel which forgets to multiply by it shows.

    Raises:
        ValueError: `values` is not one of `Values`.
    """
    match Values(values):
        case Values.ZERO_UPSTREAM:
            return torch.zeros(shape, dtype=torch.float64)
        case Values.ONE_HOT_UPSTREAM:
            hot = torch.zeros(shape, dtype=torch.float64)
            place = int(torch.randint(hot.numel(), (1,), generator=generator))
            hot.view(-1)[place] = -2.5
            return hot
        case Values.LARGE:
            return normal(shape, generator, LARGE)
        case Values.TINY:
            return normal(shape, generator, TINY_UPSTREAM)
        case _:
            return normal(shape, generator)


def weight(shape: Shape, generator: torch.Generator) -> torch.Tensor:
    """A norm's scale: around 1 as training leaves it, never 1 itself, now and then negative."""
    return 1.0 + normal(shape, generator, 0.5)
