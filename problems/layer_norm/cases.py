"""Layer norm's cases: those of any normalisation, and those about the two means it takes out."""

from __future__ import annotations

from problems.cases import row_wise_cases
from problems.layer_norm.sampling import FAR_FROM_ZERO, SHIFTED_UPSTREAM
from problems.norms import NEAR_EPS, NORM_CASES
from problems.spec import Case

_OWN = (
    Case(
        "shifted_upstream",
        {"M": 20, "N": 96},
        "A constant in every upstream gradient: the row's mean of g is as large as g itself.",
        values=SHIFTED_UPSTREAM,
    ),
    Case(
        "far_from_zero",
        {"M": 12, "N": 160},
        "Rows whose mean is many times their standard deviation: x − mean loses leading digits.",
        values=FAR_FROM_ZERO,
        public=False,
    ),
)

CASES = tuple(
    sorted(
        (*row_wise_cases(inputs=("x",), one_column=NEAR_EPS), *NORM_CASES, *_OWN),
        key=lambda case: not case.public,
    )
)
