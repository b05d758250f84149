"""Softmax's backward: a dense Jacobian for each row, applied with one dot product.

Forward is `torch.softmax` over the last dimension. The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.softmax.cases import CASES
from problems.softmax.mistakes import MISTAKES
from problems.softmax.sampling import sample
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


def forward(x: torch.Tensor) -> torch.Tensor:
    """Each row's exponentials divided by their sum; x is (M, N)."""
    return torch.softmax(x, dim=1)


def saved(x: torch.Tensor) -> Tensors:
    """The output itself, (M, N): backward needs nothing else, and x can be freed."""
    return {"y": torch.softmax(x, dim=1)}


def closed_form(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    """`dx = y * (grad_output - sum(grad_output * y))`, the sum along each row."""
    return (y * (grad_output - (grad_output * y).sum(dim=1, keepdim=True)),)


def baseline(grad_output: torch.Tensor, y: torch.Tensor) -> Gradients:
    """The same in float32 on bfloat16 tensors, dx in y's dtype."""
    (dx,) = closed_form(grad_output.float(), y.float())
    return (dx.to(y.dtype, memory_format=torch.contiguous_format),)


def cost(dims: Dims) -> Cost:
    """Three matrices of M·N bfloat16 move; four FLOPs an element.

    The four: the row's dot product (2), the difference, the product with y.
    """
    elements = dims["M"] * dims["N"]
    return Cost(bytes=3 * elements * 2, vector_flops=4 * elements)


PROBLEM = Problem(
    slug="softmax",
    title="Softmax",
    summary="An N × N Jacobian for every row, and one dot product is all that is left of it.",
    tier="Reductions",
    tags=("softmax", "row reduction", "cancellation"),
    models=("GPT-2", "BERT", "Llama 3"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "N"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec("y", torch.bfloat16, Role.SAVED, ("M", "N"), "the output of forward"),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, ("M", "N"), "gradient of the loss w.r.t. x"),
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
            Benchmark("bert-large", {"M": 8192, "N": 512}, "BERT-large, 16 heads, 512 tokens"),
            Benchmark("gpt-2", {"M": 4096, "N": 1024}, "GPT-2, 4 heads, 1024 tokens"),
        ),
        "gpu": (
            Benchmark(
                "bert-large", {"M": 131072, "N": 512}, "BERT-large, 16 sequences of 512 tokens"
            ),
            Benchmark("llama-3-8b", {"M": 65536, "N": 4096}, "Llama-3-8B, 16 heads, 4096 tokens"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
