"""The backward of a mixture of experts' last step: the weighted sum over each token's experts.

The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.moe_combine.cases import CASES
from problems.moe_combine.formulas import gathered, scattered
from problems.moe_combine.mistakes import MISTAKES
from problems.moe_combine.sampling import integers, sample
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


def forward(expert_out: torch.Tensor, scores: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """`y[t] = Σ_k scores[t, k] · expert_out[rows[t, k]]`, without choices whose row is negative."""
    return (scores[..., None] * gathered(expert_out, rows)).sum(dim=1)


def saved(expert_out: torch.Tensor, scores: torch.Tensor, rows: torch.Tensor) -> Tensors:
    """Nothing: the inputs are enough."""
    return {}


def closed_form(
    grad_output: torch.Tensor, expert_out: torch.Tensor, scores: torch.Tensor, rows: torch.Tensor
) -> Gradients:
    """`dexpert_out[rows[t, k]] = scores[t, k] · dy[t]`, `dscores[t, k] = <dy[t], expert_out[row]>`."""
    dz = scattered(scores[..., None] * grad_output[:, None], rows, len(expert_out))
    dscores = (grad_output[:, None] * gathered(expert_out, rows)).sum(dim=-1)
    return dz, dscores


def baseline(
    grad_output: torch.Tensor, expert_out: torch.Tensor, scores: torch.Tensor, rows: torch.Tensor
) -> Gradients:
    """The same in float32, dexpert_out in the dtype of expert_out."""
    dz, dscores = closed_form(grad_output.float(), expert_out.float(), scores, rows)
    return dz.to(expert_out.dtype), dscores.contiguous()


def cost(dims: Dims) -> Cost:
    """expert_out and grad_output are read, dexpert_out is written, 2 bytes an element.

    Rows that no choice refers to are counted as read: there are few. Besides, rows (int64) and scores
    are read and dscores (float32) is written. Three FLOPs for each column of each choice: a product for
    dexpert_out, a product and an addition for dscores.
    """
    T, K, R, D = (dims[name] for name in "TKRD")
    moved = 2 * (T * D + 2 * R * D) + T * K * (8 + 4 + 4)
    return Cost(bytes=moved, vector_flops=3 * T * K * D)


PROBLEM = Problem(
    slug="moe_combine",
    title="Mixture-of-experts combine",
    summary="A gather and a scatter by the same index, and a dot product that shares their read.",
    tier="Indexing",
    tags=("gather", "scatter", "mixture of experts", "row reduction"),
    models=("Qwen3-30B-A3B", "DeepSeek-V3", "gpt-oss-20b"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("T", "D"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec(
            "expert_out", torch.bfloat16, Role.INPUT, ("R", "D"), "the experts' output, row by row"
        ),
        TensorSpec(
            "scores", torch.float32, Role.INPUT, ("T", "K"), "the router's weight of each choice"
        ),
        TensorSpec(
            "rows", torch.int64, Role.INPUT, ("T", "K"), "each choice's row of expert_out, or -1"
        ),
    ),
    gradients=(
        GradientSpec(
            "dexpert_out",
            "expert_out",
            torch.bfloat16,
            ("R", "D"),
            "gradient of the loss w.r.t. expert_out",
        ),
        GradientSpec(
            "dscores", "scores", torch.float32, ("T", "K"), "gradient of the loss w.r.t. scores"
        ),
    ),
    forward=forward,
    saved=saved,
    closed_form=closed_form,
    baseline=baseline,
    sample=sample,
    integers=integers,
    cost=cost,
    cases=CASES,
    benchmarks={
        "cpu": (
            Benchmark(
                "qwen3-30b-a3b",
                {"T": 512, "K": 8, "R": 4096, "D": 2048},
                "Qwen3-30B-A3B, 512 tokens",
            ),
            Benchmark(
                "gpt-oss-20b", {"T": 512, "K": 4, "R": 2048, "D": 2880}, "gpt-oss-20b, 512 tokens"
            ),
        ),
        "gpu": (
            Benchmark(
                "qwen3-30b-a3b",
                {"T": 16384, "K": 8, "R": 131072, "D": 2048},
                "Qwen3-30B-A3B, 16384 tokens",
            ),
            Benchmark(
                "deepseek-v3",
                {"T": 8192, "K": 8, "R": 65536, "D": 7168},
                "DeepSeek-V3, 8192 tokens",
            ),
            Benchmark(
                "gpt-oss-20b",
                {"T": 16384, "K": 4, "R": 65536, "D": 2880},
                "gpt-oss-20b, 16384 tokens",
            ),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
