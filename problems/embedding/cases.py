"""The cases of an embedding: which ids meet, what is padding, how the upstream gradient lies."""

from __future__ import annotations

from dataclasses import replace

from problems.embedding.sampling import TokenValues
from problems.layouts import Layout
from problems.spec import Case

_PUBLIC = (
    Case("power_of_two", {"M": 16, "V": 32, "N": 128}, "Sizes that fill blocks exactly."),
    Case(
        "odd_sizes",
        {"M": 33, "V": 51, "N": 257},
        "No size is a multiple of a block, so the last block of each needs a mask.",
    ),
    Case(
        "distinct_ids",
        {"M": 150, "V": 150, "N": 40},
        "No id occurs twice, so storing is as good as adding.",
        values=TokenValues.DISTINCT,
    ),
    Case(
        "many_tokens",
        {"M": 300, "V": 20, "N": 36},
        "Few ids share many tokens, so sums cross blocks of tokens.",
    ),
    Case(
        "one_id",
        {"M": 200, "V": 30, "N": 33},
        "Every token has the same id: one row of dweight gets all there is.",
        values=TokenValues.ONE_ID,
    ),
    Case(
        "padding",
        {"M": 60, "V": 30, "N": 24},
        "Some ids are 0, which is padding: row 0 of dweight stays zero.",
        values=TokenValues.PADDED,
    ),
    Case(
        "upstream_expanded",
        {"M": 40, "V": 60, "N": 65},
        "The upstream gradient has stride 0 along the rows, as the backward of a sum makes it.",
        values=TokenValues.DISTINCT,
        layouts={"grad_output": Layout.EXPANDED},
    ),
    Case(
        "one_element",
        {"M": 1, "V": 1, "N": 1},
        "The only row there is belongs to padding, so its gradient is zero.",
    ),
)

_HIDDEN = (
    Case("one_token", {"M": 1, "V": 50, "N": 300}, "A single token: all rows but one are zero."),
    Case("one_column", {"M": 150, "V": 40, "N": 1}, "Rows of a single element."),
    Case("two_rows", {"M": 150, "V": 2, "N": 70}, "Padding and one other id, all tokens in it."),
    Case("wide_rows", {"M": 9, "V": 12, "N": 1100}, "Rows wider than a block of columns."),
    Case(
        "large_table",
        {"M": 140, "V": 300, "N": 20},
        "Half of the rows occur in no token: they are zero, not what memory held.",
        values=TokenValues.DISTINCT,
    ),
    Case(
        "long_segments",
        {"M": 1030, "V": 6, "N": 18},
        "Hundreds of tokens of each id: long sums that begin and end inside a block.",
    ),
    Case(
        "last_id",
        {"M": 21, "V": 130, "N": 48},
        "Every id is V − 1, in the last and partly filled block of the table.",
        values=TokenValues.LAST_ID,
    ),
    Case(
        "every_id",
        {"M": 140, "V": 70, "N": 68},
        "Every id occurs, padding among them, most of them twice.",
        values=TokenValues.DISTINCT,
    ),
    Case(
        "all_padding",
        {"M": 26, "V": 17, "N": 31},
        "Every token is padding: the gradient is zero everywhere.",
        values=TokenValues.ALL_PADDED,
    ),
    Case(
        "cancelling_tokens",
        {"M": 512, "V": 14, "N": 22},
        "One id; the second half of its tokens takes back most of what the first half added.",
        values=TokenValues.CANCELLING,
    ),
    Case(
        "upstream_transposed",
        {"M": 24, "V": 15, "N": 40},
        "The upstream gradient lies transposed in memory.",
        layouts={"grad_output": Layout.TRANSPOSED},
    ),
    Case(
        "sliced_and_padded",
        {"M": 37, "V": 28, "N": 70},
        "The upstream gradient is a slice of a wider buffer; some ids are padding.",
        values=TokenValues.PADDED,
        layouts={"grad_output": Layout.SLICED},
    ),
    Case(
        "weight_transposed",
        {"M": 31, "V": 44, "N": 26},
        "The table lies transposed in memory; its gradient is contiguous all the same.",
        layouts={"weight": Layout.TRANSPOSED},
    ),
    Case(
        "zero_upstream",
        {"M": 19, "V": 11, "N": 12},
        "A zero upstream gradient gives zero gradients, exactly.",
        values=TokenValues.ZERO_UPSTREAM,
    ),
    Case(
        "one_hot_upstream",
        {"M": 28, "V": 18, "N": 25},
        "One single element of the upstream gradient is not zero.",
        values=TokenValues.ONE_HOT_UPSTREAM,
    ),
    Case(
        "large_magnitudes",
        {"M": 110, "V": 16, "N": 21},
        "Upstream gradients around 10⁴.",
        values=TokenValues.LARGE,
    ),
    Case(
        "tiny_magnitudes",
        {"M": 95, "V": 13, "N": 34},
        "Upstream gradients around 10⁻⁸, below what float16 can hold.",
        values=TokenValues.TINY,
    ),
)

CASES = _PUBLIC + tuple(replace(case, public=False) for case in _HIDDEN)
