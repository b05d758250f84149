"""The experts' matrix products, backward: two products for each expert, over ragged groups of rows.

The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.grouped_gemm.cases import CASES
from problems.grouped_gemm.formulas import dweight_of, dx_of, groups
from problems.grouped_gemm.mistakes import MISTAKES
from problems.grouped_gemm.sampling import Histogram, integers, sample
from problems.matrix_products import product_in_float32
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

T = torch.Tensor


def forward(x: T, weight: T, offsets: T) -> T:
    """`y[m] = x[m] weight[e]` where row m is the e-th expert's, else 0; y is (M, N)."""
    parts = [x[rows] @ weight[e] for e, rows in enumerate(groups(offsets))]
    padding = x.new_zeros((len(x) - int(offsets[-1]), weight.shape[2]))
    return torch.cat((*parts, padding))


def saved(x: T, weight: T, offsets: T) -> Tensors:
    """Nothing: the inputs are enough."""
    return {}


def closed_form(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    """`dx = dy weightᵀ` and `dweight = xᵀ dy`, expert by expert."""
    return dx_of(grad_output, weight, offsets), dweight_of(grad_output, x, offsets)


def baseline(grad_output: T, x: T, weight: T, offsets: T) -> Gradients:
    """A loop over the experts: dx by bfloat16 products, dweight kept in float32."""
    dx = dx_of(grad_output, weight, offsets)
    return dx, dweight_of(grad_output, x, offsets, product_in_float32)


def cost(dims: Dims) -> Cost:
    """Two products of 2·M·N·K FLOPs in all; every tensor moves once.

    grad_output, x and weight are read and dx is written in bfloat16, dweight is written in float32;
    offsets are int32. Rows of padding and experts without rows count like any other: where time is
    measured there are none.
    """
    M, N, K, E = (dims[name] for name in "MNKE")
    moved = 2 * (M * N + 2 * M * K + E * K * N) + 4 * E * K * N + 4 * (E + 1)
    return Cost(bytes=moved, matrix_flops=4 * M * N * K)


def _histograms(dims: Dims, model: str) -> tuple[Benchmark, ...]:
    """One shape under three distributions of its rows."""
    return tuple(
        Benchmark(
            f"qwen3-30b-a3b-{histogram.value.replace('_', '-')}",
            dims,
            f"{model}, {words}",
            histogram,
        )
        for histogram, words in (
            (Histogram.BALANCED, "balanced"),
            (Histogram.ZIPF, "Zipf's law"),
            (Histogram.HOT_EXPERT, "one hot expert"),
        )
    )


PROBLEM = Problem(
    slug="grouped_gemm",
    title="Grouped GEMM of experts",
    summary="Two matrix products for each expert, over as many rows as the router gave it.",
    tier="Matrix products",
    tags=("GEMM", "grouped GEMM", "mixture of experts", "tile scheduler"),
    models=("Qwen3-30B-A3B", "DeepSeek-V3", "gpt-oss-20b"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "N"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec("x", torch.bfloat16, Role.INPUT, ("M", "K"), "tokens, sorted by their expert"),
        TensorSpec("weight", torch.bfloat16, Role.INPUT, ("E", "K", "N"), "a matrix an expert"),
        TensorSpec(
            "offsets", torch.int32, Role.INPUT, ("E+1",), "where each expert's rows begin and end"
        ),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, ("M", "K"), "gradient of the loss w.r.t. x"),
        GradientSpec(
            "dweight",
            "weight",
            torch.float32,
            ("E", "K", "N"),
            "gradient w.r.t. each expert's weight, over its rows",
            accumulates=True,
        ),
    ),
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=baseline,
    sample=sample,
    integers=integers,
    cost=cost,
    cases=CASES,
    benchmarks={
        "cpu": _histograms(
            {"M": 1024, "N": 192, "K": 2048, "E": 8},
            "Qwen3-30B-A3B, a quarter of 8 experts' up projection, 1024 rows",
        ),
        "gpu": _histograms(
            {"M": 32768, "N": 1536, "K": 2048, "E": 128},
            "Qwen3-30B-A3B, gate and up projection, 4096 tokens to 8 experts each",
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
