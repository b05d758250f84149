"""SwiGLU's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

import torch

from problems.spec import Gradients, Mistake


def _without_slope(grad_output: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Gradients:
    sigmoid = torch.sigmoid(gate)
    return grad_output * up * sigmoid, grad_output * gate * sigmoid


def _slope_only(grad_output: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Gradients:
    sigmoid = torch.sigmoid(gate)
    return grad_output * up * sigmoid * (1 - sigmoid), grad_output * sigmoid


def _without_partner(grad_output: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Gradients:
    sigmoid = torch.sigmoid(gate)
    return grad_output * sigmoid * (1 + gate * (1 - sigmoid)), grad_output * gate


def _sigmoid_alone(grad_output: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> Gradients:
    sigmoid = torch.sigmoid(gate)
    return grad_output * up * gate * sigmoid * (1 - sigmoid), grad_output * gate * sigmoid


MISTAKES = (
    Mistake("lacks the first term of the product rule: σ", _sigmoid_alone),
    Mistake("lacks the term through the sigmoid: gate · (1 − σ)", _without_slope),
    Mistake("differentiates the sigmoid instead of silu", _slope_only),
    Mistake("lacks its other factor: up in dgate, the sigmoid in dup", _without_partner),
)
