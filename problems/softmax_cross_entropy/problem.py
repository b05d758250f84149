"""Softmax cross-entropy's backward: the largest tensor of a training step, in one streaming pass.

The gradient is derived in derivation.md. Mean reduction and `ignore_index` are those of
`torch.nn.functional.cross_entropy`, except that a batch with every row ignored has loss 0, not NaN.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.softmax_cross_entropy.cases import CASES
from problems.softmax_cross_entropy.mistakes import MISTAKES
from problems.softmax_cross_entropy.sampling import IGNORE_INDEX, integers, sample
from problems.spec import (
    Benchmark,
    Cost,
    Dims,
    Gradients,
    GradientSpec,
    Invariant,
    Problem,
    Role,
    Tensors,
    TensorSpec,
)


def forward(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean of `lse - logits[target]` over the rows not ignored, 0-dimensional; 0 without any."""
    kept = target != IGNORE_INDEX
    at_target = logits.gather(1, target.clamp(min=0)[:, None])[:, 0]
    losses = torch.where(kept, logits.logsumexp(dim=1) - at_target, 0.0)
    return losses.sum() / kept.sum().clamp(min=1)


def saved(logits: torch.Tensor, target: torch.Tensor) -> Tensors:
    """The logarithm of each row's sum of exponentials, (M,)."""
    return {"lse": logits.logsumexp(dim=1)}


def closed_form(
    grad_output: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, lse: torch.Tensor
) -> Gradients:
    """`dlogits = (exp(logits - lse) - onehot(target)) * grad_output / kept rows`, 0 where ignored."""
    kept = target != IGNORE_INDEX
    scale = torch.where(kept, grad_output / kept.sum().clamp(min=1), 0.0)
    dlogits = torch.exp(logits - lse[:, None])
    rows = torch.arange(len(target), device=target.device)
    dlogits[rows, target.clamp(min=0)] -= 1
    return (dlogits * scale[:, None],)


def baseline(
    grad_output: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, lse: torch.Tensor
) -> Gradients:
    """The same in float32 on bfloat16 logits, dlogits in their dtype."""
    (dlogits,) = closed_form(grad_output, logits.float(), target, lse)
    return (dlogits.to(logits.dtype, memory_format=torch.contiguous_format),)


def cost(dims: Dims) -> Cost:
    """Two matrices of M·V bfloat16 move; four FLOPs an element.

    The four: subtraction of lse, exponential, subtraction of the one-hot, product with the scale.
    """
    M, V = dims["M"], dims["V"]
    matrices = 2 * M * V * 2  # logits are read, dlogits is written
    vectors = M * (8 + 4) + 4  # target (int64), lse and grad_output are read
    return Cost(bytes=matrices + vectors, vector_flops=4 * M * V)


PROBLEM = Problem(
    slug="softmax_cross_entropy",
    title="Softmax cross-entropy",
    summary="Softmax minus one-hot in a single pass, thanks to the saved log-sum-exp.",
    tier="Losses",
    tags=("loss", "softmax", "streaming", "cancellation"),
    models=("Llama 3", "Qwen3", "GPT-2"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output", torch.float32, Role.GRAD_OUTPUT, (), "gradient w.r.t. the mean loss"
        ),
        TensorSpec("logits", torch.bfloat16, Role.INPUT, ("M", "V"), "the input of forward"),
        TensorSpec(
            "target", torch.int64, Role.INPUT, ("M",), "the right class of each row, or -100"
        ),
        TensorSpec(
            "lse", torch.float32, Role.SAVED, ("M",), "log-sum-exp of each row, from forward"
        ),
    ),
    gradients=(
        GradientSpec(
            "dlogits", "logits", torch.bfloat16, ("M", "V"), "gradient of the loss w.r.t. logits"
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
            Benchmark("llama-3-8b", {"M": 128, "V": 128256}, "Llama-3-8B, 128 tokens"),
            Benchmark("gpt-2", {"M": 256, "V": 50257}, "GPT-2, 256 tokens"),
        ),
        "gpu": (
            Benchmark("llama-3-8b", {"M": 8192, "V": 128256}, "Llama-3-8B, 8192 tokens"),
            Benchmark("gpt-2", {"M": 16384, "V": 50257}, "GPT-2, 16384 tokens"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
    invariants=(
        Invariant("every row sums to 0", "dlogits", lambda logits, **_: torch.ones_like(logits)),
    ),
)
