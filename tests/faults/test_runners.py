"""Runners that die, freeze and come back. What they were judging ends with one verdict all the same."""

from __future__ import annotations

import psutil
import pytest

from tests.faults.ledger import Ledger
from tests.faults.site import Site
from tests.serve.site import ROOT, wait_for
from tests.servers import RedisServer
from wire.messages import Phase
from wire.verdict import Verdict

RIGHT = (ROOT / "kernels" / "relu_squared" / "pytorch.py").read_text(encoding="utf-8")
# Right as well, but each call takes long enough to be interrupted.
SLOW = f"""{RIGHT}

import time

_backward = backward


def backward(grad_output, x):
    time.sleep(0.3)
    return _backward(grad_output, x)
"""


def test_every_verdict_is_entered_and_only_the_accepted_ones_stand_on_the_board(
    site: Site, ledger: Ledger
) -> None:
    site.start("first")
    for number, verdict in enumerate(Verdict):
        ledger.post(f"user{number}", verdict)
        ledger.post(f"user{number}")
    ledger.check()


def test_runners_killed_while_compiling_testing_and_timing_cost_an_attempt_and_nothing_else(
    site: Site, ledger: Ledger
) -> None:
    for phase in Phase:
        site.hold(f"in-{phase}", phase)
    site.start(*(f"in-{phase}" for phase in Phase))
    submissions = [ledger.post(f"user{number}") for number in range(len(Phase))]
    seen = wait_for(lambda: ledger.phases(submissions) == set(Phase), "a runner in each phase")
    assert seen
    site.kill_all(*(f"in-{phase}" for phase in Phase))
    site.start("second")
    ledger.check()
    for submission in submissions:
        assert ledger.attempts(submission) == ["lost", "done"]
        assert ledger.headline(submission) == "Found by second."


def test_a_job_that_kills_the_process_it_is_judged_in_costs_an_attempt(
    site: Site, ledger: Ledger
) -> None:
    site.hold("first", Phase.CASES)
    site.start("first")
    submission = ledger.post()
    ledger.wait_for_phase(submission, Phase.CASES)
    judging = [
        p for p in site.tree("first") if psutil.Process(p.pid).ppid() != psutil.Process().pid
    ]
    for process in judging:
        process.kill()
    site.release("first", Phase.CASES)
    ledger.check()
    assert ledger.attempts(submission) == ["lost", "done"]


@pytest.mark.parametrize("second_is_done", [True, False])
def test_a_runner_that_comes_back_after_its_lease_was_given_away_is_not_listened_to(
    site: Site, ledger: Ledger, second_is_done: bool
) -> None:
    site.hold("first", Phase.TIMING)
    site.start("first")
    submission = ledger.post()
    ledger.wait_for_phase(submission, Phase.TIMING)
    site.freeze("first")
    if not second_is_done:
        site.hold("second", Phase.TIMING)
    site.start("second")
    if second_is_done:
        ledger.wait_for_verdicts()
    else:
        wait_for(lambda: ledger.attempts(submission) == ["lost", "running"], "a second attempt")
    before = ledger.everything()
    site.release("first", Phase.TIMING)
    site.thaw("first")
    wait_for(lambda: "judged: accepted" in site.log("first"), "the first runner's verdict")
    wait_for(lambda: "dropped verdict" in site.log("results"), "the end of that verdict")
    if second_is_done:
        assert ledger.everything() == before
    else:
        assert ledger.attempts(submission) == ["lost", "running"]
        site.release("second", Phase.TIMING)
    ledger.check()
    assert ledger.attempts(submission) == ["lost", "done"]
    assert ledger.headline(submission) == "Found by second."


def test_a_busy_runner_leaves_the_next_job_in_the_queue(
    site: Site, ledger: Ledger, redis_server: RedisServer
) -> None:
    site.hold("first", Phase.CASES)
    site.start("first")
    ledger.wait_for_phase(ledger.post("user0"), Phase.CASES)
    ledger.post("user1")
    broker = redis_server.client()
    wait_for(lambda: broker.llen("judge.cpu") == 1, "the second job")
    assert broker.hlen("unacked") == 1
    site.release("first", Phase.CASES)
    ledger.check()


@pytest.mark.sandbox
def test_the_real_judge_killed_over_a_real_kernel_judges_it_again(
    site: Site, ledger: Ledger
) -> None:
    site.start("real-1")
    submission = site.post("user0", SLOW, mode="run")
    ledger.wait_for_phase(submission, Phase.CASES)
    site.kill("real-1")
    site.start("real-2")
    wait_for(lambda: ledger.state(submission)[0] == "done", "the verdict")
    assert ledger.verdict(submission) == Verdict.ACCEPTED
    assert ledger.attempts(submission) == ["lost", "done"]
