"""Adding to a buffer, judged: the buffer is what counts, and what was done wrong with it is said."""

import pytest

from problems import Language, get_problem
from runner.hardware import HARDWARE, hardware_for
from runner.judge import Request, judge
from runner.pool import WarmPool
from runner.sanitizing import telling
from sandbox.choose import best_sandbox
from wire.verdict import Verdict

pytestmark = pytest.mark.sandbox

LINEAR = get_problem("linear")
SOURCE = """
def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx, dbias = (dy @ weight.float()).to(x.dtype), dy.sum(dim=0)
    dweight = dy.T @ x.float()
    if dweight_buffer is not None:
        {}
    return dx, dweight, dbias
"""
WRONG = {
    "new memory, nothing added": ("pass", "nothing was added"),
    "added, but in new memory": (
        "dweight = dweight_buffer + dweight",
        "return that very tensor",
    ),
    "added, and a copy returned": (
        "dweight_buffer += dweight; dweight = dweight_buffer.clone()",
        "return that very tensor",
    ),
    "another argument changed": (
        "dweight = dweight_buffer.add_(dweight); weight.zero_()",
        "changed its argument weight",
    ),
    "overwritten": ("dweight = dweight_buffer.copy_(dweight)", "was overwritten, not added to"),
    "added twice": ("dweight = dweight_buffer.add_(dweight, alpha=2)", "twice"),
    "returned as it came": ("dweight = dweight_buffer", "the buffer was ignored"),
    "subtracted": ("dweight = dweight_buffer.sub_(dweight)", "wrong sign"),
}


@pytest.fixture(scope="module")
def sessions():
    with WarmPool(best_sandbox(), [HARDWARE["cpu"]]) as pool:
        yield pool


def judged(sessions, line):
    source = SOURCE.format(line)
    hardware = hardware_for(Language.PYTORCH)
    request = Request(LINEAR, Language.PYTORCH, hardware, "run", source)
    return judge(request, sessions, lambda *_: None)


def test_adding_in_place_is_accepted(sessions):
    report = judged(sessions, "dweight = dweight_buffer.add_(dweight)")
    assert report.verdict is Verdict.ACCEPTED, report.headline


def test_a_view_of_the_buffer_is_the_buffer(sessions):
    report = judged(sessions, "dweight = dweight_buffer.add_(dweight).view(dweight.shape)")
    assert report.verdict is Verdict.ACCEPTED, report.headline


@pytest.mark.parametrize(("line", "said"), WRONG.values(), ids=WRONG)
def test_what_was_done_wrong_with_a_buffer_is_said(sessions, line, said):
    report = judged(sessions, line)
    assert report.verdict in {Verdict.INVALID_OUTPUT, Verdict.WRONG_GRADIENT}
    assert said in f"{report.headline} {report.diagnosis}"
    failed = {c.name for c in report.cases if not c.passed}
    assert failed == {"adds_to_buffer"}


def test_a_case_that_adds_to_a_buffer_is_among_those_watched():
    assert any(case.accumulate for case in telling(LINEAR.cases))
