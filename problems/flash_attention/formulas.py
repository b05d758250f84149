"""Attention's backward, document by document, in steps that can be replaced by wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch

from problems.spec import Gradients

T = torch.Tensor


@dataclass(frozen=True)
class Document:
    """The tensors of one document of L tokens.

    `q`, `grad_output` and `out` are (H, G, L, D), `k` and `v` (H, 1, L, D), `lse` (H, G, L, 1).
    """

    grad_output: T
    q: T
    k: T
    v: T
    out: T
    lse: T


def boundaries(cu_seqlens: T) -> Iterator[tuple[int, int]]:
    """First token and end of every document that has tokens."""
    return ((begin, end) for begin, end in pairwise(cu_seqlens.tolist()) if begin < end)


def by_heads(x: T, kv_heads: int) -> T:
    """(L, H·G, D) as (H, G, L, D): query head h belongs to key-value head h // G."""
    return x.reshape(x.shape[0], kv_heads, -1, x.shape[-1]).permute(1, 2, 0, 3)


def by_tokens(x: T) -> T:
    """(H, G, L, D) as (L, H·G, D)."""
    return x.permute(2, 0, 1, 3).flatten(1, 2)


def causal(scores: T) -> T:
    """Where a query (row) sees a key (column): up to its own."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()


def scale_of(head_dim: int) -> float:
    """What a score is multiplied by."""
    return float(head_dim**-0.5)


def delta_of(d: Document, p: T, dp: T) -> T:
    """Each query's sum of dO · O, which is its sum of P · dP."""
    return (d.grad_output * d.out).sum(-1, keepdim=True)


@dataclass(frozen=True)
class Steps:
    """What leads from a document's tensors to its gradients. The defaults are right.

    `rounded` is what happens to P and to dS before they enter a matrix product.
    """

    visible: Callable[[T], T] = causal
    scale: Callable[[int], float] = scale_of
    exponent: Callable[[T, T], T] = torch.sub
    delta: Callable[[Document, T, T], T] = delta_of
    dscores: Callable[[T, T, T], T] = lambda p, dp, delta: p * (dp - delta)
    dq_scale: Callable[[int], float] = scale_of
    dk_scale: Callable[[int], float] = scale_of
    over_keys: Callable[[T, T], T] = torch.matmul
    over_group: Callable[[T], T] = lambda x: x.sum(1)
    rounded: Callable[[T], T] = lambda x: x

    def gradients(self, d: Document) -> Gradients:
        """dq (H, G, L, D), dk and dv (H, L, D)."""
        head_dim = d.q.shape[-1]
        scores = d.q @ d.k.mT * self.scale(head_dim)
        hidden = ~self.visible(scores)
        p = self.exponent(scores, d.lse).masked_fill(hidden, -torch.inf).exp()
        dp = d.grad_output @ d.v.mT
        ds = self.rounded(self.dscores(p, dp, self.delta(d, p, dp)).masked_fill(hidden, 0))
        dq = self.over_keys(ds, d.k) * self.dq_scale(head_dim)
        dk = self.over_group(ds.mT @ d.q) * self.dk_scale(head_dim)
        return dq, dk, self.over_group(self.rounded(p).mT @ d.grad_output)

    def backward(
        self, grad_output: T, q: T, k: T, v: T, out: T, lse: T, cu_seqlens: T
    ) -> Gradients:
        """dq, dk and dv in the dtype of the arguments; zero for tokens of no document."""
        H = k.shape[1]
        dq, dk, dv = (torch.zeros(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v))
        for begin, end in boundaries(cu_seqlens):
            rows = slice(begin, end)
            do, queries, keys, values, o = (
                by_heads(x[rows], H) for x in (grad_output, q, k, v, out)
            )
            of_rows = lse[:, rows].reshape(H, -1, end - begin, 1)
            document = Document(do, queries, keys, values, o, of_rows)
            of_q, of_k, of_v = self.gradients(document)
            dq[rows] = by_tokens(of_q)
            dk[rows], dv[rows] = of_k.transpose(0, 1), of_v.transpose(0, 1)
        return dq, dk, dv


def rounded_to_bfloat16(x: T) -> T:
    """What a tensor core takes of a float32 matrix."""
    return x.bfloat16().float()


def in_low_precision(steps: Steps, arguments: dict[str, T]) -> Gradients:
    """`steps` in float32 on bfloat16 arguments; gradients in bfloat16."""
    wide = {n: t.float() if t.is_floating_point() else t for n, t in arguments.items()}
    dq, dk, dv = steps.backward(**wide)
    return dq.bfloat16(), dk.bfloat16(), dv.bfloat16()
