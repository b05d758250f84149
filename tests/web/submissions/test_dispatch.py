"""What is sent to runners and when: a window of jobs for each hardware, fair to everybody."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tests.web.samples import active_attempt, event, make_submission, verdict_event
from web.accounts.models import User
from web.celery import app
from web.runners.models import Runner
from web.submissions.dispatch import send_all, send_next
from web.submissions.events import record_event
from web.submissions.models import Attempt, Submission
from web.submissions.queries import LAST_PLACE, queue_place
from web.submissions.sweeper import sweep
from web.submissions.waiting import ON_THE_WAY, WAITING, line_for, window

Jobs = Callable[[], list[dict[str, Any]]]
Commits = Callable[[], Any]


def runners(number: int, *hardware: str) -> None:
    now = timezone.now()
    for index in range(number):
        Runner.objects.create(
            name=f"r{index}", hardware=list(hardware), first_heard=now, last_heard=now
        )


def judge_next(commits: Commits) -> User | None:
    """The job that was sent first gets its verdict; whose it was."""
    attempt = Attempt.objects.filter(ON_THE_WAY).order_by("dispatched_at", "pk").first()
    assert attempt
    record_event(event(attempt, "started", 0))
    with commits():
        record_event(verdict_event(attempt.submission))
    return attempt.submission.user


def test_the_window_is_one_for_each_live_runner_and_one_to_spare(db: None) -> None:
    assert window("cpu") == 2
    runners(3, "cpu", "interpreter")
    assert window("cpu") == window("interpreter") == 4
    Runner.objects.filter(name="r0").update(leaving=True)
    Runner.objects.filter(name="r1").update(last_heard=timezone.now() - timedelta(seconds=31))
    assert window("cpu") == 2


def test_no_more_than_the_window_is_sent_and_the_oldest_first(
    alice: User, commits: Commits, sent_jobs: Jobs
) -> None:
    with commits():
        made = [make_submission(alice) for _ in range(5)]
    assert [job["source"] for job in sent_jobs()] == [s.source for s in made[:2]]
    assert Attempt.objects.filter(WAITING).count() == 3


def test_each_verdict_lets_the_next_job_out(alice: User, commits: Commits, sent_jobs: Jobs) -> None:
    with commits():
        made = [make_submission(alice) for _ in range(4)]
    sent_jobs()
    for number in (2, 3):
        judge_next(commits)
        assert [job["source"] for job in sent_jobs()] == [made[number].source]
    judge_next(commits)
    assert sent_jobs() == []


def test_kinds_of_hardware_do_not_wait_for_each_other(
    alice: User, bob: User, commits: Commits, sent_jobs: Jobs
) -> None:
    with commits():
        for _ in range(5):
            make_submission(alice)
    sent_jobs()
    with commits():
        make_submission(bob, language="triton")
    assert [job["hardware"] for job in sent_jobs()] == ["interpreter"]


def test_five_hundred_submissions_of_one_do_not_delay_anothers_first(
    alice: User, bob: User, commits: Commits
) -> None:
    with commits():
        for _ in range(500):
            make_submission(alice)
    with commits():
        bobs = make_submission(bob)
    assert queue_place(bobs) == 3
    judge_next(commits)
    assert queue_place(bobs) == 2
    assert active_attempt(bobs).dispatched_at
    judge_next(commits)
    assert judge_next(commits) == bob


def test_visitors_have_lines_of_their_own(alice: User, commits: Commits) -> None:
    with commits():
        for _ in range(6):
            make_submission(visitor="v1")
        make_submission(visitor="v2")
        make_submission(alice)
    owners = [judge_next(commits) for _ in range(4)]
    assert alice in owners
    assert Submission.objects.get(visitor="v2").state == "done"


def test_a_lost_attempt_frees_its_place_and_goes_first_among_its_persons(
    alice: User, commits: Commits, sent_jobs: Jobs
) -> None:
    with commits():
        made = [make_submission(alice) for _ in range(4)]
    sent_jobs()
    record_event(event(active_attempt(made[0]), "started", 0))
    Attempt.objects.filter(state="running").update(lease_until=timezone.now())
    with commits():
        sweep()
    assert [job["source"] for job in sent_jobs()] == [made[0].source]
    assert Attempt.objects.filter(ON_THE_WAY).count() == 2


def test_a_job_the_broker_lost_is_sent_again_and_keeps_no_other_from_going(
    alice: User, commits: Commits, sent_jobs: Jobs
) -> None:
    with commits():
        made = [make_submission(alice) for _ in range(3)]
    sent_jobs()  # the broker forgets both
    Attempt.objects.update(dispatched_at=timezone.now() - timedelta(seconds=60))
    Attempt.objects.filter(submission=made[2]).update(dispatched_at=None)
    sweep()
    assert {job["source"] for job in sent_jobs()} == {s.source for s in made[:2]}
    for _ in range(3):
        judge_next(commits)
    assert not Submission.objects.exclude(state="done").exists()


def test_what_the_broker_refuses_waits_on_in_its_old_place(
    alice: User, bob: User, commits: Commits, sent_jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(app, "send_task", _refuse)
        with commits():
            first = make_submission(alice)
            make_submission(bob)
        assert not Attempt.objects.exclude(dispatched_at=None, dispatches=0).exists()
    assert queue_place(first) == 1
    send_all()
    assert next(job["source"] for job in sent_jobs()) == first.source


def _refuse(*_args: Any, **_options: Any) -> None:
    raise ConnectionRefusedError


def test_a_broker_that_goes_away_midway_loses_nothing(
    alice: User, sent_jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runners(4, "cpu")
    for _ in range(4):
        make_submission(alice)
    send, calls = app.send_task, []

    def twice(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return send(*args, **options) if len(calls) <= 2 else _refuse()

    with monkeypatch.context() as patch:
        patch.setattr(app, "send_task", twice)
        assert send_next("cpu") == 2
    assert Attempt.objects.filter(WAITING, dispatches=0).count() == 2
    assert send_next("cpu") == 2
    assert len({job["attempt"] for job in sent_jobs()}) == 4


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_the_window_holds_and_everybody_is_judged(
    alice: User, bob: User, commits: Commits, seed: int
) -> None:
    """Two people post, jobs end, are lost or go silent, in any order."""
    chance = random.Random(seed)
    runners(chance.randint(0, 3), "cpu")
    room = window("cpu")
    for _ in range(25):
        with commits():
            act = chance.choice(["alice", "alice", "alice", "bob", "end", "end", "lose", "sweep"])
            if act in ("alice", "bob"):
                make_submission(alice if act == "alice" else bob)
            elif act == "end" and Attempt.objects.filter(ON_THE_WAY).exists():
                judge_next(commits)
            elif act == "lose":
                lost = Attempt.objects.filter(ON_THE_WAY, number=1).first()
                if lost:
                    record_event(event(lost, "started", 0))
                    Attempt.objects.filter(pk=lost.pk, state="running").update(
                        lease_until=timezone.now()
                    )
                    sweep()
            else:
                sweep()
        on_the_way = Attempt.objects.filter(ON_THE_WAY).count()
        assert on_the_way <= room
        assert on_the_way == room or not Attempt.objects.filter(WAITING).exists()
    while Attempt.objects.filter(ON_THE_WAY).exists():
        judge_next(commits)
    assert not Submission.objects.exclude(state="done").exists()


def test_the_places_told_are_those_that_come(alice: User, bob: User, commits: Commits) -> None:
    with commits():
        for number in range(9):
            make_submission(bob if number in (4, 7) else alice)
    told = {s.pk: queue_place(s) for s in Submission.objects.all()}
    came: dict[Any, int] = {}
    while Attempt.objects.filter(ON_THE_WAY).exists():
        judge_next(commits)
        for submission in Submission.objects.filter(state="done"):
            came.setdefault(submission.pk, len(came) + 1)
    assert told == came


def test_a_far_place_is_told_as_at_least_so_far(alice: User, commits: Commits) -> None:
    with commits():
        for _ in range(LAST_PLACE + 5):
            make_submission(alice)
    assert queue_place(Submission.objects.order_by("created_at").last()) == LAST_PLACE  # type: ignore[arg-type]  # it exists, or the test fails


def test_the_line_is_read_in_a_fixed_number_of_queries(
    alice: User, bob: User, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        make_submission(bob if number % 3 else alice)
    with django_assert_max_num_queries(3):
        assert len(line_for("cpu")) == 0


@pytest.mark.django_db(transaction=True)
def test_processes_that_choose_at_the_same_moment_send_each_job_once(sent_jobs: Jobs) -> None:
    alice = User.objects.create_user("alice")
    for _ in range(8):
        make_submission(alice)
    sent_jobs()
    Attempt.objects.update(dispatched_at=None, dispatches=0)
    barrier = threading.Barrier(4)

    def choose() -> None:
        try:
            barrier.wait(timeout=30)
            send_next("cpu")
        finally:
            connection.close()

    threads = [threading.Thread(target=choose) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    jobs = [job["attempt"] for job in sent_jobs()]
    assert len(jobs) == len(set(jobs)) == window("cpu")
