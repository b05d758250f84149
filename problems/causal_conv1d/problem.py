"""The backward of a causal depthwise convolution with SiLU, as Mamba has it before its scan.

The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F

from problems import distributions as draw
from problems.causal_conv1d.cases import CANCELLING, CASES, SATURATED
from problems.causal_conv1d.formulas import convolved, dweight_of, dx_of, silu_derivative
from problems.causal_conv1d.mistakes import MISTAKES
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

SATURATION = 30.0  # exp(30) is 10¹³: σ is 0 or 1 within float32's rounding


def forward(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """`y = silu(u)` with u the causal convolution of each channel; x is (B, T, D), weight (D, W)."""
    return F.silu(convolved(x, weight, bias))


def saved(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> Tensors:
    """Nothing: u is cheaper to compute again than to read."""
    return {}


def closed_form(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> Gradients:
    """With `g = dy · silu'(u)`: dx is g convolved towards the past, dweight g · x, dbias g, summed."""
    g = grad_output * silu_derivative(convolved(x, weight, bias))
    return dx_of(g, weight), dweight_of(g, x, weight.shape[1]), g.sum((0, 1))


def baseline(
    grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> Gradients:
    """The same in float32, dx in the dtype of x."""
    dx, dweight, dbias = closed_form(grad_output.float(), x.float(), weight.float(), bias.float())
    return dx.to(x.dtype, memory_format=torch.contiguous_format), dweight, dbias


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """Inputs in float64; taps as initialisation leaves them, so that u is of x's magnitude.

    SATURATED adds ±30 to the bias. CANCELLING shifts x by 4 and the upstream gradient by +2 in the first
    half of the sequences and by -2 in the second.
    """
    shape, width = (dims["B"], dims["T"], dims["D"]), dims["W"]
    common = draw.Values.NORMAL if values in (SATURATED, CANCELLING) else values
    x = draw.activation(shape, common, generator)
    grad_output = draw.upstream(shape, common, generator)
    bias = draw.normal((dims["D"],), generator, 0.5)
    if values == SATURATED:
        bias += SATURATION * (2 * torch.randint(2, bias.shape, generator=generator) - 1)
    if values == CANCELLING:
        half = torch.where(torch.arange(dims["B"]) < dims["B"] // 2, 2.0, -2.0)
        x, grad_output = x + 4, grad_output + half[:, None, None]
    return {
        "x": x,
        "weight": draw.normal((dims["D"], width), generator, width**-0.5),
        "bias": bias,
        "grad_output": grad_output,
    }


def cost(dims: Dims) -> Cost:
    """grad_output and x are read, dx is written, 2 bytes each; 6·W + 8 FLOPs an element.

    The 8: seven for SiLU's derivative (its exponential and its division are one each), one for the
    product with grad_output. The 6·W: 2·W each for u, dx and dweight, additions of biases among them.
    """
    elements, D, W = dims["B"] * dims["T"] * dims["D"], dims["D"], dims["W"]
    parameters = D * W * (2 + 4) + D * (2 + 4)
    return Cost(bytes=3 * 2 * elements + parameters, vector_flops=(6 * W + 8) * elements)


_SHAPE = ("B", "T", "D")
PROBLEM = Problem(
    slug="causal_conv1d",
    title="Causal convolution with SiLU",
    summary="Each step was read by the next three: a halo, a recomputation, and sums over B and T.",
    tier="Sequences",
    tags=("convolution", "halo", "recomputation", "column reduction"),
    models=("Mamba-2", "Mamba", "LFM2"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output", torch.bfloat16, Role.GRAD_OUTPUT, _SHAPE, "gradient of the loss w.r.t. y"
        ),
        TensorSpec("x", torch.bfloat16, Role.INPUT, _SHAPE, "the input of forward"),
        TensorSpec(
            "weight",
            torch.bfloat16,
            Role.INPUT,
            ("D", "W"),
            "the taps of each channel, oldest first",
        ),
        TensorSpec("bias", torch.bfloat16, Role.INPUT, ("D",), "added before SiLU"),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, _SHAPE, "gradient of the loss w.r.t. x"),
        GradientSpec(
            "dweight", "weight", torch.float32, ("D", "W"), "gradient w.r.t. weight, over B and T"
        ),
        GradientSpec("dbias", "bias", torch.float32, ("D",), "gradient w.r.t. bias, over B and T"),
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
                "mamba-2-2.7b", {"B": 1, "T": 512, "D": 5376, "W": 4}, "Mamba-2-2.7B, 512 tokens"
            ),
            Benchmark(
                "mamba-130m", {"B": 2, "T": 1024, "D": 1536, "W": 4}, "Mamba-130M, 2 × 1024 tokens"
            ),
        ),
        "gpu": (
            Benchmark(
                "mamba-2-2.7b",
                {"B": 8, "T": 2048, "D": 5376, "W": 4},
                "Mamba-2-2.7B, 8 × 2048 tokens",
            ),
            Benchmark(
                "mamba-130m",
                {"B": 16, "T": 2048, "D": 1536, "W": 4},
                "Mamba-130M, 16 × 2048 tokens",
            ),
            Benchmark(
                "lfm2-1.2b", {"B": 4, "T": 8192, "D": 2048, "W": 3}, "LFM2-1.2B, 4 × 8192 tokens"
            ),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
