"""State space duality, Mamba-2's layer, backward: products inside chunks, a recurrence between them.

Dao and Gu, *Transformers are SSMs*, 2024 (arXiv:2405.21060). The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

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
from problems.ssd.cases import CASES
from problems.ssd.formulas import Steps, in_low_precision, rounded_to_bfloat16, scanned
from problems.ssd.mistakes import MISTAKES
from problems.ssd.sampling import sample

T = torch.Tensor


def forward(x: T, dt: T, A: T, B: T, C: T) -> T:
    """`h[t] = exp(dt[t] · A) h[t-1] + dt[t] · B[t] x[t]ᵀ` from zero; `y[t] = h[t]ᵀ C[t]`."""
    return scanned(x, dt, A, B, C)


def saved(x: T, dt: T, A: T, B: T, C: T) -> Tensors:
    """Nothing beside the inputs: states are recomputed, as in training."""
    return {}


def closed_form(grad_output: T, x: T, dt: T, A: T, B: T, C: T) -> Gradients:
    """Chunk by chunk, from states and gradients of states at the boundaries; see derivation.md."""
    return Steps().backward(grad_output, x, dt, A, B, C)


def baseline(grad_output: T, x: T, dt: T, A: T, B: T, C: T) -> Gradients:
    """The same in float32, matrices rounded to bfloat16 where they enter a product."""
    given = {"grad_output": grad_output, "x": x, "dt": dt, "A": A, "B": B, "C": C}
    return in_low_precision(Steps(rounded=rounded_to_bfloat16), given)


def cost(dims: Dims) -> Cost:
    """Five products with a state of N × P for each step and head; every tensor moves once.

    The five: the state itself, its gradient, dx, dB and dC. What pairs of steps in a chunk cost is not
    counted, because shorter chunks make it smaller. On the other units, for each step and head: the
    exponential, and with P or N elements each the products by dt and by a decay that enter the state and
    its gradient (2 P), dx (P), the sums <x, dx> and <C, dC> (2 P + 2 N), and what ddt and dA add (4).
    """
    steps = dims["S"] * dims["T"]
    heads, P, N = dims["G"] * dims["R"], dims["P"], dims["N"]
    of_heads = 3 * 2 * P + 2 * 4  # bytes: grad_output, x, dx; dt, ddt
    of_groups = 4 * 2 * N  # B, C, dB, dC
    return Cost(
        bytes=steps * (heads * of_heads + dims["G"] * of_groups) + 2 * 4 * heads,
        vector_flops=steps * heads * (5 * P + 2 * N + 5),
        matrix_flops=steps * heads * 5 * 2 * N * P,
    )


def _benchmark(name: str, model: str, *sizes: int) -> Benchmark:
    """`sizes`: S sequences, T steps, G groups, R heads of a group, P elements a head, N of a state."""
    return Benchmark(name, dict(zip("STGRPN", sizes, strict=True)), model)


_HEADS, _GROUPS = ("S", "T", "G*R", "P"), ("S", "T", "G", "N")

PROBLEM = Problem(
    slug="ssd",
    title="State space duality",
    summary="Mamba-2's layer: attention with decay inside chunks, a recurrence of states between them.",
    tier="Sequences",
    tags=("scan", "recurrence", "chunks", "time reversal", "GEMM", "recomputation"),
    models=("Mamba-2", "Codestral Mamba"),
    version=1,
    arguments=(
        TensorSpec("grad_output", torch.bfloat16, Role.GRAD_OUTPUT, _HEADS, "gradient w.r.t. y"),
        TensorSpec("x", torch.bfloat16, Role.INPUT, _HEADS, "what comes into the states"),
        TensorSpec("dt", torch.float32, Role.INPUT, ("S", "T", "G*R"), "the length of each step"),
        TensorSpec("A", torch.float32, Role.INPUT, ("G*R",), "how fast each head decays, negative"),
        TensorSpec("B", torch.bfloat16, Role.INPUT, _GROUPS, "where in the state x is written"),
        TensorSpec("C", torch.bfloat16, Role.INPUT, _GROUPS, "where in the state y is read"),
    ),
    gradients=(
        GradientSpec("dx", "x", torch.bfloat16, _HEADS, "gradient of the loss w.r.t. x"),
        GradientSpec("ddt", "dt", torch.float32, ("S", "T", "G*R"), "gradient w.r.t. dt"),
        GradientSpec("dA", "A", torch.float32, ("G*R",), "gradient of the loss w.r.t. A"),
        GradientSpec("dB", "B", torch.bfloat16, _GROUPS, "gradient of the loss w.r.t. B"),
        GradientSpec("dC", "C", torch.bfloat16, _GROUPS, "gradient of the loss w.r.t. C"),
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
            _benchmark("mamba2-130m", "Mamba-2-130M, 512 tokens", 1, 512, 1, 24, 64, 128),
            _benchmark("mamba2-370m", "Mamba-2-370M, 2 × 256 tokens", 2, 256, 1, 32, 64, 128),
        ),
        "gpu": (
            _benchmark("mamba2-2.7b", "Mamba-2-2.7B, 8 × 4096 tokens", 8, 4096, 1, 80, 64, 128),
            _benchmark("mamba2-1.3b", "Mamba-2-1.3B, 4 × 4096 tokens", 4, 4096, 1, 64, 64, 128),
            _benchmark(
                "codestral-mamba-7b",
                "Codestral Mamba 7B, 2 × 8192 tokens",
                *(2, 8192, 8, 16, 64, 128),
            ),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
    chained_products=True,
    free_roundings=True,
)
