"""Softmax's cases: those of any row-wise problem, and those about probabilities."""

from __future__ import annotations

from dataclasses import replace

from problems.cases import row_wise_cases
from problems.softmax.sampling import CONFIDENT, MASKED, SHIFTED_UPSTREAM
from problems.spec import Case

# The values themselves are bounded here, so these cases are about something else.
_WHY = {
    "one_element": "One element: its probability is 1 whatever x is, so the gradient is 0.",
    "one_column": "Rows of one element: the probability is always 1, so the gradient is 0.",
    "large_magnitudes": "Upstream gradients around 10⁴ on rows with a few likely elements.",
    "tiny_magnitudes": "Upstream gradients around 10⁻⁸, as an unscaled mean loss makes them.",
    "ties": "Many elements of a row are equally likely.",
    "constant_rows": "Every element of a row is equally likely.",
}

_ROW_WISE = tuple(
    replace(case, why=_WHY.get(case.name, case.why)) for case in row_wise_cases(inputs=("y",))
)

_OWN = (
    Case(
        "shifted_upstream",
        {"M": 8, "N": 200},
        "A constant in every upstream gradient, which must cancel: the row's sum needs all its bits.",
        values=SHIFTED_UPSTREAM,
    ),
    Case(
        "confident",
        {"M": 14, "N": 150},
        "One element of each row has nearly all of the probability, so its gradient cancels.",
        values=CONFIDENT,
        public=False,
    ),
    Case(
        "masked",
        {"M": 40, "N": 40},
        "A causal mask: probabilities that are exactly 0 get gradients that are exactly 0.",
        values=MASKED,
        public=False,
    ),
    Case(
        "very_wide_rows",
        {"M": 2, "N": 20000},
        "Rows longer than a block of any usual kernel, as over a vocabulary.",
        public=False,
    ),
)

CASES = tuple(sorted((*_ROW_WISE, *_OWN), key=lambda case: not case.public))
