"""The cases of softmax cross-entropy: what is ignored, how sure the model is, how logits lie."""

from __future__ import annotations

from dataclasses import replace

from problems.layouts import Layout
from problems.softmax_cross_entropy.sampling import LossValues
from problems.spec import Case

PUBLIC = (
    Case("power_of_two", {"M": 8, "V": 128}, "Sizes that fill blocks exactly."),
    Case(
        "odd_sizes",
        {"M": 17, "V": 257},
        "Neither size is a multiple of a block, so the last block needs a mask.",
    ),
    Case("one_class", {"M": 1, "V": 1}, "One class is certain, so its gradient is zero."),
    Case(
        "wide_vocabulary",
        {"M": 3, "V": 9001},
        "More classes than one block holds.",
    ),
    Case(
        "ignored_rows",
        {"M": 16, "V": 100},
        "Some targets are -100: their rows get zero and do not count in the mean.",
        values=LossValues.IGNORED_ROWS,
    ),
    Case(
        "all_ignored",
        {"M": 4, "V": 50},
        "Every target is -100: the gradient is zero, not 0 / 0.",
        values=LossValues.ALL_IGNORED,
    ),
    Case(
        "confident",
        {"M": 12, "V": 1000},
        "The target's probability is near 1, so p − 1 is a small difference.",
        values=LossValues.CONFIDENT,
    ),
    Case(
        "logits_sliced",
        {"M": 9, "V": 70},
        "The logits are a slice of a wider buffer, as a padded vocabulary makes them.",
        layouts={"logits": Layout.SLICED},
    ),
)

_HIDDEN = (
    Case("one_row", {"M": 1, "V": 1000}, "A single token: the mean is over one row."),
    Case("two_classes", {"M": 33, "V": 2}, "The smallest choice there is."),
    Case("many_rows", {"M": 300, "V": 40}, "More rows than one block of rows holds."),
    Case(
        "zero_upstream",
        {"M": 3, "V": 33},
        "A zero upstream gradient gives a zero gradient, exactly.",
        values=LossValues.ZERO_UPSTREAM,
    ),
    Case(
        "large_upstream",
        {"M": 12, "V": 75},
        "An upstream gradient around 10⁴, as loss scaling makes it.",
        values=LossValues.LARGE_UPSTREAM,
    ),
    Case(
        "tiny_upstream",
        {"M": 7, "V": 130},
        "An upstream gradient around 10⁻⁸.",
        values=LossValues.TINY_UPSTREAM,
    ),
    Case(
        "first_row_ignored",
        {"M": 11, "V": 64},
        "The first target is -100, the others are not.",
        values=LossValues.FIRST_ROW_IGNORED,
    ),
    Case(
        "target_at_the_end",
        {"M": 14, "V": 129},
        "Every target is the last class, beyond the last full block.",
        values=LossValues.LAST_CLASS,
    ),
    Case(
        "large_offset",
        {"M": 10, "V": 96},
        "Logits around ±10⁴: exp of a logit overflows, exp of logit − lse does not.",
        values=LossValues.LARGE_OFFSET,
    ),
    Case(
        "ties",
        {"M": 13, "V": 66},
        "Logits with many equal values.",
        values=LossValues.TIES,
    ),
    Case(
        "constant_rows",
        {"M": 10, "V": 36},
        "All logits of a row are equal, so all classes are equally likely.",
        values=LossValues.CONSTANT_ROWS,
    ),
    Case(
        "logits_transposed",
        {"M": 21, "V": 45},
        "The logits lie transposed in memory.",
        layouts={"logits": Layout.TRANSPOSED},
    ),
    Case(
        "sliced_and_ignored",
        {"M": 27, "V": 131},
        "A slice of a wider buffer with ignored rows in it.",
        values=LossValues.IGNORED_ROWS,
        layouts={"logits": Layout.SLICED},
    ),
)

CASES = PUBLIC + tuple(replace(case, public=False) for case in _HIDDEN)
