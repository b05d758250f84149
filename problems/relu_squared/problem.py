"""Squared ReLU's backward: element by element, so everything is memory traffic and strides.

Forward: So et al., Primer: Searching for Efficient Transformers for Language Modeling, 2021
(arXiv:2109.08668). The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems import distributions as draw
from problems.cases import row_wise_cases
from problems.relu_squared.mistakes import MISTAKES
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
    """`y = max(x, 0) ** 2`, any shape."""
    return torch.relu(x).square()


def saved(x: torch.Tensor) -> Tensors:
    """Nothing: x itself is all that backward needs."""
    return {}


def closed_form(grad_output: torch.Tensor, x: torch.Tensor) -> Gradients:
    """`dx = 2 * grad_output * max(x, 0)`."""
    return (2 * grad_output * torch.relu(x),)


def baseline(grad_output: torch.Tensor, x: torch.Tensor) -> Gradients:
    """The same in float32 on bfloat16 tensors, dx in x's dtype."""
    (dx,) = closed_form(grad_output.float(), x.float())
    return (dx.to(x.dtype, memory_format=torch.contiguous_format),)


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """x and grad_output in float64, from the common distributions."""
    shape = (dims["M"], dims["N"])
    return {
        "x": draw.activation(shape, values, generator),
        "grad_output": draw.upstream(shape, values, generator),
    }


def cost(dims: Dims) -> Cost:
    """Three matrices of M·N bfloat16 move; three FLOPs an element: the maximum and two products."""
    elements = dims["M"] * dims["N"]
    return Cost(bytes=3 * elements * 2, vector_flops=3 * elements)


PROBLEM = Problem(
    slug="relu_squared",
    title="Squared ReLU",
    summary="One element in, one element out. The warm-up: masks, strides and a single rounding.",
    tier="Warm-up",
    tags=("activation", "element-wise"),
    models=("Nemotron-H", "Nemotron-4", "Primer"),
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
    cases=row_wise_cases(inputs=("x",)),
    benchmarks={
        "cpu": (
            Benchmark("nemotron-h", {"M": 256, "N": 21504}, "Nemotron-H-8B, 256 tokens"),
            Benchmark("nemotron-4", {"M": 256, "N": 24576}, "Nemotron-4-15B, 256 tokens"),
        ),
        "gpu": (
            Benchmark("nemotron-h", {"M": 8192, "N": 21504}, "Nemotron-H-8B, 8192 tokens"),
            Benchmark("nemotron-4", {"M": 4096, "N": 24576}, "Nemotron-4-15B, 4096 tokens"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
