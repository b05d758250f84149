"""Squared ReLU's mutants: wrong derivatives, masks, strides and intermediate formats."""

from __future__ import annotations

import torch

from problems.mutants import Diagnosis, Spoiler, read_linearly
from problems.relu_squared.problem import PROBLEM

_make = Spoiler(PROBLEM)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    _make.one(
        "dx",
        "factor_two_missing",
        "The 2 of the square's derivative is missing.",
        lambda grad_output, x: grad_output.float() * torch.relu(x),
        Diagnosis.CONSTANT_FACTOR,
    ),
    _make.one(
        "dx",
        "derivative_of_relu",
        "Multiplies by the step function, as for ReLU without the square.",
        lambda grad_output, x: 2 * grad_output.float() * (x > 0),
        Diagnosis.MISSING_TERM,
        "max(x, 0)",
    ),
    _make.one(
        "dx",
        "negative_side_open",
        "Forgets that ReLU is flat for negative x.",
        lambda grad_output, x: 2 * grad_output.float() * x.float(),
        Diagnosis.MISSING_TERM,
        term="the step of relu",
    ),
    _make.one(
        "dx",
        "absolute_value",
        "Takes |x| for max(x, 0).",
        lambda grad_output, x: 2 * grad_output.float() * x.float().abs(),
        Diagnosis.MISSING_TERM,
        term="the step of relu",
    ),
    _make.one(
        "dx",
        "slope_in_float16",
        "Multiplies in float16, where large products overflow and small ones vanish.",
        lambda grad_output, x: grad_output.half() * (2 * torch.relu(x)).half(),
    ),
    _make.one(
        "dx",
        "slope_in_float8",
        "Keeps 2 max(x, 0) in an 8-bit float with 3 bits of mantissa to save memory traffic.",
        lambda grad_output, x: (
            grad_output.float() * (2 * torch.relu(x.float())).to(torch.float8_e4m3fn).float()
        ),
        Diagnosis.LOW_PRECISION,
    ),
    _make.argument(
        "x",
        "x_strides",
        "x is read from memory in order, whatever its strides are.",
        read_linearly,
        ["dx"],
        Diagnosis.STRIDES,
    ),
)
