"""The cases of a linear scan: those of every sequence, and decays of its own."""

from __future__ import annotations

from dataclasses import replace

from problems.layouts import Layout
from problems.linear_scan.sampling import ScanValues
from problems.sequences import sequence_cases
from problems.spec import Case

_SHARED, _SHARED_HIDDEN = sequence_cases(("a", "h"))

_HIDDEN = (
    Case(
        "strong_decay",
        {"B": 2, "T": 100, "D": 17},
        "Decays near 10⁻³: products of them underflow to zero, and dividing by such a product fails.",
        values=ScanValues.STRONG_DECAY,
    ),
    Case(
        "long_memory",
        {"B": 1, "T": 192, "D": 15},
        "Decays above 0.9999: every step reaches every other, and bfloat16 knows such a decay as 1.",
        values=ScanValues.LONG_MEMORY,
    ),
    Case(
        "alternating",
        {"B": 3, "T": 44, "D": 12},
        "Decays of both signs: a logarithm of them does not exist.",
        values=ScanValues.ALTERNATING,
    ),
    Case(
        "resets_and_slices",
        {"B": 2, "T": 76, "D": 27},
        "Resets in sequences that are slices of wider buffers.",
        values=ScanValues.RESETS,
        layouts=dict.fromkeys(("grad_output", "a", "h"), Layout.SLICED),
    ),
)

CASES = (
    *_SHARED,
    Case(
        "resets",
        {"B": 2, "T": 70, "D": 20},
        "Some decays are exactly zero, as where a new document begins: nothing passes there.",
        values=ScanValues.RESETS,
    ),
    *_SHARED_HIDDEN,
    *(replace(case, public=False) for case in _HIDDEN),
)
