"""Cases that problems over sequences share: activations of B sequences, T steps and D channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from problems.distributions import Values
from problems.layouts import Layout
from problems.spec import Case


def sequence_cases(
    inputs: tuple[str, ...], sizes: Mapping[str, tuple[int, int, int]] | None = None
) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Public and hidden cases for an upstream gradient (B, T, D).

    `inputs` names the arguments of that shape besides `grad_output`; some cases hand them over
    non-contiguous. `sizes` has a problem's other dimensions: the smallest size, an odd one and the usual
    one, a power of two.
    """
    others = sizes or {}
    smallest, odd, usual = ({n: s[i] for n, s in others.items()} for i in range(3))
    public = (
        *(_with(case, usual) for case in _PUBLIC),
        _with(_ODD, odd),
        _with(_SMALLEST, smallest),
    )
    hidden = (*_HIDDEN_SHAPES, *_layouts(inputs), *_HIDDEN_VALUES)
    return public, tuple(replace(_with(case, usual), public=False) for case in hidden)


def _with(case: Case, sizes: Mapping[str, int]) -> Case:
    return replace(case, dims={**case.dims, **sizes})


_PUBLIC = (
    Case("power_of_two", {"B": 2, "T": 64, "D": 32}, "Sizes that fill blocks exactly."),
    Case(
        "long_sequence",
        {"B": 2, "T": 200, "D": 24},
        "More steps than one block holds: what one block leaves, the next one needs.",
    ),
    Case(
        "many_sequences",
        {"B": 129, "T": 3, "D": 64},
        "Many short sequences: none may see the steps of its neighbour.",
    ),
    Case(
        "upstream_expanded",
        {"B": 4, "T": 9, "D": 20},
        "The upstream gradient has stride 0 along the sequences, as the backward of a sum makes it.",
        layouts={"grad_output": Layout.EXPANDED},
    ),
    Case(
        "upstream_transposed",
        {"B": 2, "T": 22, "D": 34},
        "The upstream gradient lies in memory with time as its last dimension.",
        layouts={"grad_output": Layout.TRANSPOSED},
    ),
)
_ODD = Case(
    "odd_sizes",
    {"B": 3, "T": 65, "D": 67},
    "No size is a multiple of a block: the last block of steps and of channels needs a mask.",
)
_SMALLEST = Case("one_element", {"B": 1, "T": 1, "D": 1}, "The smallest input there is.")

_HIDDEN_SHAPES = (
    Case("one_step", {"B": 3, "T": 1, "D": 70}, "Sequences of a single step: there is no past."),
    Case("two_steps", {"B": 5, "T": 2, "D": 33}, "Sequences of two steps: a past of one."),
    Case("one_channel", {"B": 2, "T": 90, "D": 1}, "A single channel: lanes with nothing to do."),
    Case("one_sequence", {"B": 1, "T": 130, "D": 19}, "One sequence of several blocks of steps."),
    Case("wide", {"B": 1, "T": 7, "D": 1040}, "More channels than one block holds."),
)

_HIDDEN_VALUES = (
    Case(
        "zero_upstream",
        {"B": 2, "T": 12, "D": 10},
        "A zero upstream gradient gives zero gradients, exactly.",
        values=Values.ZERO_UPSTREAM,
    ),
    Case(
        "one_hot_upstream",
        {"B": 2, "T": 40, "D": 16},
        "One single element of the upstream gradient is not zero.",
        values=Values.ONE_HOT_UPSTREAM,
    ),
    Case(
        "large_magnitudes",
        {"B": 2, "T": 30, "D": 21},
        "Inputs and upstream gradients around 10⁴.",
        values=Values.LARGE,
    ),
    Case(
        "tiny_magnitudes",
        {"B": 2, "T": 32, "D": 18},
        "Activations around 10⁻⁶ and upstream gradients around 10⁻⁸.",
        values=Values.TINY,
    ),
)


def _layouts(inputs: tuple[str, ...]) -> tuple[Case, ...]:
    named = " and ".join(inputs)
    return (
        Case(
            "upstream_sliced",
            {"B": 2, "T": 17, "D": 26},
            "The upstream gradient is a slice of a wider buffer, as the backward of cat makes it.",
            layouts={"grad_output": Layout.SLICED},
        ),
        Case(
            "inputs_transposed",
            {"B": 3, "T": 19, "D": 25},
            f"In memory {named} have time as their last dimension, the upstream gradient has not.",
            layouts=dict.fromkeys(inputs, Layout.TRANSPOSED),
        ),
        Case(
            "inputs_sliced",
            {"B": 2, "T": 23, "D": 28},
            f"{named[0].upper() + named[1:]} and the upstream gradient are slices of wider buffers.",
            layouts=dict.fromkeys(("grad_output", *inputs), Layout.SLICED),
        ),
    )
