"""Problems are found by their packages and called by name."""

from __future__ import annotations

from typing import get_args

import pytest

from problems import UnknownProblem, all_problems, get_problem
from problems.spec import Tier

LAUNCH_SET = {"relu_squared", "rms_norm", "swiglu", "softmax_cross_entropy", "linear"}


def test_the_launch_set_is_there():
    assert {p.slug for p in all_problems()} >= LAUNCH_SET


def test_tiers_come_in_their_order():
    tiers = [p.tier for p in all_problems()]
    order = list(get_args(Tier))
    assert tiers == sorted(tiers, key=order.index)


def test_hyphens_and_underscores_name_the_same_problem():
    assert get_problem("rms-norm") is get_problem("rms_norm")


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UnknownProblem, match=r"no problem 'rms_nrom'; there are .*rms_norm"):
        get_problem("rms_nrom")
