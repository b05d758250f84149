"""The cases of the SwiGLU MLP: sizes of three dimensions, layouts of all matrices, magnitudes."""

from __future__ import annotations

from dataclasses import replace

from problems.distributions import Values
from problems.layouts import Layout
from problems.spec import Case

_MATRICES = ("x", "w_gate", "w_up", "w_down")


def _case(
    name: str,
    sizes: tuple[int, int, int],
    why: str,
    values: str = Values.NORMAL,
    layouts: dict[str, Layout] | None = None,
) -> Case:
    """`sizes`: M tokens, D features, F hidden features."""
    return Case(name, dict(zip("MDF", sizes, strict=True)), why, values, layouts or {})


_PUBLIC = (
    _case("power_of_two", (32, 64, 128), "Sizes that fill blocks exactly."),
    _case("odd_sizes", (17, 35, 129), "No size is a multiple of a block, so all need a mask."),
    _case(
        "one_element",
        (1, 1, 1),
        "The smallest input there is, with an upstream gradient of zero.",
        values=Values.ZERO_UPSTREAM,
    ),
    _case(
        "many_rows",
        (300, 24, 40),
        "More tokens than a block holds: the weights' gradients sum over all of them.",
    ),
    _case(
        "upstream_expanded",
        (24, 32, 48),
        "The upstream gradient has stride 0 along the tokens, as the backward of a sum makes it.",
        layouts={"grad_output": Layout.EXPANDED},
    ),
    _case(
        "upstream_transposed",
        (24, 40, 72),
        "The upstream gradient lies transposed in memory.",
        layouts={"grad_output": Layout.TRANSPOSED},
    ),
)

_HIDDEN = (
    _case("one_row", (1, 48, 96), "A single token: most lanes of a block have nothing to do."),
    _case(
        "one_feature",
        (37, 1, 64),
        "A single feature comes in and goes out, with an upstream gradient of zero.",
        values=Values.ZERO_UPSTREAM,
    ),
    _case(
        "one_hidden_feature",
        (72, 24, 1),
        "A single hidden feature, with an upstream gradient of zero.",
        values=Values.ZERO_UPSTREAM,
    ),
    _case(
        "wide_hidden",
        (19, 40, 521),
        "Several blocks of hidden features, the last one partly filled.",
    ),
    _case(
        "wide_features",
        (130, 72, 36),
        "More features than a block holds, the last block partly filled.",
    ),
    _case(
        "upstream_sliced",
        (21, 61, 37),
        "The upstream gradient is a slice of a wider buffer.",
        layouts={"grad_output": Layout.SLICED},
    ),
    _case(
        "inputs_transposed",
        (26, 45, 70),
        "x and all weights lie transposed in memory, the upstream gradient does not.",
        layouts=dict.fromkeys(_MATRICES, Layout.TRANSPOSED),
    ),
    _case(
        "inputs_sliced",
        (18, 50, 66),
        "x and all weights are slices of wider buffers; so is the upstream gradient.",
        layouts=dict.fromkeys(("grad_output", *_MATRICES), Layout.SLICED),
    ),
    _case(
        "one_hot_upstream",
        (20, 30, 50),
        "One single element of the upstream gradient is not zero.",
        values=Values.ONE_HOT_UPSTREAM,
    ),
    _case(
        "large_magnitudes",
        (22, 34, 65),
        "Values around 10⁴, of which products with each other are around 10⁸.",
        values=Values.LARGE,
    ),
    _case(
        "tiny_magnitudes",
        (23, 33, 64),
        "Activations around 10⁻⁶ and upstream gradients around 10⁻⁸.",
        values=Values.TINY,
    ),
)

CASES = (*_PUBLIC, *(replace(c, public=False) for c in _HIDDEN))
