"""SwiGLU's mutants: wrong derivatives of SiLU, arguments mistaken for each other, coarse arithmetic."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from problems.mutants import Diagnosis, Mutant, Spoiler, read_linearly, read_with_strides
from problems.spec import Gradients
from problems.swiglu.problem import PROBLEM

T = torch.Tensor

_make = Spoiler(PROBLEM)


def _without_second_term(grad_output: T, gate: T, up: T) -> T:
    return grad_output.float() * up.float() * torch.sigmoid(gate.float())


def _without_first_term(grad_output: T, gate: T, up: T) -> T:
    g = gate.float()
    sigma = torch.sigmoid(g)
    return grad_output.float() * up.float() * g * sigma * (1 - sigma)


def _without_up(grad_output: T, gate: T, up: T) -> T:
    return PROBLEM.baseline(grad_output, gate, torch.ones_like(up))[0]


def _sigma_for_silu(grad_output: T, gate: T, up: T) -> T:
    return grad_output.float() * torch.sigmoid(gate.float())


def _without_upstream(grad_output: T, gate: T, up: T) -> T:
    return PROBLEM.baseline(torch.ones_like(grad_output), gate, up)[0]


def _swapped(grad_output: T, gate: T, up: T) -> Gradients:
    dgate, dup = PROBLEM.baseline(grad_output, gate, up)
    return dup, dgate


def _arguments_swapped(grad_output: T, gate: T, up: T) -> Gradients:
    dup, dgate = PROBLEM.baseline(grad_output, up, gate)
    return dgate, dup


def _sigmoid_overflows(grad_output: T, gate: T, up: T) -> Gradients:
    dy, g = grad_output.float(), gate.float()
    sigma = torch.exp(g) / (1 + torch.exp(g))
    dgate = dy * up.float() * sigma * (1 + g * (1 - sigma))
    return dgate.to(gate.dtype), (dy * g * sigma).to(up.dtype)


def _in_bfloat16(grad_output: T, gate: T, up: T) -> T:
    sigma = torch.sigmoid(gate)
    return grad_output * up * (sigma + gate * sigma * (1 - sigma))


def _derivative_in_bfloat16(grad_output: T, gate: T, up: T) -> T:
    sigma = torch.sigmoid(gate)
    return grad_output.float() * up.float() * (sigma * (1 + gate * (1 - sigma))).float()


def _sigmoid_in_float8(grad_output: T, gate: T, up: T) -> Gradients:
    dy, g = grad_output.float(), gate.float()
    sigma = torch.sigmoid(g).to(torch.float8_e4m3fn).float()
    dgate = dy * up.float() * (sigma + g * sigma * (1 - sigma))
    return dgate.to(gate.dtype), (dy * g * sigma).to(up.dtype)


def _strides_of_gate_for_up(grad_output: T, gate: T, up: T) -> T:
    return PROBLEM.baseline(grad_output, gate, read_with_strides(up, gate.stride()))[0]


def _gelu_for_silu(grad_output: T, gate: T, up: T) -> T:
    return grad_output.float() * F.gelu(gate.float())


_BOTH = _make.names

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    _make.one(
        "dgate",
        "second_term_missing",
        "Takes σ(gate) for SiLU's derivative, as if σ were a constant.",
        _without_second_term,
        Diagnosis.MISSING_TERM,
        "gate · σ · (1 − σ)",
    ),
    _make.one(
        "dgate",
        "first_term_missing",
        "Differentiates the sigmoid and forgets the factor in front of it.",
        _without_first_term,
        Diagnosis.MISSING_TERM,
        "σ",
    ),
    _make.one(
        "dgate",
        "up_missing",
        "dgate is not multiplied by up.",
        _without_up,
        Diagnosis.MISSING_TERM,
        "up",
    ),
    _make.one(
        "dup",
        "sigma_for_silu",
        "Multiplies by σ(gate) where gate · σ(gate) belongs.",
        _sigma_for_silu,
        Diagnosis.MISSING_TERM,
        "gate",
    ),
    _make.one(
        "dgate",
        "upstream_missing_in_dgate",
        "dgate is not multiplied by the upstream gradient, dup is.",
        _without_upstream,
        Diagnosis.UPSTREAM_ONES,
    ),
    _make.one("dup", "gelu_for_silu", "The activation is GELU, not SiLU.", _gelu_for_silu),
    Mutant(
        "gradients_swapped",
        "Returns dup and dgate in the wrong order.",
        _swapped,
        _BOTH,
        Diagnosis.SWAPPED,
    ),
    Mutant(
        "arguments_swapped",
        "Lets up go through SiLU, as where the halves of the projection are mistaken for each other.",
        _arguments_swapped,
        _BOTH,
    ),
    Mutant(
        "sigmoid_overflows",
        "Writes σ(g) as exp(g) / (1 + exp(g)), which is NaN for gates above 88.",
        _sigmoid_overflows,
        _BOTH,
        Diagnosis.NOT_FINITE,
    ),
    _make.one(
        "dgate",
        "computed_in_bfloat16",
        "Rounds every intermediate result of dgate to bfloat16.",
        _in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dgate",
        "derivative_in_bfloat16",
        "Computes SiLU's derivative in bfloat16, where little is left of it at its zero.",
        _derivative_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    Mutant(
        "sigmoid_in_float8",
        "Keeps the sigmoid in an 8-bit float with 3 bits of mantissa.",
        _sigmoid_in_float8,
        _BOTH,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dgate",
        "strides_of_gate_for_up",
        "Reads up with gate's strides.",
        _strides_of_gate_for_up,
        Diagnosis.STRIDES,
    ),
    _make.argument(
        "gate",
        "gate_strides",
        "gate is read from memory in order, whatever its strides are.",
        read_linearly,
        _BOTH,
        Diagnosis.STRIDES,
    ),
)
