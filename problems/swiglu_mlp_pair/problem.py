"""The SwiGLU MLP as a pair: gate, up and down, and what is kept of them between forward and backward."""

from __future__ import annotations

from pathlib import Path

import torch

from problems import distributions as draw
from problems.pairs import Pair
from problems.spec import (
    Benchmark,
    Cost,
    Dims,
    GradientSpec,
    Problem,
    Role,
    Tensors,
    TensorSpec,
)
from problems.swiglu_mlp_pair.cases import CASES
from problems.swiglu_mlp_pair.formulas import (
    closed_form,
    forward,
    plain_backward,
    plain_forward,
)
from problems.swiglu_mlp_pair.mistakes import MISTAKES

T = torch.Tensor


def saved(x: T, w_gate: T, w_up: T, w_down: T) -> Tensors:
    """Nothing is laid down: that is the submission's choice."""
    return {}


def sample(dims: Dims, values: str, generator: torch.Generator) -> Tensors:
    """Inputs in float64; weights as initialisation leaves them, so that gate and up are of x's size."""
    M, D, F = dims["M"], dims["D"], dims["F"]
    return {
        "x": draw.activation((M, D), values, generator),
        "w_gate": draw.normal((F, D), generator, scale=D**-0.5),
        "w_up": draw.normal((F, D), generator, scale=D**-0.5),
        "w_down": draw.normal((D, F), generator, scale=F**-0.5),
        "grad_output": draw.upstream((M, D), values, generator),
    }


def cost(dims: Dims) -> Cost:
    """Nine products of 2·M·D·F FLOPs: three in forward, six in backward; 14 others a hidden element.

    Forward reads x and the weights and writes y; backward reads grad_output, the weights and once more
    x, or what was saved in its place, and writes dx in bfloat16, the weights' gradients in float32. The
    two products that computing gate and up anew costs are not needed. The 14: four for silu(gate) · up,
    ten for its gradients as in `problems.swiglu`.
    """
    M, D, F = dims["M"], dims["D"], dims["F"]
    weights, activations = 3 * D * F, M * D
    return Cost(
        bytes=2 * 2 * weights + 4 * weights + 5 * 2 * activations,
        vector_flops=14 * M * F,
        matrix_flops=9 * 2 * M * D * F,
    )


def _weight(name: str, shape: tuple[str, str], meaning: str) -> TensorSpec:
    return TensorSpec(name, torch.bfloat16, Role.INPUT, shape, meaning)


def _of_weight(name: str, shape: tuple[str, str]) -> GradientSpec:
    meaning = f"gradient w.r.t. {name}, over all tokens"
    return GradientSpec(f"d{name}", name, torch.float32, shape, meaning)


PAIR = Pair(
    output=GradientSpec("y", "y", torch.bfloat16, ("M", "D"), "the output of forward"),
    parameters=("w_gate", "w_up", "w_down"),
    forward=plain_forward,
    backward=plain_backward,
)

PROBLEM = Problem(
    slug="swiglu_mlp_pair",
    title="SwiGLU MLP, forward and backward",
    summary="Three projections: keep the wide activations, or compute them again from the narrow input.",
    tier="Matrix products",
    tags=("GEMM", "forward and backward", "memory", "recomputation"),
    models=("Llama 3", "Qwen3", "SmolLM2"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "D"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec("x", torch.bfloat16, Role.INPUT, ("M", "D"), "the input, a row a token"),
        _weight("w_gate", ("F", "D"), "projection to the gate"),
        _weight("w_up", ("F", "D"), "projection to what is gated"),
        _weight("w_down", ("D", "F"), "projection back"),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, ("M", "D"), "gradient of the loss w.r.t. x"),
        _of_weight("w_gate", ("F", "D")),
        _of_weight("w_up", ("F", "D")),
        _of_weight("w_down", ("D", "F")),
    ),
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=PAIR.gradients,
    sample=sample,
    cost=cost,
    cases=CASES,
    benchmarks={
        "cpu": (
            Benchmark("qwen3-0.6b", {"M": 128, "D": 1024, "F": 3072}, "Qwen3-0.6B, 128 tokens"),
            Benchmark("smollm2-135m", {"M": 256, "D": 576, "F": 1536}, "SmolLM2-135M, 256 tokens"),
        ),
        "gpu": (
            Benchmark("llama-3-8b", {"M": 8192, "D": 4096, "F": 14336}, "Llama-3-8B, 8192 tokens"),
            Benchmark("qwen3-0.6b", {"M": 16384, "D": 1024, "F": 3072}, "Qwen3-0.6B, 16384 tokens"),
        ),
        "interpreter": (
            Benchmark("tiny-llama", {"M": 64, "D": 64, "F": 176}, "A Llama of 64 features"),
            Benchmark("tiny-gpt", {"M": 48, "D": 32, "F": 128}, "A decoder of 32 features"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
    chained_products=True,
    free_roundings=True,
    pair=PAIR,
)
