"""What stands in the tensors of a grouped product, and how many rows each expert has."""

from __future__ import annotations

from enum import StrEnum

import torch

from problems import distributions as draw
from problems.grouped_gemm.formulas import groups
from problems.matrix_products import CANCELLING_BATCH, cancelling
from problems.spec import Dims, Tensors

JUNK = 1e18  # in rows that belong to no expert; a sum of squares is still finite in float32
PADDING_SHARE = 4  # one row in so many


class Histogram(StrEnum):
    """The distributions of rows over experts that `sample` knows; the others of `values` are RAGGED."""

    RAGGED = "ragged"  # shares as of a router at random
    BALANCED = "balanced"
    ZIPF = "zipf"  # shares of 1, 1/2, 1/3, ... in any order
    HOT_EXPERT = "hot_expert"  # one expert has half of the rows, the others equal shares
    EMPTY_EXPERTS = "empty_experts"  # the first, the last and every second expert have no rows
    ONE_TAKES_ALL = "one_takes_all"
    PADDED = "padded"  # the last rows belong to no expert and hold JUNK
    NO_ROWS = "no_rows"  # all of them


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """x (M, K), weight (E, K, N) and grad_output (M, N) in float64, offsets (E + 1) in int32."""
    M, N, K, E = (dims[name] for name in "MNKE")
    histogram = Histogram(values) if values in list(Histogram) else Histogram.RAGGED
    own = histogram is not Histogram.RAGGED or values == CANCELLING_BATCH
    common = draw.Values.NORMAL if own else values
    offsets = _offsets(M, E, histogram, generator)
    x = draw.activation((M, K), common, generator)
    grad_output = draw.upstream((M, N), common, generator)
    if values == CANCELLING_BATCH:
        for rows in groups(offsets):
            x[rows], grad_output[rows] = cancelling(x[rows], grad_output[rows])
    x[int(offsets[-1]) :] = grad_output[int(offsets[-1]) :] = JUNK
    return {
        "x": x,
        "weight": draw.normal((E, K, N), generator, scale=K**-0.5),
        "grad_output": grad_output,
        "offsets": offsets,
    }


def integers(dims: Dims, generator: torch.Generator) -> Tensors:
    """The offsets alone, as in "normal"."""
    return {"offsets": _offsets(dims["M"], dims["E"], Histogram.RAGGED, generator)}


def _offsets(
    rows: int, experts: int, histogram: Histogram, generator: torch.Generator
) -> torch.Tensor:
    """Where each expert's rows begin, and where the last one's end, (E + 1) in int32."""
    shares = torch.ones(experts, dtype=torch.float64)
    chosen = int(torch.randint(experts, (), generator=generator))
    match histogram:
        case Histogram.RAGGED | Histogram.PADDED:
            shares = -torch.rand(experts, generator=generator, dtype=torch.float64).log()
        case Histogram.ZIPF:
            order = torch.randperm(experts, generator=generator)
            shares = 1.0 / (1 + order).to(torch.float64)
        case Histogram.HOT_EXPERT:
            shares[chosen] = max(experts - 1, 1)
        case Histogram.EMPTY_EXPERTS:
            shares[::2] = 0
            shares[-1] = 0
        case Histogram.ONE_TAKES_ALL:
            shares = (torch.arange(experts) == chosen).to(torch.float64)
        case Histogram.NO_ROWS:
            rows = 0
        case Histogram.BALANCED:
            pass
    if histogram is Histogram.PADDED:
        rows -= rows // PADDING_SHARE
    ends = (shares.cumsum(0) / shares.sum() * rows).round()
    return torch.cat((torch.zeros(1), ends)).to(torch.int32)
