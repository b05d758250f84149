"""Every attack against an ordinary user's judge, whose jobs below Landlock run as that user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import landlock_kernel
from sandbox.landlock import LandlockSandbox
from tests.attacks.sandbox.test_attacks import PROGRAMS, Host, attack_job, expectation, held
from tests.attacks.sandbox.test_attacks import host as host
from tests.sandbox.ordinary_user import OrdinaryUser
from tests.sandbox.support import python_job

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    missing = landlock_kernel.why_not()
    if missing:
        pytest.skip(missing)
    with OrdinaryUser() as started:
        yield started


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_an_attack_fails_and_the_next_honest_job_runs(
    user: OrdinaryUser, program: Path, host: Host
):
    outcome = user.run(attack_job(program, host))
    assert held(outcome, expectation(program, LandlockSandbox())), outcome
    assert host.untouched()
    assert user.judge.poll() is None
    assert user.run(python_job("print('honest')")).output == "honest\n"
