"""The linear layer's backward: two matrix products that contract over different axes, and a sum.

The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F

from problems import distributions as draw
from problems.linear.cases import linear_cases
from problems.matrix_products import CANCELLING_BATCH, cancelling, product_in_float32
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
    """`y = x weightᵀ + bias`; x is (M, K), weight (N, K), bias (N,), y (M, N)."""
    return F.linear(x, weight, bias)


def saved(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> Tensors:
    """Nothing: the inputs are enough, and of those the bias is not needed."""
    return {}


def closed_form(grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """`dx = dy W`, `dweight = dyᵀ x` and `dbias = Σ_m dy`."""
    return grad_output @ weight, grad_output.t() @ x, grad_output.sum(dim=0)


def baseline(grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """dx by a bfloat16 product, which adds in float32 and rounds once; the rest kept in float32."""
    dx = grad_output @ weight
    dweight = product_in_float32(grad_output.t(), x)
    dbias = grad_output.sum(dim=0, dtype=torch.float32)
    return dx, dweight, dbias


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """Inputs in float64; the weight as initialisation leaves it, so that y is of x's magnitude."""
    M, N, K = dims["M"], dims["N"], dims["K"]
    common = draw.Values.NORMAL if values == CANCELLING_BATCH else values
    x = draw.activation((M, K), common, generator)
    grad_output = draw.upstream((M, N), common, generator)
    if values == CANCELLING_BATCH:
        x, grad_output = cancelling(x, grad_output)
    return {
        "x": x,
        "weight": draw.normal((N, K), generator, scale=K**-0.5),
        "bias": draw.normal((N,), generator),
        "grad_output": grad_output,
    }


def cost(dims: Dims) -> Cost:
    """Two products of 2·M·N·K FLOPs each and M·N additions; every matrix moves once.

    grad_output, x and weight are read and dx is written in bfloat16; dweight and dbias are written in
    float32.
    """
    M, N, K = dims["M"], dims["N"], dims["K"]
    read = 2 * (M * N + M * K + N * K)
    written = 2 * M * K + 4 * (N * K + N)
    return Cost(bytes=read + written, vector_flops=M * N, matrix_flops=4 * M * N * K)


PROBLEM = Problem(
    slug="linear",
    title="Linear layer",
    summary="Two matrix products that contract over different axes, and a sum that rides along.",
    tier="Matrix products",
    tags=("GEMM", "split-K", "column reduction"),
    models=("Llama 3", "gpt-oss-20b", "GPT-2"),
    version=2,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "N"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec(
            "x", torch.bfloat16, Role.INPUT, ("M", "K"), "the input of forward, a row a token"
        ),
        TensorSpec("weight", torch.bfloat16, Role.INPUT, ("N", "K"), "a row an output feature"),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, ("M", "K"), "gradient of the loss w.r.t. x"),
        GradientSpec(
            "dweight",
            "weight",
            torch.float32,
            ("N", "K"),
            "gradient w.r.t. weight, over all rows",
            accumulates=True,
        ),
        GradientSpec("dbias", "bias", torch.float32, ("N",), "gradient w.r.t. bias, over all rows"),
    ),
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=baseline,
    sample=sample,
    cost=cost,
    cases=linear_cases(),
    benchmarks={
        "cpu": (
            Benchmark(
                "llama-3-8b-k",
                {"M": 256, "N": 1024, "K": 4096},
                "Llama-3-8B, key projection, 256 tokens",
            ),
            Benchmark(
                "gpt-2-mlp",
                {"M": 256, "N": 3072, "K": 768},
                "GPT-2 small, first MLP layer, 256 tokens",
            ),
            Benchmark(
                "gpt-oss-20b-router",
                {"M": 2048, "N": 32, "K": 2880},
                "gpt-oss-20b, expert router, 2048 tokens",
            ),
        ),
        "gpu": (
            Benchmark(
                "llama-3-8b-up",
                {"M": 8192, "N": 14336, "K": 4096},
                "Llama-3-8B, up projection, 8192 tokens",
            ),
            Benchmark(
                "llama-3-8b-k",
                {"M": 8192, "N": 1024, "K": 4096},
                "Llama-3-8B, key projection, 8192 tokens",
            ),
            Benchmark(
                "gpt-oss-20b-router",
                {"M": 32768, "N": 32, "K": 2880},
                "gpt-oss-20b, expert router, 32768 tokens",
            ),
        ),
    },
    package=Path(__file__).parent,
)
