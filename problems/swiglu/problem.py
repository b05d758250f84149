"""SwiGLU's backward: two gradients from one pass, with the sigmoid computed anew.

Forward: Shazeer, GLU Variants Improve Transformer, 2020 (arXiv:2002.05202). The gradient is derived in
derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F

from problems import distributions as draw
from problems.cases import row_wise_cases
from problems.layouts import Layout
from problems.spec import (
    Benchmark,
    Case,
    Cost,
    Dims,
    Gradients,
    GradientSpec,
    Problem,
    Role,
    Tensors,
    TensorSpec,
)
from problems.swiglu.mistakes import MISTAKES

SATURATED = "saturated"
TURNING_POINT = "turning_point"

TURNING_GATE = -1.278464542761  # where silu has its minimum: 1 + g (1 - sigmoid(g)) = 0


def forward(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """`y = silu(gate) * up`, element by element; gate and up are (M, N)."""
    return F.silu(gate) * up


def saved(gate: torch.Tensor, up: torch.Tensor) -> Tensors:
    """Nothing: the inputs are enough."""
    return {}


def closed_form(grad_output: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Gradients:
    """dgate and dup, element by element. Finite for every finite gate: no exponential overflows."""
    sigma = torch.sigmoid(gate)
    silu = gate * sigma
    dgate = grad_output * up * (sigma + silu * (1 - sigma))
    dup = grad_output * silu
    return dgate, dup


def baseline(grad_output: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Gradients:
    """The same in float32 on bfloat16 tensors, rounded once at the end."""
    dgate, dup = closed_form(grad_output.float(), gate.float(), up.float())
    dense = torch.contiguous_format
    return dgate.to(gate.dtype, memory_format=dense), dup.to(up.dtype, memory_format=dense)


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """Inputs in float64; SATURATED and TURNING_POINT put the gate where the formula is delicate."""
    shape = (dims["M"], dims["N"])
    common = draw.Values.NORMAL if values in (SATURATED, TURNING_POINT) else values
    gate = draw.activation(shape, common, generator)
    if values == SATURATED:
        gate = gate.sign() * (30 + 60 * torch.rand(shape, generator=generator, dtype=torch.float64))
    elif values == TURNING_POINT:
        gate = TURNING_GATE + 0.02 * gate
    return {
        "gate": gate,
        "up": draw.activation(shape, common, generator),
        "grad_output": draw.upstream(shape, common, generator),
    }


def cost(dims: Dims) -> Cost:
    """Five matrices of M·N bfloat16 move; ten FLOPs are needed for each element.

    The ten: σ (3: exponential, addition, reciprocal), s = g·σ (1), dup = dy·s (1), the derivative
    σ + s·(1 − σ) (3), and its products with dy and up (2).
    """
    elements = dims["M"] * dims["N"]
    return Cost(bytes=5 * elements * 2, vector_flops=10 * elements)


def _public_first(*cases: Case) -> tuple[Case, ...]:
    return tuple(sorted(cases, key=lambda case: not case.public))


SWIGLU_CASES = (
    Case(
        "saturated_gates",
        {"M": 14, "N": 100},
        "Gates between ±30 and ±90, where exp(-gate) overflows float32; the gradients are finite.",
        values=SATURATED,
    ),
    Case(
        "turning_point",
        {"M": 11, "N": 120},
        "Gates at silu's minimum, where the derivative is a small difference of larger terms.",
        values=TURNING_POINT,
        public=False,
    ),
    Case(
        "strides_differ",
        {"M": 20, "N": 34},
        "up lies transposed in memory, gate does not: each argument has strides of its own.",
        layouts={"up": Layout.TRANSPOSED},
    ),
)

PROBLEM = Problem(
    slug="swiglu",
    title="SwiGLU",
    summary="Two gradients from one pass over three tensors; the sigmoid is computed anew.",
    tier="Warm-up",
    tags=("activation", "element-wise", "recomputation"),
    models=("Llama 3", "Qwen3", "Qwen3-30B-A3B"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "N"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec("gate", torch.bfloat16, Role.INPUT, ("M", "N"), "what goes through SiLU"),
        TensorSpec("up", torch.bfloat16, Role.INPUT, ("M", "N"), "what the gate multiplies"),
    ),
    gradients=(
        GradientSpec(
            "dgate", "gate", torch.bfloat16, ("M", "N"), "gradient of the loss w.r.t. gate"
        ),
        GradientSpec("dup", "up", torch.bfloat16, ("M", "N"), "gradient of the loss w.r.t. up"),
    ),
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=baseline,
    sample=sample,
    cost=cost,
    cases=_public_first(*row_wise_cases(inputs=("gate", "up")), *SWIGLU_CASES),
    benchmarks={
        "cpu": (
            Benchmark("llama-3-8b", {"M": 256, "N": 14336}, "Llama-3-8B, 256 tokens"),
            Benchmark("qwen3-8b", {"M": 256, "N": 12288}, "Qwen3-8B, 256 tokens"),
            Benchmark(
                "qwen3-30b-a3b",
                {"M": 4096, "N": 768},
                "Qwen3-30B-A3B, 512 tokens, 8 experts each",
            ),
        ),
        "gpu": (
            Benchmark("llama-3-8b", {"M": 8192, "N": 14336}, "Llama-3-8B, 8192 tokens"),
            Benchmark("qwen3-8b", {"M": 16384, "N": 12288}, "Qwen3-8B, 16384 tokens"),
            Benchmark(
                "qwen3-30b-a3b",
                {"M": 65536, "N": 768},
                "Qwen3-30B-A3B, 8192 tokens, 8 experts each",
            ),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
