"""The embedding's backward: rows are added to rows by an index in which rows repeat.

The gradient is derived in derivation.md. `padding_idx` is that of `torch.nn.functional.embedding`.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F

from problems.embedding.cases import CASES
from problems.embedding.mistakes import MISTAKES
from problems.embedding.sampling import PADDING, integers, sample
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


def forward(ids: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """`y[m] = weight[ids[m]]`; ids is (M,), weight (V, N), y (M, N)."""
    return F.embedding(ids, weight, padding_idx=PADDING)


def saved(ids: torch.Tensor, weight: torch.Tensor) -> Tensors:
    """Nothing: the ids are enough."""
    return {}


def closed_form(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """`dweight[v] = Σ dy[m]` over the tokens m with `ids[m] = v`; row PADDING is 0."""
    dweight = torch.zeros(weight.shape, dtype=grad_output.dtype, device=grad_output.device)
    dweight.index_add_(0, ids, grad_output)
    dweight[PADDING] = 0
    return (dweight,)


def baseline(grad_output: torch.Tensor, ids: torch.Tensor, weight: torch.Tensor) -> Gradients:
    """The same in float32."""
    return closed_form(grad_output.float(), ids, weight)


def cost(dims: Dims) -> Cost:
    """grad_output (bfloat16) and ids (int64) are read, dweight (float32) is written, zeros too.

    One addition for each element of grad_output. The values of weight are not needed.
    """
    M, V, N = dims["M"], dims["V"], dims["N"]
    return Cost(bytes=M * N * 2 + M * 8 + V * N * 4, vector_flops=M * N)


PROBLEM = Problem(
    slug="embedding",
    title="Embedding",
    summary="A lookup turns into a scatter in which hot rows meet: atomics, or sort and add.",
    tier="Indexing",
    tags=("scatter", "atomics", "sorting", "determinism"),
    models=("Gemma 2", "ALBERT", "BERT", "ByT5"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output",
            torch.bfloat16,
            Role.GRAD_OUTPUT,
            ("M", "N"),
            "gradient of the loss w.r.t. y",
        ),
        TensorSpec(
            "ids",
            torch.int64,
            Role.INPUT,
            ("M",),
            "for each token a row of the table; 0 is padding",
        ),
        TensorSpec(
            "weight",
            torch.bfloat16,
            Role.INPUT,
            ("V", "N"),
            "the table; only its shape matters",
            shape_only=True,
        ),
    ),
    gradients=(
        GradientSpec(
            "dweight",
            "weight",
            torch.float32,
            ("V", "N"),
            "gradient w.r.t. weight, over all tokens",
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
                "albert-base", {"M": 4096, "V": 30000, "N": 128}, "ALBERT-base, 8 sequences of 512"
            ),
            Benchmark(
                "byt5-small", {"M": 4096, "V": 384, "N": 1472}, "ByT5-small, 4096 bytes of text"
            ),
        ),
        "gpu": (
            Benchmark(
                "gemma-2-2b", {"M": 16384, "V": 256000, "N": 2304}, "Gemma-2-2B, 16384 tokens"
            ),
            Benchmark("bert-base", {"M": 65536, "V": 30522, "N": 768}, "BERT-base, 65536 tokens"),
            Benchmark("byt5-small", {"M": 65536, "V": 384, "N": 1472}, "ByT5-small, 65536 bytes"),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
)
