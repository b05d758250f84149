"""The rotary embedding's backward as it is commonly got wrong, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.spec import Gradients, Mistake


def _turned(
    upstream: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Both halves of the head, turned by minus the angle."""
    first, second = upstream.chunk(2, dim=-1)
    c, s = cos[:, None], sin[:, None]
    return first * c + second * s, second * c - first * s


def _forwards(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    return (torch.cat(_turned(grad_output, cos, -sin), dim=-1),)


def _interleaved(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    even, odd = grad_output[..., ::2], grad_output[..., 1::2]
    turned = _turned(torch.cat((even, odd), dim=-1), cos, sin)
    return (torch.stack(turned, dim=-1).flatten(-2),)


def _exchanged(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    return (torch.cat(_turned(grad_output, sin, cos), dim=-1),)


def _same_sign(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    first, _ = _turned(grad_output, cos, sin)
    _, second = _turned(grad_output, cos, -sin)
    return (torch.cat((first, second), dim=-1),)


def _cosine_alone(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    return (torch.cat(_turned(grad_output, cos, torch.zeros_like(sin)), dim=-1),)


def _overwritten(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    turned, _ = _turned(grad_output, cos, sin)
    second = grad_output.chunk(2, dim=-1)[1]
    return (torch.cat((turned, second * cos[:, None] - turned * sin[:, None]), dim=-1),)


def _first_token(grad_output: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Gradients:
    return (torch.cat(_turned(grad_output, cos[:1], sin[:1]), dim=-1),)


MISTAKES = (
    Mistake("turns the wrong way, as forward does: is the sign of sin reversed?", _forwards),
    Mistake("pairs neighbours (2p, 2p + 1) where p and p + P belong together", _interleaved),
    Mistake("exchanges cos and sin", _exchanged),
    Mistake("has the wrong sign of sin in the second half of each head", _same_sign),
    Mistake("lacks the terms with sin", _cosine_alone),
    Mistake("takes the first half already turned to compute the second", _overwritten),
    Mistake("turns every token by the angles of the first one", _first_token),
)
