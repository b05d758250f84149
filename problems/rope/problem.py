"""Rotary position embedding's backward: an orthogonal map, whose transpose is its inverse.

Forward: Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021
(arXiv:2104.09864), with the two elements of a pair half a head apart, as in GPT-NeoX and in public Llama
weights. The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.rope.cases import CASES
from problems.rope.mistakes import MISTAKES
from problems.rope.sampling import sample
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


def forward(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Each pair of `x` (M, H, 2P) turned by its token's angle, given as cos and sin (M, P)."""
    first, second = x.chunk(2, dim=-1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat((first * c - second * s, second * c + first * s), dim=-1)


def saved(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Tensors:
    """Nothing: forward is linear, so its gradient does not depend on x, and the tables exist anyway."""
    return {}


def closed_form(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    """Each pair of grad_output turned back: the rotation by the opposite angle."""
    return (forward(grad_output, cos, -sin),)


def baseline(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    """The same in float32 on a bfloat16 upstream gradient, dx in its dtype."""
    (dx,) = closed_form(grad_output.float(), cos, sin)
    return (dx.to(grad_output.dtype, memory_format=torch.contiguous_format),)


def cost(dims: Dims) -> Cost:
    """Two tensors of M·H·2P bfloat16 and two tables of M·P float32 move; three FLOPs an element.

    The tables are read once for all heads. The three FLOPs: two products and their sum.
    """
    M, H, P = dims["M"], dims["H"], dims["P"]
    elements = M * H * 2 * P
    return Cost(bytes=2 * elements * 2 + 2 * M * P * 4, vector_flops=3 * elements)


PROBLEM = Problem(
    slug="rope",
    title="Rotary embedding",
    summary="A rotation's gradient is the rotation back. Read the angles once for all heads.",
    tier="Warm-up",
    tags=("position", "linear map", "reuse"),
    models=("Llama 3", "Gemma 2", "Qwen3"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "H", "2P"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec("cos", torch.float32, Role.INPUT, ("M", "P"), "cosine of each token's P angles"),
        TensorSpec("sin", torch.float32, Role.INPUT, ("M", "P"), "sine of each token's P angles"),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, ("M", "H", "2P"), "gradient of the loss w.r.t. x"),
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
            Benchmark("llama-3-8b", {"M": 1024, "H": 40, "P": 64}, "Llama-3-8B, 1024 tokens"),
            Benchmark("gemma-2-9b", {"M": 512, "H": 24, "P": 128}, "Gemma-2-9B, 512 tokens"),
        ),
        "gpu": (
            Benchmark("llama-3-8b", {"M": 16384, "H": 40, "P": 64}, "Llama-3-8B, 16384 tokens"),
            Benchmark("gemma-2-9b", {"M": 16384, "H": 24, "P": 128}, "Gemma-2-9B, 16384 tokens"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
