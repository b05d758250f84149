"""The cases of the combine: what is dropped, what is padding, how rows and matrices lie."""

from __future__ import annotations

from problems.cases import hidden, standard
from problems.layouts import Layout
from problems.moe_combine.sampling import RoutingValues
from problems.spec import Case

_PUBLIC = (
    Case(
        "power_of_two",
        {"T": 16, "K": 4, "R": 64, "D": 128},
        "Every choice has a row, and every row one.",
    ),
    Case(
        "odd_sizes",
        {"T": 17, "K": 3, "R": 51, "D": 257},
        "No size is a multiple of a block, so the last block of each needs a mask.",
    ),
    Case(
        "padding_rows",
        {"T": 20, "K": 2, "R": 64, "D": 48},
        "More rows than choices, as experts' shares are padded to whole tiles: those get zeros.",
    ),
    Case(
        "dropped_choices",
        {"T": 30, "K": 4, "R": 120, "D": 40},
        "Some choices are -1: their expert was full, so they have no row and no gradient.",
        values=RoutingValues.DROPPED,
    ),
    Case(
        "many_tokens",
        {"T": 200, "K": 2, "R": 420, "D": 16},
        "Many tokens with a few choices each.",
    ),
    Case(
        "wide_rows",
        {"T": 4, "K": 2, "R": 8, "D": 2100},
        "Rows wider than a block: dscores sums over all of it.",
    ),
    standard("upstream_expanded", T=12, K=2, R=26, D=65),
    standard("one_element", T=1, K=1, R=1, D=1),
)

_HIDDEN = (
    Case("one_token", {"T": 1, "K": 8, "R": 16, "D": 300}, "A single token and all its experts."),
    Case("one_choice", {"T": 65, "K": 1, "R": 70, "D": 33}, "One expert for each token."),
    Case("one_column", {"T": 40, "K": 2, "R": 90, "D": 1}, "Rows of a single element."),
    Case(
        "eight_choices",
        {"T": 33, "K": 8, "R": 280, "D": 70},
        "Eight experts for each token, as in the largest models.",
    ),
    Case(
        "too_few_rows",
        {"T": 50, "K": 3, "R": 90, "D": 28},
        "Fewer rows than choices, so some choices are dropped.",
    ),
    Case(
        "all_dropped",
        {"T": 9, "K": 2, "R": 20, "D": 31},
        "Every choice was dropped: both gradients are zero everywhere.",
        values=RoutingValues.ALL_DROPPED,
    ),
    Case(
        "junk_in_padding",
        {"T": 24, "K": 2, "R": 80, "D": 29},
        "Rows that no choice refers to hold 10³⁰, as uninitialised memory may.",
        values=RoutingValues.JUNK,
    ),
    Case(
        "in_order",
        {"T": 27, "K": 2, "R": 60, "D": 37},
        "The experts' output lies in the tokens' order: nothing was permuted.",
        values=RoutingValues.IN_ORDER,
    ),
    Case(
        "confident_router",
        {"T": 36, "K": 4, "R": 150, "D": 24},
        "Scores from near 1 to below 10⁻⁵.",
        values=RoutingValues.CONFIDENT,
    ),
    standard("upstream_transposed", T=24, K=2, R=50, D=40),
    Case(
        "all_sliced",
        {"T": 19, "K": 2, "R": 44, "D": 70},
        "Every argument is a slice of a wider buffer.",
        layouts=dict.fromkeys(("grad_output", "expert_out", "scores", "rows"), Layout.SLICED),
    ),
    Case(
        "inputs_transposed",
        {"T": 21, "K": 3, "R": 70, "D": 45},
        "All but the upstream gradient lie transposed in memory, the routing choice by choice.",
        layouts=dict.fromkeys(("expert_out", "scores", "rows"), Layout.TRANSPOSED),
    ),
    standard("zero_upstream", T=10, K=2, R=24, D=12),
    standard("one_hot_upstream", T=28, K=3, R=120, D=25),
    standard("large_magnitudes", T=22, K=2, R=60, D=34),
    standard("tiny_magnitudes", T=25, K=2, R=66, D=20),
)

CASES = _PUBLIC + hidden(*_HIDDEN)
