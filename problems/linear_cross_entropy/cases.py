"""The cases of the fused loss: what is ignored, how sure the model is, how the matrices lie."""

from __future__ import annotations

from dataclasses import replace

from problems.layouts import Layout
from problems.linear_cross_entropy.sampling import LossValues
from problems.spec import Case


def _case(
    name: str,
    sizes: tuple[int, int, int],
    why: str,
    values: str = LossValues.NORMAL,
    layouts: dict[str, Layout] | None = None,
) -> Case:
    """`sizes`: M tokens, V classes, K features."""
    return Case(name, dict(zip("MVK", sizes, strict=True)), why, values, layouts or {})


_PUBLIC = (
    _case("power_of_two", (16, 128, 64), "Sizes that fill blocks exactly."),
    _case(
        "odd_sizes", (17, 257, 33), "No size is a multiple of a block, so all three need a mask."
    ),
    _case("one_element", (1, 1, 1), "One class is certain, so both gradients are zero."),
    _case(
        "wide_vocabulary",
        (6, 9001, 20),
        "Many blocks of classes, the last one partly filled: dhidden sums over all of them.",
    ),
    _case(
        "many_rows",
        (300, 40, 24),
        "More tokens than a block holds: dweight sums over all of them.",
    ),
    _case(
        "ignored_rows",
        (40, 100, 30),
        "Some targets are -100: they add nothing to dweight and do not count in the mean.",
        values=LossValues.IGNORED_ROWS,
    ),
    _case(
        "all_ignored",
        (4, 50, 16),
        "Every target is -100: the gradients are zero, not 0 / 0.",
        values=LossValues.ALL_IGNORED,
    ),
    _case(
        "confident",
        (24, 500, 48),
        "The target's probability is near 1, so p − 1 is a small difference.",
        values=LossValues.CONFIDENT,
    ),
    _case(
        "both_sliced",
        (21, 61, 37),
        "hidden and weight are slices of wider buffers.",
        layouts={"hidden": Layout.SLICED, "weight": Layout.SLICED},
    ),
)

_HIDDEN = (
    _case("one_row", (1, 1000, 40), "A single token: dweight is an outer product."),
    _case("two_classes", (33, 2, 25), "The smallest choice there is."),
    _case("one_feature", (45, 60, 1), "A single feature: logits are an outer product."),
    _case("wide_hidden", (19, 90, 300), "Logits and both gradients have many blocks of features."),
    _case(
        "frequent_class",
        (500, 130, 18),
        "Most targets are one class, so a row of dweight is a long sum of like terms.",
        values=LossValues.FREQUENT_CLASS,
    ),
    _case(
        "many_ignored_rows",
        (270, 66, 20),
        "Ignored rows in every block of rows.",
        values=LossValues.IGNORED_ROWS,
    ),
    _case(
        "first_row_ignored",
        (11, 64, 35),
        "The first target is -100, the others are not.",
        values=LossValues.FIRST_ROW_IGNORED,
    ),
    _case(
        "target_at_the_end",
        (14, 129, 28),
        "Every target is the last class, beyond the last full block.",
        values=LossValues.LAST_CLASS,
    ),
    _case(
        "large_offset",
        (20, 96, 31),
        "Logits around ±1000: exp of a logit overflows, exp of logit − lse does not.",
        values=LossValues.LARGE_OFFSET,
    ),
    _case(
        "zero_upstream",
        (9, 33, 12),
        "A zero upstream gradient gives zero gradients, exactly.",
        values=LossValues.ZERO_UPSTREAM,
    ),
    _case(
        "large_upstream",
        (12, 75, 26),
        "An upstream gradient around 10⁴, as loss scaling makes it.",
        values=LossValues.LARGE_UPSTREAM,
    ),
    _case(
        "tiny_upstream",
        (13, 110, 22),
        "An upstream gradient around 10⁻⁸.",
        values=LossValues.TINY_UPSTREAM,
    ),
    _case(
        "hidden_transposed",
        (27, 45, 32),
        "hidden lies transposed in memory, weight does not.",
        layouts={"hidden": Layout.TRANSPOSED},
    ),
    _case(
        "weight_transposed",
        (18, 52, 38),
        "weight lies transposed in memory, hidden does not.",
        layouts={"weight": Layout.TRANSPOSED},
    ),
    _case(
        "sliced_and_ignored",
        (31, 131, 27),
        "Slices of wider buffers, with ignored rows among the tokens.",
        values=LossValues.IGNORED_ROWS,
        layouts={"hidden": Layout.SLICED, "weight": Layout.SLICED},
    ),
)

CASES = _PUBLIC + tuple(replace(case, public=False) for case in _HIDDEN)
