"""The cases of a causal convolution: those of every sequence, and its own widths and gates."""

from __future__ import annotations

from problems.layouts import Layout
from problems.sequences import sequence_cases
from problems.spec import Case

SATURATED = "saturated"
CANCELLING = "cancelling"

_SHARED, _SHARED_HIDDEN = sequence_cases(("x",), {"W": (1, 3, 4)})

CASES = (
    *_SHARED,
    Case(
        "two_taps",
        {"B": 2, "T": 20, "D": 36, "W": 2},
        "A width of 2: x[t] and x[t − 1] alone.",
    ),
    *_SHARED_HIDDEN,
    Case(
        "one_tap",
        {"B": 2, "T": 33, "D": 22, "W": 1},
        "A width of 1: no past at all, a product with SiLU.",
        public=False,
    ),
    Case(
        "odd_chunks",
        {"B": 2, "T": 129, "D": 14, "W": 3},
        "Three taps over several blocks of steps, the last one partly filled.",
        public=False,
    ),
    Case(
        "weight_transposed",
        {"B": 2, "T": 24, "D": 29, "W": 4},
        "The taps lie in memory tap by tap, not channel by channel.",
        layouts={"weight": Layout.TRANSPOSED},
        public=False,
    ),
    Case(
        "saturated_gates",
        {"B": 2, "T": 26, "D": 23, "W": 4},
        "A bias of ±30: SiLU is flat or straight, and exp of the wrong sign overflows.",
        values=SATURATED,
        public=False,
    ),
    Case(
        "cancelling_batch",
        {"B": 4, "T": 80, "D": 13, "W": 4},
        "The second half of the sequences takes back most of what the first half added to dweight.",
        values=CANCELLING,
        public=False,
    ),
)
