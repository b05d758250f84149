"""What the tests of problems are parametrised over: every problem, every case, whoever adds them."""

from __future__ import annotations

import pytest

from problems import Problem, all_problems
from problems.spec import Case

PROBLEMS = all_problems()


def _ids(pair: tuple[Problem, Case]) -> str:
    return f"{pair[0].slug}-{pair[1].name}"


PAIRS = [(problem, case) for problem in PROBLEMS for case in problem.cases]

each_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=[p.slug for p in PROBLEMS])
each_case = pytest.mark.parametrize(("problem", "case"), PAIRS, ids=[_ids(p) for p in PAIRS])
