"""The rotary embedding's cases: odd sizes, strided tables and upstreams, positions of real texts."""

from __future__ import annotations

from problems.distributions import Values
from problems.layouts import Layout
from problems.rope.sampling import FROM_ZERO, LONG_CONTEXT, PACKED
from problems.spec import Case

_PUBLIC = (
    Case("power_of_two", {"M": 16, "H": 4, "P": 32}, "Sizes that fill blocks exactly."),
    Case(
        "odd_sizes",
        {"M": 17, "H": 3, "P": 33},
        "No size is a multiple of a block, so every axis needs a mask; a head has 66 elements.",
    ),
    Case(
        "one_element",
        {"M": 1, "H": 1, "P": 1},
        "The smallest input there is: one token, one head, one pair.",
    ),
    Case(
        "many_tokens",
        {"M": 70, "H": 2, "P": 16},
        "More tokens than one block holds; each has angles of its own.",
    ),
    Case(
        "upstream_expanded",
        {"M": 9, "H": 3, "P": 20},
        "The upstream gradient has stride 0 along the tokens, as the backward of a sum makes it.",
        layouts={"grad_output": Layout.EXPANDED},
    ),
    Case(
        "upstream_transposed",
        {"M": 8, "H": 6, "P": 12},
        "Heads and elements of the upstream gradient are exchanged in memory.",
        layouts={"grad_output": Layout.TRANSPOSED},
    ),
    Case(
        "zero_upstream",
        {"M": 3, "H": 2, "P": 17},
        "A zero upstream gradient gives zero gradients, exactly.",
        values=Values.ZERO_UPSTREAM,
    ),
    Case(
        "positions_from_zero",
        {"M": 14, "H": 3, "P": 24},
        "A text from its beginning: the first token's angles are 0, its gradient passes unchanged.",
        values=FROM_ZERO,
    ),
)

_HIDDEN_SHAPES = (
    Case(
        "one_token",
        {"M": 1, "H": 40, "P": 64},
        "A single token, as in decoding: all there is to share out is its heads.",
        public=False,
    ),
    Case(
        "one_head",
        {"M": 40, "H": 1, "P": 32},
        "A single head, as the shared key of multi-query attention.",
        public=False,
    ),
    Case(
        "one_pair",
        {"M": 19, "H": 5, "P": 1},
        "Heads of two elements: most lanes of a block have nothing to do.",
        public=False,
    ),
    Case(
        "many_heads",
        {"M": 2, "H": 130, "P": 40},
        "More heads than a block of heads is likely to hold, of 80 elements each.",
        public=False,
    ),
    Case(
        "wide_heads",
        {"M": 5, "H": 3, "P": 257},
        "Heads one pair longer than a power of two.",
        public=False,
    ),
)

_HIDDEN_LAYOUTS = (
    Case(
        "upstream_sliced",
        {"M": 11, "H": 4, "P": 18},
        "The upstream gradient is a slice of wider heads, as where only a part of each is turned.",
        layouts={"grad_output": Layout.SLICED},
        public=False,
    ),
    Case(
        "tables_sliced",
        {"M": 13, "H": 3, "P": 26},
        "The tables are the first half of wider ones that hold each angle twice.",
        layouts={"cos": Layout.SLICED, "sin": Layout.SLICED},
        public=False,
    ),
    Case(
        "tables_transposed",
        {"M": 15, "H": 3, "P": 22},
        "The tables lie transposed in memory, the upstream gradient does not.",
        layouts={"cos": Layout.TRANSPOSED, "sin": Layout.TRANSPOSED},
        public=False,
    ),
    Case(
        "tables_differ",
        {"M": 12, "H": 2, "P": 28},
        "cos is a slice and sin lies transposed: neither has the strides of the other.",
        layouts={"cos": Layout.SLICED, "sin": Layout.TRANSPOSED},
        public=False,
    ),
)

_HIDDEN_VALUES = (
    Case(
        "one_hot_upstream",
        {"M": 7, "H": 3, "P": 19},
        "One single element of the upstream gradient is not zero, so at most two of dx are not.",
        values=Values.ONE_HOT_UPSTREAM,
        public=False,
    ),
    Case(
        "large_magnitudes",
        {"M": 8, "H": 3, "P": 21},
        "Upstream gradients around 10⁴.",
        values=Values.LARGE,
        public=False,
    ),
    Case(
        "tiny_magnitudes",
        {"M": 8, "H": 2, "P": 23},
        "Upstream gradients around 10⁻⁸.",
        values=Values.TINY,
        public=False,
    ),
    Case(
        "long_context",
        {"M": 20, "H": 3, "P": 30},
        "Positions around a hundred thousand, where angles computed in bfloat16 mean nothing.",
        values=LONG_CONTEXT,
        public=False,
    ),
    Case(
        "packed_documents",
        {"M": 40, "H": 2, "P": 14},
        "Several documents in a row: positions begin again at 0, and do not follow the row's number.",
        values=PACKED,
        public=False,
    ),
)

CASES = (*_PUBLIC, *_HIDDEN_SHAPES, *_HIDDEN_LAYOUTS, *_HIDDEN_VALUES)
