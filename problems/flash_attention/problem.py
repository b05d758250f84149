"""Attention's backward without the matrix of probabilities: causal, grouped-query, packed documents.

Dao, Fu, Ermon, Rudra and Ré, FlashAttention, 2022 (arXiv:2205.14135), appendix B; grouped queries:
Ainslie et al., GQA, 2023 (arXiv:2305.13245). The gradient is derived in derivation.md.
"""

from __future__ import annotations

from pathlib import Path

import torch

from problems.flash_attention.cases import CASES
from problems.flash_attention.formulas import (
    Steps,
    boundaries,
    by_heads,
    by_tokens,
    causal,
    in_low_precision,
    rounded_to_bfloat16,
    scale_of,
)
from problems.flash_attention.mistakes import MISTAKES
from problems.flash_attention.sampling import integers, sample
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


def forward(q: T, k: T, v: T, cu_seqlens: T) -> T:
    """Attention of each token to the tokens of its document up to itself, (T, H·G, D).

    Tokens from `cu_seqlens[-1]` on belong to no document: their output is 0.
    """
    return _attention(q, k, v, cu_seqlens)[0]


def saved(q: T, k: T, v: T, cu_seqlens: T) -> Tensors:
    """The output, (T, H·G, D), and the log-sum-exp of each query's scores, (H·G, T)."""
    out, lse = _attention(q, k, v, cu_seqlens)
    return {"out": out, "lse": lse}


def _attention(q: T, k: T, v: T, cu_seqlens: T) -> tuple[T, T]:
    H = k.shape[1]
    out = torch.zeros_like(q)
    lse = torch.zeros((q.shape[1], q.shape[0]), dtype=q.dtype)
    for begin, end in boundaries(cu_seqlens):
        rows = slice(begin, end)
        queries, keys, values = (by_heads(x[rows], H) for x in (q, k, v))
        scores = queries @ keys.mT * scale_of(q.shape[-1])
        scores = scores.masked_fill(~causal(scores), -torch.inf)
        out[rows] = by_tokens(scores.softmax(-1) @ values)
        lse[:, rows] = scores.logsumexp(-1).flatten(0, 1)
    return out, lse


def closed_form(grad_output: T, q: T, k: T, v: T, out: T, lse: T, cu_seqlens: T) -> Gradients:
    """`dS = P ∘ (dP − δ)`; from it dq and dk, from P dv; dk and dv summed over each group."""
    return Steps().backward(grad_output, q, k, v, out, lse, cu_seqlens)


def baseline(grad_output: T, q: T, k: T, v: T, out: T, lse: T, cu_seqlens: T) -> Gradients:
    """The same in float32, P and dS rounded to bfloat16 where they enter a product."""
    given = {"grad_output": grad_output, "q": q, "k": k, "v": v, "out": out, "lse": lse}
    return in_low_precision(Steps(rounded=rounded_to_bfloat16), {**given, "cu_seqlens": cu_seqlens})


def cost(dims: Dims) -> Cost:
    """Five products of 2·D FLOPs for each pair of a query and a key it sees; every tensor moves once.

    Documents are of equal length L = T / S, with L (L + 1) / 2 pairs each. The five: scores, dP, dq, dk,
    dv. On the other units, for each pair: product with the scale and difference to lse, exponential,
    difference to delta, product with P; and 2·D for each query's delta.
    """
    tokens, H, G, D = dims["T"], dims["H"], dims["G"], dims["D"]
    length = tokens / dims["S"]
    pairs = round(H * G * tokens * (length + 1) / 2)
    query_side = tokens * H * G * D * 2  # bytes: grad_output, q, out are read, dq is written
    key_side = tokens * H * D * 2  # k, v are read, dk, dv are written
    statistics = 4 * (H * G * tokens + dims["S"] + 1)
    return Cost(
        bytes=4 * query_side + 4 * key_side + statistics,
        vector_flops=5 * pairs + 2 * tokens * H * G * D,
        matrix_flops=5 * 2 * D * pairs,
    )


def _benchmark(name: str, model: str, S: int, T: int, H: int, G: int, D: int) -> Benchmark:
    return Benchmark(name, {"S": S, "T": T, "H": H, "G": G, "D": D}, model)


_QUERIES, _KEYS = ("T", "H*G", "D"), ("T", "H", "D")

PROBLEM = Problem(
    slug="flash_attention",
    title="FlashAttention",
    summary="Probabilities recomputed tile by tile; one number a query stands for their Jacobian.",
    tier="Sequences",
    tags=("attention", "recomputation", "GEMM", "grouped queries", "variable length"),
    models=("Llama 3", "GPT-2"),
    version=1,
    arguments=(
        TensorSpec(
            "grad_output", torch.bfloat16, Role.GRAD_OUTPUT, _QUERIES, "gradient w.r.t. out"
        ),
        TensorSpec("q", torch.bfloat16, Role.INPUT, _QUERIES, "queries, G heads for each of H"),
        TensorSpec("k", torch.bfloat16, Role.INPUT, _KEYS, "keys"),
        TensorSpec("v", torch.bfloat16, Role.INPUT, _KEYS, "values"),
        TensorSpec("out", torch.bfloat16, Role.SAVED, _QUERIES, "the output of forward"),
        TensorSpec(
            "lse", torch.float32, Role.SAVED, ("H*G", "T"), "log-sum-exp of each query's scores"
        ),
        TensorSpec(
            "cu_seqlens", torch.int32, Role.INPUT, ("S+1",), "document s ends where s + 1 begins"
        ),
    ),
    gradients=(
        GradientSpec("dq", "q", torch.bfloat16, _QUERIES, "gradient of the loss w.r.t. q"),
        GradientSpec("dk", "k", torch.bfloat16, _KEYS, "gradient of the loss w.r.t. k"),
        GradientSpec("dv", "v", torch.bfloat16, _KEYS, "gradient of the loss w.r.t. v"),
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
            _benchmark("llama-3.2-1b", "Llama-3.2-1B, one text of 512 tokens", 1, 512, 8, 4, 64),
            _benchmark("gpt-2-packed", "GPT-2 small, 4 texts of 256 tokens", 4, 1024, 12, 1, 64),
        ),
        "gpu": (
            _benchmark("llama-3-8b", "Llama-3-8B, 2 texts of 8192 tokens", 2, 16384, 8, 4, 128),
            _benchmark(
                "llama-3-8b-packed", "Llama-3-8B, 16 texts of 1024 tokens", 16, 16384, 8, 4, 128
            ),
            _benchmark("llama-3.2-1b", "Llama-3.2-1B, 2 texts of 8192 tokens", 2, 16384, 8, 4, 64),
        ),
    },
    package=Path(__file__).parent,
    mistakes=MISTAKES,
    chained_products=True,
)
