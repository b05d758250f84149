"""Warm sessions: used once, replaced when old or dead, gone at the end."""

import os
import time
from pathlib import Path

import psutil
import pytest

import problems
from problems import Language, get_problem
from runner import pool as pool_module
from runner.hardware import hardware_for
from runner.pool import ColdSessions, WarmPool, baseline_source
from sandbox.choose import best_sandbox

pytestmark = pytest.mark.sandbox
CPU = hardware_for(Language.PYTORCH)
PROBLEM = get_problem("relu_squared")
SOURCE = "def backward(grad_output, x):\n    return 2 * grad_output * x.relu()\n"


@pytest.fixture(scope="module")
def sandbox():
    return best_sandbox()


def works(session):
    case = PROBLEM.cases[0]
    session.load(PROBLEM, SOURCE)
    session.prepare(PROBLEM.make_arguments(case, 0), case.dims)
    return len(session.call().gradients) == 1


def _printed(session, words):
    """Whether the session prints `words`; what is printed comes by another way than answers do."""
    deadline = time.monotonic() + 30
    while words not in session.printed() and time.monotonic() < deadline:
        time.sleep(0.05)
    return words in session.printed()


def descendants():
    return {p.pid for p in psutil.Process(os.getpid()).children(recursive=True)}


def test_every_job_gets_a_session_of_its_own(sandbox):
    with WarmPool(sandbox, [CPU]) as pool:
        for _ in range(2):  # the second time after the pool was filled again
            with pool.take(CPU) as first, pool.take(CPU) as second:
                assert second is not first
                assert works(first)
                assert works(second)
            pool.refill()


def test_a_pair_finds_two_that_wait(sandbox):
    with WarmPool(sandbox, [CPU]) as pool:
        for _ in range(2):
            pool.refill()
            pool.settle()
            waiting = {future.result().session for future in pool._all_waiting()}
            with pool.take(CPU) as first, pool.take(CPU) as second:
                assert waiting > {first, second}


def test_leaving_the_pool_leaves_no_process(sandbox):
    before = descendants()
    with WarmPool(sandbox, [CPU]) as pool:
        pool.settle()
        waiting = descendants()
        assert waiting > before
        pool.refill()
        pool.settle()
        assert descendants() == waiting
    assert descendants() == before


def test_a_session_that_died_while_waiting_is_replaced(sandbox):
    with WarmPool(sandbox, [CPU]) as pool:
        pool.settle()
        for waiting in pool._all_waiting():
            waiting.result().session._conversation._running.kill()
        with pool.take(CPU) as session:
            assert works(session)


def test_a_session_that_waited_too_long_is_replaced(sandbox, monkeypatch):
    with WarmPool(sandbox, [CPU]) as pool:
        pool.settle()
        old = pool._all_waiting()[0].result().session
        monkeypatch.setattr(pool_module, "LONGEST_WAIT", -1.0)
        with pool.take(CPU) as session:
            assert session is not old
            assert works(session)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
def test_a_baseline_session_runs_the_plain_backward_and_others_do_not_see_problems(sandbox, warm):
    sessions = WarmPool(sandbox, [CPU]) if warm else ColdSessions(sandbox)
    case = PROBLEM.cases[1]
    arguments = PROBLEM.make_arguments(case, 1)
    with sessions.take_baseline(CPU) as session:
        session.load(PROBLEM, baseline_source(PROBLEM))
        session.prepare(arguments, case.dims)
        (dx,) = session.call().gradients
    assert dx.equal(PROBLEM.baseline(**arguments)[0])
    spy = (
        "import os\n\ntry:\n    os.listdir(" + repr(str(Path(problems.__file__).parent)) + ")\n"
        "except OSError:\n    print('nothing to see')\n" + SOURCE
    )
    with sessions.take(CPU) as session:
        session.load(PROBLEM, spy)
        assert _printed(session, "nothing to see")
    if isinstance(sessions, WarmPool):
        sessions.__exit__(None, None, None)


def test_nothing_is_timed_while_a_session_is_still_being_ended(sandbox):
    with WarmPool(sandbox, [CPU]) as pool:
        pool.settle()
        waiting = descendants()
        with pool.take(CPU):
            pass
        pool.settle()
        assert descendants() < waiting


def test_a_session_that_cannot_be_ended_does_not_keep_the_next_from_it(sandbox, caplog):
    def fail():
        raise OSError("no such container")

    with WarmPool(sandbox, [CPU]) as pool:
        pool._end_later(fail)
        with pool.take(CPU) as session:
            assert works(session)
        pool.settle()
    assert "could not be ended" in caplog.text
