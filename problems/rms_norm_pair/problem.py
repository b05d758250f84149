"""RMSNorm as a pair: forward and backward together, and what is kept between them is chosen.

Forward: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019 (arXiv:1910.07467). The
gradient is that of `problems.rms_norm`, with the row statistic computed from x.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.cases import row_wise_cases
from problems.norms import NEAR_EPS, NORM_CASES
from problems.pairs import Pair, Saved
from problems.rms_norm.mistakes import MISTAKES
from problems.rms_norm.problem import PROBLEM as GIVEN_RSTD
from problems.rms_norm.problem import closed_form as with_rstd
from problems.rms_norm.problem import forward, row_statistic, sample
from problems.spec import (
    Benchmark,
    Cost,
    Dims,
    Gradients,
    GradientSpec,
    Mistake,
    Problem,
    Role,
    Tensors,
    TensorSpec,
)


def saved(x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    """Nothing is laid down: that is the submission's choice."""
    return {}


def closed_form(grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """RMSNorm's dx and dweight, with `rstd` from x itself."""
    return with_rstd(grad_output, x, weight, row_statistic(x))


def plain_forward(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, Saved]:
    """y in x's dtype, computed in float32; x and rstd are saved, as PyTorch's autograd does."""
    rstd = row_statistic(x.float())
    y = x.float() * rstd[:, None] * weight.float()
    return y.to(x.dtype, memory_format=torch.contiguous_format), (x, rstd)


def plain_backward(grad_output: torch.Tensor, saved: Saved, weight: torch.Tensor) -> Gradients:
    """The plain backward of `problems.rms_norm` on what was saved."""
    x, rstd = saved
    return GIVEN_RSTD.baseline(grad_output, x, weight, rstd)


def cost(dims: Dims) -> Cost:
    """Five matrices of M·N bfloat16 move; 13 FLOPs are needed for each element.

    Forward reads x and writes y, backward reads grad_output and once more x, or what was saved in its
    place, and writes dx. The 13: four in forward (square and addition, ·rstd, ·weight), nine in backward
    as in `problems.rms_norm`. Computing rstd anew would be two more, and is not needed.
    """
    M, N = dims["M"], dims["N"]
    vectors = N * (2 + 2 + 4)  # weight is read twice, dweight is written
    return Cost(bytes=5 * M * N * 2 + vectors, vector_flops=13 * M * N)


def _from_x(mistake: Mistake) -> Mistake:
    """A mistake of the backward that is given rstd, where rstd comes from x."""

    def gradients(grad_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Gradients:
        return mistake.gradients(grad_output, x, weight, row_statistic(x))

    return Mistake(mistake.what, gradients)


PAIR = Pair(
    output=GradientSpec("y", "y", torch.bfloat16, ("M", "N"), "the output of forward"),
    parameters=("weight",),
    forward=plain_forward,
    backward=plain_backward,
)

PROBLEM = Problem(
    slug="rms_norm_pair",
    title="RMSNorm, forward and backward",
    summary="Write both halves and choose what to save between them: its bytes are ranked too.",
    tier="Reductions",
    tags=("normalisation", "forward and backward", "memory", "recomputation"),
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
    ),
    gradients=GIVEN_RSTD.gradients,
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=PAIR.gradients,
    sample=sample,
    cost=cost,
    cases=(*row_wise_cases(inputs=("x",), one_column=NEAR_EPS), *NORM_CASES),
    benchmarks={
        **GIVEN_RSTD.benchmarks,
        "interpreter": (
            Benchmark("qwen3-0.6b", {"M": 32, "N": 1024}, "Qwen3-0.6B, 32 tokens"),
            Benchmark("qwen3-heads", {"M": 96, "N": 128}, "Norm of queries in Qwen3, 96 heads"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=tuple(_from_x(m) for m in MISTAKES),
    pair=PAIR,
)
