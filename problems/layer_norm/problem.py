"""Layer norm's backward: two sums along each row, two along each column, from one read of the data.

Forward: Ba, Kiros and Hinton, Layer Normalization, 2016 (arXiv:1607.06450). The gradient is derived in
derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.layer_norm.cases import CASES
from problems.layer_norm.mistakes import MISTAKES
from problems.layer_norm.sampling import EPS, sample
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


def forward(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """`y = (x - mean) * rstd * weight + bias`, row by row; x is (M, N), weight and bias (N,)."""
    mean, rstd = _statistics(x)
    return (x - mean[:, None]) * rstd[:, None] * weight + bias


def saved(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> Tensors:
    """The mean and the reciprocal standard deviation of each row, (M,) each."""
    mean, rstd = _statistics(x)
    return {"mean": mean, "rstd": rstd}


def closed_form(
    grad_output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
) -> Gradients:
    """`dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat))`, `g = grad_output * weight`; two sums."""
    r = rstd[:, None]
    x_hat = (x - mean[:, None]) * r
    g = grad_output * weight
    along = x_hat * (g * x_hat).mean(dim=1, keepdim=True)
    dx = r * (g - g.mean(dim=1, keepdim=True) - along)
    return dx, (grad_output * x_hat).sum(dim=0), grad_output.sum(dim=0)


def baseline(
    grad_output: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
) -> Gradients:
    """The same in float32 on bfloat16 tensors: dx in x's dtype, dweight and dbias in float32."""
    dx, dweight, dbias = closed_form(grad_output.float(), x.float(), weight.float(), mean, rstd)
    return dx.to(x.dtype, memory_format=torch.contiguous_format), dweight, dbias


def cost(dims: Dims) -> Cost:
    """Three matrices of M·N bfloat16 move; thirteen FLOPs are needed for each element.

    The thirteen: g = dy·w (1), x̂ = (x − μ)·r (2), the row's two sums (1 + 2), g − c₁ − x̂·c₂ (3), ·r (1),
    dweight's product and addition (2), dbias's addition (1).
    """
    M, N = dims["M"], dims["N"]
    matrices = 3 * M * N * 2  # grad_output and x are read, dx is written
    vectors = 2 * M * 4 + N * (
        2 + 4 + 4
    )  # mean, rstd and weight are read, two gradients are written
    return Cost(bytes=matrices + vectors, vector_flops=13 * M * N)


def _statistics(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and reciprocal standard deviation of each row; the variance is the biased one."""
    mean = x.mean(dim=1)
    variance = (x - mean[:, None]).square().mean(dim=1)
    return mean, torch.rsqrt(variance + EPS)


PROBLEM = Problem(
    slug="layer_norm",
    title="Layer norm",
    summary="Three gradients in three shapes from one read: sums along the rows and sums across them.",
    tier="Reductions",
    tags=("normalisation", "row reduction", "column reduction"),
    models=("GPT-2", "BERT", "Falcon", "Whisper"),
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
        TensorSpec("mean", torch.float32, Role.SAVED, ("M",), "mean of each row, from forward"),
        TensorSpec(
            "rstd",
            torch.float32,
            Role.SAVED,
            ("M",),
            "1 / standard deviation of each row, from forward",
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
        GradientSpec(
            "dbias", "bias", torch.float32, ("N",), "gradient w.r.t. bias, summed over all rows"
        ),
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
            Benchmark("gpt-2-xl", {"M": 2048, "N": 1600}, "GPT-2 XL, 2048 tokens"),
            Benchmark("falcon-7b", {"M": 1024, "N": 4544}, "Falcon-7B, 1024 tokens"),
        ),
        "gpu": (
            Benchmark("gpt-2-xl", {"M": 32768, "N": 1600}, "GPT-2 XL, 32 sequences of 1024 tokens"),
            Benchmark("falcon-40b", {"M": 16384, "N": 8192}, "Falcon-40B, 16384 tokens"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
