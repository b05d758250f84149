"""The loss of a language model and the projection before it as one: backward without storing logits.

Wijmans et al., Cut Your Losses in Large-Vocabulary Language Models, 2024 (arXiv:2411.09009), whose
filtering of small gradients is not used here. The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.linear_cross_entropy.cases import CASES
from problems.linear_cross_entropy.formulas import (
    Steps,
    in_low_precision,
    kept_rows,
    rounded_to_bfloat16,
)
from problems.linear_cross_entropy.mistakes import MISTAKES
from problems.linear_cross_entropy.sampling import integers, sample
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

T = torch.Tensor


def forward(hidden: T, weight: T, target: T) -> T:
    """The mean of `lse - logits[target]` over the rows not ignored, 0-dimensional; 0 without any."""
    kept = kept_rows(target)
    logits = hidden @ weight.t()
    at_target = logits.gather(1, target.clamp(min=0)[:, None])[:, 0]
    losses = torch.where(kept, logits.logsumexp(dim=1) - at_target, 0.0)
    return losses.sum() / kept.sum().clamp(min=1)


def saved(hidden: T, weight: T, target: T) -> Tensors:
    """The logarithm of each row's sum of exponentials, (M,)."""
    return {"lse": (hidden @ weight.t()).logsumexp(dim=1)}


def closed_form(grad_output: T, hidden: T, weight: T, target: T, lse: T) -> Gradients:
    """`dz = (exp(hidden weightᵀ - lse) - onehot) * grad_output / n`, 0 in ignored rows; then
    `dhidden = dz weight` and `dweight = dzᵀ hidden`."""
    return Steps().backward(grad_output, hidden, weight, target, lse)


def baseline(grad_output: T, hidden: T, weight: T, target: T, lse: T) -> Gradients:
    """The same in float32, with all logits at once; softmax minus one-hot rounded to bfloat16."""
    given = {"grad_output": grad_output, "hidden": hidden, "weight": weight}
    steps = Steps(rounded=rounded_to_bfloat16)
    return in_low_precision(steps, {**given, "target": target, "lse": lse})


def cost(dims: Dims) -> Cost:
    """Three products of 2·M·V·K FLOPs: logits, dhidden, dweight; three other FLOPs for each logit.

    hidden and weight are read and dhidden is written in bfloat16, dweight is written in float32. No
    logit moves. The three: subtraction of lse, exponential, subtraction of the one-hot.
    """
    M, V, K = dims["M"], dims["V"], dims["K"]
    read = 2 * (M * K + V * K) + M * (8 + 4) + 4
    written = 2 * M * K + 4 * V * K
    return Cost(bytes=read + written, vector_flops=3 * M * V, matrix_flops=6 * M * V * K)


PROBLEM = Problem(
    slug="linear_cross_entropy",
    title="Linear cross-entropy",
    summary="Projection and loss as one: logits are recomputed in pieces and never stored.",
    tier="Losses",
    tags=("loss", "GEMM", "recomputation", "memory"),
    models=("Llama 3", "GPT-2", "Pythia", "T5"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output", torch.float32, Role.GRAD_OUTPUT, (), "gradient w.r.t. the mean loss"
        ),
        TensorSpec(
            "hidden", torch.bfloat16, Role.INPUT, ("M", "K"), "the last hidden state, a row a token"
        ),
        TensorSpec("weight", torch.bfloat16, Role.INPUT, ("V", "K"), "a row a class"),
        TensorSpec(
            "target", torch.int64, Role.INPUT, ("M",), "the right class of each row, or -100"
        ),
        TensorSpec("lse", torch.float32, Role.SAVED, ("M",), "log-sum-exp of each row's logits"),
    ),
    gradients=(
        GradientSpec("dhidden", "hidden", torch.bfloat16, ("M", "K"), "gradient w.r.t. hidden"),
        GradientSpec(
            "dweight", "weight", torch.float32, ("V", "K"), "gradient w.r.t. weight, over all rows"
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
            Benchmark("pythia-14m", {"M": 128, "V": 50304, "K": 128}, "Pythia-14M, 128 tokens"),
            Benchmark("t5-small", {"M": 128, "V": 32128, "K": 512}, "T5 small, 128 tokens"),
        ),
        "gpu": (
            Benchmark("llama-3-8b", {"M": 8192, "V": 128256, "K": 4096}, "Llama-3-8B, 8192 tokens"),
            Benchmark("gpt-2", {"M": 16384, "V": 50257, "K": 768}, "GPT-2 small, 16384 tokens"),
            Benchmark(
                "llama-3.2-1b", {"M": 8192, "V": 128256, "K": 2048}, "Llama-3.2-1B, 8192 tokens"
            ),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
    chained_products=True,
)
