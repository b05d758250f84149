"""The linear scan's backward: a recurrence turned round in time.

The gradient is derived in derivation.md. The scan is that of the RG-LRU (De et al., *Griffin*, 2024).
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.linear_scan.cases import CASES
from problems.linear_scan.formulas import before, scanned, scanned_back
from problems.linear_scan.mistakes import MISTAKES
from problems.linear_scan.sampling import sample
from problems.spec import (
    Benchmark,
    Cost,
    Dims,
    Gradients,
    GradientSpec,
    Problem,
    Role,
    Tensors,
    TensorSpec,
)


def forward(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """`h[t] = a[t] · h[t-1] + x[t]` with `h[-1] = 0`; all are (B, T, D)."""
    return scanned(a, x)


def saved(a: torch.Tensor, x: torch.Tensor) -> Tensors:
    """The states, which are also the output, (B, T, D)."""
    return {"h": scanned(a, x)}


def closed_form(grad_output: torch.Tensor, a: torch.Tensor, h: torch.Tensor) -> Gradients:
    """`dx[t] = g[t] = dy[t] + a[t+1] · g[t+1]` from the end, and `da[t] = g[t] · h[t-1]`."""
    g = scanned_back(a, grad_output)
    return g, g * before(h)


def baseline(grad_output: torch.Tensor, a: torch.Tensor, h: torch.Tensor) -> Gradients:
    """The same: everything is float32 already."""
    dx, da = closed_form(grad_output, a, h)
    return dx.contiguous(), da.contiguous()


def cost(dims: Dims) -> Cost:
    """grad_output, a and h are read, dx and da are written, 4 bytes each; three FLOPs an element.

    The three: a product and an addition for g, a product for da.
    """
    elements = dims["B"] * dims["T"] * dims["D"]
    return Cost(bytes=5 * 4 * elements, vector_flops=3 * elements)


_SHAPE = ("B", "T", "D")
PROBLEM = Problem(
    slug="linear_scan",
    title="Linear scan",
    summary="A recurrence with decay, run from the end: sequential by nature, parallel by algebra.",
    tier="Sequences",
    tags=("scan", "recurrence", "time reversal", "chunks"),
    models=("RecurrentGemma",),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output", torch.float32, Role.GRAD_OUTPUT, _SHAPE, "gradient of the loss w.r.t. h"
        ),
        TensorSpec("a", torch.float32, Role.INPUT, _SHAPE, "the decay of each step and channel"),
        TensorSpec("h", torch.float32, Role.SAVED, _SHAPE, "the states, from forward"),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.float32, _SHAPE, "gradient of the loss w.r.t. x"),
        GradientSpec("da", "a", torch.float32, _SHAPE, "gradient of the loss w.r.t. a"),
    ),
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=baseline,
    sample=sample,
    cost=cost,
    cases=CASES,
    benchmarks={
        "cpu": (
            Benchmark(
                "recurrentgemma-2b", {"B": 1, "T": 512, "D": 2560}, "RecurrentGemma-2B, 512 tokens"
            ),
            Benchmark(
                "recurrentgemma-9b",
                {"B": 2, "T": 256, "D": 4096},
                "RecurrentGemma-9B, 2 × 256 tokens",
            ),
        ),
        "gpu": (
            Benchmark(
                "recurrentgemma-2b",
                {"B": 8, "T": 2048, "D": 2560},
                "RecurrentGemma-2B, 8 × 2048 tokens",
            ),
            Benchmark(
                "recurrentgemma-9b",
                {"B": 2, "T": 8192, "D": 4096},
                "RecurrentGemma-9B, 2 × 8192 tokens",
            ),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
