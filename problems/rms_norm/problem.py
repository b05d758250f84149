"""RMSNorm's backward: a gradient along the rows and one across them, from one read of the data.

Forward: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467). The
gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.cases import row_wise_cases
from problems.norms import NEAR_EPS, NORM_CASES, norm_inputs
from problems.rms_norm.mistakes import MISTAKES
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

EPS = 1e-6  # part of forward only: backward is handed rstd


def forward(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """`y = x * rstd * weight`, row by row; x is (M, N), weight (N,)."""
    return x * row_statistic(x)[:, None] * weight


def saved(x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    """The reciprocal root mean square of each row, (M,)."""
    return {"rstd": row_statistic(x)}


def closed_form(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    """`dx = rstd * (g - x_hat * mean(g * x_hat))` with `g = grad_output * weight`; and dweight."""
    r = rstd[:, None]
    x_hat = x * r
    g = grad_output * weight
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    dweight = (grad_output * x_hat).sum(dim=0)
    return dx, dweight


def baseline(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rstd: torch.Tensor
) -> Gradients:
    """The same in float32 on bfloat16 tensors: dx in x's dtype, dweight in float32."""
    dx, dweight = closed_form(grad_output.float(), x.float(), weight.float(), rstd)
    return dx.to(x.dtype, memory_format=torch.contiguous_format), dweight


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """x, weight and grad_output in float64, from what is usual and hard for normalisations."""
    return norm_inputs(dims, values, generator, EPS)


def cost(dims: Dims) -> Cost:
    """Three matrices of M·N bfloat16 move; nine FLOPs are needed for each element.

    The nine: g = dy·w (1), x̂ = x·r (1), the row's dot product (2), g − x̂·c (2), ·r (1), and dweight's
    product and addition (2).
    """
    M, N = dims["M"], dims["N"]
    matrices = 3 * M * N * 2  # grad_output and x are read, dx is written
    vectors = M * 4 + N * (2 + 4)  # rstd and weight are read, dweight is written
    return Cost(bytes=matrices + vectors, vector_flops=9 * M * N)


def row_statistic(x: torch.Tensor) -> torch.Tensor:
    """1 / root mean square of each row, (M,), in the dtype of x."""
    return torch.rsqrt(x.square().mean(dim=1) + EPS)


PROBLEM = Problem(
    slug="rms_norm",
    title="RMSNorm",
    summary="Two gradients from one read: one reduces along the rows, the other across them.",
    tier="Reductions",
    tags=("normalisation", "row reduction", "column reduction"),
    models=("Llama 3", "DeepSeek-V3", "Qwen3"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "N"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec("x", torch.bfloat16, Role.INPUT, ("M", "N"), "the input of forward"),
        TensorSpec(
            "weight", torch.bfloat16, Role.INPUT, ("N",), "the learned scale of each column"
        ),
        TensorSpec(
            "rstd",
            torch.float32,
            Role.SAVED,
            ("M",),
            "1 / root mean square of each row, from forward",
        ),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, ("M", "N"), "gradient of the loss w.r.t. x"),
        GradientSpec(
            "dweight",
            "weight",
            torch.float32,
            ("N",),
            "gradient w.r.t. weight, summed over all rows",
        ),
    ),
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=baseline,
    sample=sample,
    cost=cost,
    cases=(*row_wise_cases(inputs=("x",), one_column=NEAR_EPS), *NORM_CASES),
    benchmarks={
        "cpu": (
            Benchmark("llama-3-8b", {"M": 1024, "N": 4096}, "Llama-3-8B, 1024 tokens"),
            Benchmark("deepseek-v3", {"M": 512, "N": 7168}, "DeepSeek-V3, 512 tokens"),
        ),
        "gpu": (
            Benchmark("llama-3-8b", {"M": 8192, "N": 4096}, "Llama-3-8B, 8192 tokens"),
            Benchmark("deepseek-v3", {"M": 16384, "N": 7168}, "DeepSeek-V3, 16384 tokens"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
