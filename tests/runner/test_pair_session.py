"""Pairs: two processes, of which the second has what was saved and nothing else; every end a verdict."""

from pathlib import Path

import pytest
import torch

from problems import Language, get_problem
from problems.pairs import bytes_of, inputs_of, most_saved, plainly_saved, whole
from runner.hardware import HARDWARE, hardware_for
from runner.judge import Request, judge
from runner.pair_session import PairSession
from runner.pool import WarmPool, baseline_source, taken, taken_baseline
from sandbox.choose import best_sandbox
from wire.verdict import Verdict

pytestmark = pytest.mark.sandbox
PROBLEM = get_problem("rms_norm_pair")
assert PROBLEM.pair is not None
PAIR = PROBLEM.pair
CPU = hardware_for(Language.PYTORCH)
SOURCE = (Path(__file__).parents[2] / "kernels/rms_norm_pair/pytorch.py").read_text()
COUNTED = """

plain_forward, calls = forward, []


def forward(x, weight):
    calls.append(1)
    y, saved = plain_forward(x, weight)
    return y, (*saved, torch.tensor([len(calls), 0]), torch.ones(1).expand(4, 2))


def backward(grad_output, saved, weight, plain_backward=backward):
    assert not calls
    x, count, ones = saved
    assert ones.is_contiguous() and bool((ones == 1).all())
    dx, dweight = plain_backward(grad_output, (x,), weight)
    return dx, dweight + 1000 * int(count[0])
"""


@pytest.fixture(scope="module")
def sessions():
    with WarmPool(best_sandbox(), HARDWARE.values()) as pool:
        yield pool


def test_backward_gets_the_bytes_that_forward_saved_and_none_of_its_state(sessions):
    case = next(c for c in PROBLEM.cases if c.name == "inputs_sliced")
    arguments = PROBLEM.make_arguments(case, 1)
    expected = PROBLEM.baseline(**arguments)[1]
    with taken(sessions, CPU, PROBLEM) as session:
        session.load(PROBLEM, SOURCE + COUNTED)
        session.prepare(arguments, case.dims)
        first = session.call()
        session.check_unmodified()
        assert first.saved is not None
        assert first.forward is not None
        upstream = {"grad_output": 2 * arguments["grad_output"]}
        second = session.call_under(arguments | upstream, case.dims)
        new = session.call_under(PROBLEM.make_arguments(case, 2), case.dims)
    torch.testing.assert_close(first.gradients[1], expected + 1000)
    assert new.saved is not None
    # With what was saved before, forward ran no second time; on other inputs it did.
    torch.testing.assert_close(second.gradients[1], 2 * expected + 1000)
    assert int(new.saved[1][0]) == 2
    assert [(t.dtype, tuple(t.shape)) for t in first.saved] == [
        (torch.bfloat16, tuple(arguments["x"].shape)),
        (torch.int64, (2,)),
        (torch.float32, (4, 2)),
    ]
    assert torch.equal(first.saved[0], arguments["x"])
    assert 0 < first.forward.reported < first.reported
    assert 0 < first.forward.wall < first.wall


def test_a_baseline_is_one_process_and_knows_what_handing_over_costs(sessions):
    case = PROBLEM.cases[1]
    arguments = PROBLEM.make_arguments(case, 1)
    with taken_baseline(sessions, CPU, PROBLEM) as session:
        session.load_baseline(PROBLEM, baseline_source(PROBLEM))
        session.prepare(arguments, case.dims)
        returned = session.call()
        assert isinstance(session, PairSession)
        seconds = session.seconds_to_hand_over(returned)
    assert returned.forward is not None
    plain = PAIR.forward(**inputs_of(PROBLEM, arguments))
    assert torch.equal(returned.forward.gradients[0], plain[0])
    assert bytes_of(returned.saved or ()) == bytes_of(plain[1])
    assert bytes_of(plain[1]) == bytes_of(plainly_saved(PROBLEM, case.dims))
    assert bytes_of(plain[1]) < most_saved(PROBLEM, case.dims)
    assert all(map(torch.equal, returned.gradients, PROBLEM.baseline(**arguments)))
    assert seconds > 0


def test_two_functions_are_one_from_arguments_to_gradients():
    arguments = PROBLEM.make_arguments(PROBLEM.cases[0], 3)
    joined = whole(PROBLEM, PAIR.forward, PAIR.backward)(**arguments)
    assert all(map(torch.equal, joined, PROBLEM.baseline(**arguments)))


def judged(sessions, source):
    request = Request(PROBLEM, Language.PYTORCH, CPU, "run", source)
    return judge(request, sessions, lambda *_: None)


BAD = {
    "y, (x": ("y[:-1], (x", "y has shape"),
    "    return dx, ": ("    x.zero_()\n    return dx, ", "changed its argument saved[0]"),
}


@pytest.mark.parametrize("part", BAD, ids=[told for _, told in BAD.values()])
def test_what_is_wrong_about_a_half_is_told(sessions, part):
    bad, told = BAD[part]
    assert part in SOURCE
    report = judged(sessions, SOURCE.replace(part, bad, 1))
    assert report.verdict is Verdict.INVALID_OUTPUT, report.headline
    assert told in report.headline


def test_a_wrong_output_is_said_to_be_wrong_and_the_gradients_right(sessions):
    report = judged(sessions, SOURCE.replace(".mul_(w)", ".mul_(w + 0.01)", 1))
    assert report.verdict is Verdict.WRONG_OUTPUT, report.headline
    assert "y is wrong" in report.headline
    assert "dx and dweight are right there" in report.headline
