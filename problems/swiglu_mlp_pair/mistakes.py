"""The SwiGLU MLP's backward with a part of the derivation missing, to be recognised in submissions."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from problems.spec import Gradients, Mistake

T = torch.Tensor
Local = Callable[[T, T, T], tuple[T, T]]


def _with(local: Local, hidden: Callable[[T, T], T] | None = None) -> Callable[..., Gradients]:
    """The closed form with other gradients of gate and up, or with another h for `dw_down`."""

    def gradients(grad_output: T, x: T, w_gate: T, w_up: T, w_down: T) -> Gradients:
        gate, up = x @ w_gate.t(), x @ w_up.t()
        dgate, dup = local(gate, up, grad_output @ w_down)
        h = F.silu(gate) * up if hidden is None else hidden(gate, up)
        dx = dgate @ w_gate + dup @ w_up
        return dx, dgate.t() @ x, dup.t() @ x, grad_output.t() @ h

    return gradients


def _right(gate: T, up: T, dh: T) -> tuple[T, T]:
    sigma = torch.sigmoid(gate)
    return dh * up * sigma * (1 + gate * (1 - sigma)), dh * gate * sigma


def _sigmoid_alone(gate: T, up: T, dh: T) -> tuple[T, T]:
    return dh * up * torch.sigmoid(gate), _right(gate, up, dh)[1]


def _without_up(gate: T, up: T, dh: T) -> tuple[T, T]:
    return _right(gate, torch.ones_like(up), dh)


def _gate_without_sigmoid(gate: T, up: T, dh: T) -> tuple[T, T]:
    return _right(gate, up, dh)[0], dh * gate


def _of_gate_alone(gate: T, up: T, dh: T) -> tuple[T, T]:
    return _right(gate, up, dh)[0], torch.zeros_like(up)


def _of_up_alone(gate: T, up: T, dh: T) -> tuple[T, T]:
    return torch.zeros_like(gate), _right(gate, up, dh)[1]


MISTAKES = (
    Mistake("lacks the term gate · (1 − σ) of SiLU's derivative", _with(_sigmoid_alone)),
    Mistake("lacks the factor up", _with(_without_up)),
    Mistake("takes the gate for SiLU of the gate", _with(_gate_without_sigmoid)),
    Mistake("lacks the term through w_up", _with(_of_gate_alone)),
    Mistake("lacks the term through w_gate", _with(_of_up_alone)),
    Mistake("takes gate · up for h, without SiLU", _with(_right, lambda gate, up: gate * up)),
    Mistake("takes silu(gate) for h, without up", _with(_right, lambda gate, up: F.silu(gate))),
)
