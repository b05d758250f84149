"""Cases that several problems share, so that every row-wise problem is asked the same questions."""

from __future__ import annotations

from dataclasses import replace

from problems.distributions import Values
from problems.layouts import Layout
from problems.spec import Case


def standard(name: str, **dims: int) -> Case:
    """A case that nearly every problem has, by name, in the problem's own sizes.

    Raises:
        KeyError: there is no such case.
    """
    return replace(_STANDARD[name], dims=dims)


def hidden(*cases: Case) -> tuple[Case, ...]:
    """The same cases, hidden."""
    return tuple(replace(case, public=False) for case in cases)


_STANDARD = {
    case.name: case
    for case in (
        Case("one_element", {}, "The smallest input there is."),
        Case("power_of_two", {}, "Sizes that fill blocks exactly."),
        Case(
            "upstream_expanded",
            {},
            "The upstream gradient has stride 0 along the rows, as the backward of a sum makes it.",
            layouts={"grad_output": Layout.EXPANDED},
        ),
        Case(
            "upstream_transposed",
            {},
            "The upstream gradient lies transposed in memory.",
            layouts={"grad_output": Layout.TRANSPOSED},
        ),
        Case(
            "upstream_sliced",
            {},
            "The upstream gradient is a slice of a wider buffer, as the backward of cat makes it.",
            layouts={"grad_output": Layout.SLICED},
        ),
        Case(
            "zero_upstream",
            {},
            "A zero upstream gradient gives zero gradients, exactly.",
            values=Values.ZERO_UPSTREAM,
        ),
        Case(
            "one_hot_upstream",
            {},
            "One single element of the upstream gradient is not zero.",
            values=Values.ONE_HOT_UPSTREAM,
        ),
        Case(
            "large_magnitudes",
            {},
            "Values around 10⁴, whose products no 16-bit float but bfloat16 holds.",
            values=Values.LARGE,
        ),
        Case(
            "tiny_magnitudes",
            {},
            "Activations around 10⁻⁶ and upstream gradients around 10⁻⁸.",
            values=Values.TINY,
        ),
    )
}


def row_wise_cases(inputs: tuple[str, ...], one_column: str = Values.NORMAL) -> tuple[Case, ...]:
    """Cases for a problem over a matrix of M rows and N columns with an upstream gradient to match.

    `inputs` names the arguments of shape (M, N) besides `grad_output`; some cases hand them over
    non-contiguous. `one_column` is the distribution for N = 1, where a normalisation of normal values
    would leave nothing but cancellation to compare.
    """
    return (
        *_public(one_column),
        *hidden(*_hidden_shapes(one_column), *_hidden_layouts(inputs), *_hidden_values()),
    )


def _public(one_column: str) -> tuple[Case, ...]:
    # The first wrong case is the headline of a verdict, so plain matrices come before the smallest.
    return (
        standard("power_of_two", M=16, N=128),
        Case(
            "odd_sizes",
            {"M": 17, "N": 257},
            "Neither size is a multiple of a block, so the last block needs a mask.",
        ),
        Case("one_element", {"M": 1, "N": 1}, "The smallest input there is.", values=one_column),
        Case(
            "many_rows",
            {"M": 300, "N": 64},
            "More rows than one block of rows holds, so sums over rows cross programs.",
        ),
        standard("upstream_expanded", M=9, N=65),
        standard("upstream_transposed", M=24, N=40),
        standard("zero_upstream", M=3, N=33),
    )


def _hidden_shapes(one_column: str) -> tuple[Case, ...]:
    return (
        Case(
            "one_row",
            {"M": 1, "N": 1000},
            "A single row: most lanes of a block of rows have nothing to do.",
        ),
        Case(
            "one_column",
            {"M": 37, "N": 1},
            "A single column: most lanes of a block of columns have nothing to do.",
            values=one_column,
        ),
        Case(
            "wide_rows",
            {"M": 5, "N": 4097},
            "Rows one element longer than a power of two.",
        ),
        Case(
            "many_odd_rows",
            {"M": 261, "N": 48},
            "Several blocks of rows, the last one partly filled.",
        ),
    )


def _hidden_layouts(inputs: tuple[str, ...]) -> tuple[Case, ...]:
    named = " and ".join(inputs)
    return (
        standard("upstream_sliced", M=19, N=70),
        Case(
            "inputs_transposed",
            {"M": 21, "N": 45},
            f"The inputs {named} lie transposed in memory, the upstream gradient does not.",
            layouts=dict.fromkeys(inputs, Layout.TRANSPOSED),
        ),
        Case(
            "inputs_sliced",
            {"M": 13, "N": 90},
            f"The inputs {named} are slices of wider buffers; so is the upstream gradient.",
            layouts=dict.fromkeys(("grad_output", *inputs), Layout.SLICED),
        ),
    )


def _hidden_values() -> tuple[Case, ...]:
    return (
        standard("one_hot_upstream", M=7, N=50),
        Case(
            "large_magnitudes",
            {"M": 11, "N": 130},
            "Values around 10⁴, whose squares no 16-bit float but bfloat16 holds.",
            values=Values.LARGE,
        ),
        standard("tiny_magnitudes", M=12, N=129),
        Case(
            "ties",
            {"M": 15, "N": 63},
            "Many equal values, exact zeros among them.",
            values=Values.TIES,
        ),
        Case(
            "constant_rows",
            {"M": 10, "N": 36},
            "Every row repeats one value.",
            values=Values.CONSTANT_ROWS,
        ),
    )
