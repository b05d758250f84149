"""Events from runners: in order, doubled, late, out of order, damaged."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tests.web.samples import (
    active_attempt,
    event,
    make_submission,
    report_for,
    verdict_event,
)
from web.accounts.models import User
from web.boards.models import Standing
from web.submissions.events import record_event
from web.submissions.lifecycle import LONGEST_RUN
from web.submissions.models import Attempt, Submission
from wire.pace import LEASE_SECONDS
from wire.verdict import Verdict


@pytest.fixture
def submission(alice: User) -> Submission:
    return make_submission(alice)


@pytest.fixture
def attempt(submission: Submission) -> Attempt:
    return active_attempt(submission)


def everything() -> list[Any]:
    """All rows, to see that nothing changed."""
    return [
        list(model.objects.order_by("pk").values()) for model in (Submission, Attempt, Standing)
    ]


def test_a_started_attempt_runs_under_a_lease(submission: Submission, attempt: Attempt) -> None:
    before = timezone.now()
    assert record_event(event(attempt, "started", 0, {"runner": "gpu-7"}))
    attempt.refresh_from_db()
    submission.refresh_from_db()
    assert (attempt.state, attempt.runner, submission.state) == ("running", "gpu-7", "running")
    assert attempt.lease_until is not None
    left = attempt.lease_until - before
    assert timedelta(seconds=LEASE_SECONDS) <= left < timedelta(seconds=LEASE_SECONDS + 10)


def test_progress_is_stored(submission: Submission, attempt: Attempt) -> None:
    record_event(event(attempt, "started", 0))
    record_event(event(attempt, "progress", 1, {"phase": "cases", "done": 3, "total": 12}))
    submission.refresh_from_db()
    shown = (submission.phase, submission.phase_done, submission.phase_total)
    assert shown == ("cases", 3, 12)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"phase": "lunch", "done": 1, "total": 2},
        {"phase": ["cases"], "done": 1, "total": 2},
        {"phase": "cases", "done": 3, "total": 2},
        {"phase": "cases", "done": -1, "total": 2},
        {"phase": "cases", "done": True, "total": 2},
        {"phase": "cases", "done": "1", "total": 2},
        {"phase": "cases", "done": 1, "total": 10**12},
    ],
)
def test_a_progress_that_makes_no_sense_is_only_a_sign_of_life(
    submission: Submission, attempt: Attempt, data: dict[str, Any]
) -> None:
    record_event(event(attempt, "progress", 1, data))
    submission.refresh_from_db()
    attempt.refresh_from_db()
    assert (submission.phase, submission.phase_total) == ("", 0)
    assert attempt.state == "running"


def test_a_beat_extends_the_lease(attempt: Attempt) -> None:
    record_event(event(attempt, "started", 0))
    Attempt.objects.update(lease_until=timezone.now() + timedelta(seconds=1))
    record_event(event(attempt, "beat", 1))
    attempt.refresh_from_db()
    assert attempt.lease_until is not None
    assert attempt.lease_until > timezone.now() + timedelta(seconds=LEASE_SECONDS - 5)


def test_no_beat_extends_a_lease_beyond_the_longest_run(attempt: Attempt) -> None:
    record_event(event(attempt, "started", 0))
    began = timezone.now() - LONGEST_RUN - timedelta(seconds=5)
    Attempt.objects.update(started_at=began)
    record_event(event(attempt, "beat", 1))
    attempt.refresh_from_db()
    assert attempt.lease_until is not None
    assert attempt.lease_until < timezone.now()


def test_a_beat_that_overtook_the_start_begins_the_attempt(attempt: Attempt) -> None:
    record_event(event(attempt, "beat", 1))
    attempt.refresh_from_db()
    assert attempt.state == "running"
    assert not record_event(event(attempt, "started", 0, {"runner": "late"}))
    attempt.refresh_from_db()
    assert attempt.runner == ""


def test_a_verdict_ends_submission_and_attempt_and_enters_the_board(
    submission: Submission, attempt: Attempt
) -> None:
    record_event(event(attempt, "started", 0))
    assert record_event(verdict_event(submission))
    submission.refresh_from_db()
    attempt.refresh_from_db()
    assert (submission.state, submission.verdict) == ("done", "accepted")
    assert submission.headline == "Every gradient is right."
    assert submission.score == 0.5
    assert submission.report == report_for(submission).to_json()
    assert submission.finished_at is not None
    assert (attempt.state, attempt.lease_until) == ("done", None)
    assert Standing.objects.get().submission == submission


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_stored(submission: Submission, verdict: Verdict) -> None:
    record_event(verdict_event(submission, report_for(submission, verdict=verdict)))
    submission.refresh_from_db()
    assert submission.verdict == verdict


def test_a_verdict_without_a_start_counts(submission: Submission) -> None:
    record_event(verdict_event(submission, seq=0))
    submission.refresh_from_db()
    assert submission.state == "done"


def test_a_verdict_counts_whatever_its_number(submission: Submission, attempt: Attempt) -> None:
    record_event(event(attempt, "beat", 50))
    record_event(verdict_event(submission, seq=3))
    submission.refresh_from_db()
    assert submission.state == "done"


def test_events_delivered_twice_change_nothing(submission: Submission, attempt: Attempt) -> None:
    events = [
        event(attempt, "started", 0, {"runner": "a"}),
        event(attempt, "progress", 1, {"phase": "cases", "done": 1, "total": 2}),
        event(attempt, "beat", 2),
        verdict_event(submission, seq=3),
    ]
    for raw in events:
        assert record_event(raw)
        before = everything()
        assert not record_event(raw)
        assert everything() == before


def test_an_older_event_changes_nothing(attempt: Attempt) -> None:
    record_event(event(attempt, "progress", 5, {"phase": "timing", "done": 1, "total": 2}))
    before = everything()
    assert not record_event(
        event(attempt, "progress", 4, {"phase": "cases", "done": 1, "total": 2})
    )
    assert everything() == before


def test_nothing_counts_after_the_verdict(submission: Submission, attempt: Attempt) -> None:
    late = verdict_event(submission, report_for(submission, verdict=Verdict.TIMED_OUT), seq=99)
    record_event(verdict_event(submission))
    before = everything()
    for raw in (late, event(attempt, "started", 98), event(attempt, "beat", 97)):
        assert not record_event(raw)
    assert everything() == before


def test_a_lost_attempt_is_not_listened_to(submission: Submission, attempt: Attempt) -> None:
    late = verdict_event(submission)
    Attempt.objects.filter(pk=attempt.pk).update(state="lost", lease_until=None)
    Attempt.objects.create(submission=submission, number=2)
    before = everything()
    for raw in (late, event(attempt, "started", 3), event(attempt, "beat", 4)):
        assert not record_event(raw)
    assert everything() == before


def sent(attempt: Attempt, **since: float) -> Attempt:
    """The attempt, its job sent some time ago."""
    before = timezone.now() - timedelta(**since)
    Attempt.objects.filter(pk=attempt.pk).update(dispatched_at=before, dispatches=1)
    return attempt


def test_a_job_that_came_back_to_a_runner_before_anybody_began_it_is_sent_anew_once(
    attempt: Attempt,
    commits: Callable[[], Any],
    sent_jobs: Callable[[], list[dict[str, Any]]],
) -> None:
    sent(attempt, minutes=1)
    for _ in range(2):
        with commits():
            record_event(event(attempt, "returned", 0))
    assert [job["attempt"] for job in sent_jobs()] == [str(attempt.pk)]


def test_a_job_that_came_back_while_somebody_is_at_work_on_it_changes_nothing(
    attempt: Attempt,
) -> None:
    sent(attempt, minutes=1)
    record_event(event(attempt, "started", 5))
    before = everything()
    assert not record_event(event(attempt, "returned", 9))
    assert everything() == before


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        "started",
        {},
        {"attempt": 7, "kind": "beat", "seq": 0, "data": {}},
        {"attempt": "not-a-uuid", "kind": "beat", "seq": 0, "data": {}},
        {"attempt": str(uuid.uuid4()), "kind": "beat", "seq": 0, "data": {}},
        {"attempt": str(uuid.uuid4()), "kind": "party", "seq": 0, "data": {}},
        {"attempt": str(uuid.uuid4()), "kind": "beat", "seq": "0", "data": {}},
        {"attempt": str(uuid.uuid4()), "kind": "beat", "seq": 0, "data": []},
    ],
)
def test_what_is_no_event_is_dropped(submission: Submission, raw: Any) -> None:
    before = everything()
    assert not record_event(raw)
    assert everything() == before


@pytest.mark.parametrize("seq", [-1, 2**63])
def test_a_number_that_cannot_be_stored_is_dropped(attempt: Attempt, seq: int) -> None:
    assert not record_event(event(attempt, "beat", seq))


@pytest.mark.parametrize("name", [7, None, ["a"], "x" * 5000, "nul\0"])
def test_a_strange_runner_name_does_no_harm(attempt: Attempt, name: Any) -> None:
    assert record_event(event(attempt, "started", 0, {"runner": name}))
    attempt.refresh_from_db()
    assert len(attempt.runner) <= 200
    assert "\0" not in attempt.runner


def test_a_report_that_cannot_be_read_is_judged_again_and_in_the_end_a_judge_failure(
    submission: Submission,
    commits: Callable[[], Any],
    sent_jobs: Callable[[], list[dict[str, Any]]],
) -> None:
    for number in (1, 2):
        with commits():
            record_event(event(active_attempt(submission), "verdict", 1, {"verdict": "splendid"}))
        submission.refresh_from_db()
        assert submission.state == "queued"
        again = active_attempt(submission)
        assert again.number == number + 1
        assert [job["attempt"] for job in sent_jobs()] == [str(again.pk)]
    record_event(event(active_attempt(submission), "verdict", 1, {"verdict": "splendid"}))
    submission.refresh_from_db()
    assert (submission.state, submission.verdict) == ("done", "judge_failure")
    assert "3 times" in submission.headline
    assert "Your source is kept" in submission.headline
    assert not Standing.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_same_verdict_from_two_workers_at_once_counts_once() -> None:
    submission = make_submission(User.objects.create_user("alice"))
    raw = verdict_event(submission)
    counted: list[bool] = []
    barrier = threading.Barrier(4)

    def deliver() -> None:
        try:
            barrier.wait(timeout=30)
            counted.append(record_event(raw))
        finally:
            connection.close()

    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(counted) == [False, False, False, True]
    assert Standing.objects.count() == 1
