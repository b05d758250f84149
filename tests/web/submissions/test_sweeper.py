"""The sweeper: silent runners, lost jobs, a broker that was away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.web.samples import active_attempt, event, make_submission, verdict_event
from web.accounts.models import User
from web.submissions.dispatch import dispatch
from web.submissions.events import record_event
from web.submissions.lifecycle import LONGEST_RUN
from web.submissions.models import Attempt, Submission
from web.submissions.sweeper import MAX_DISPATCHES, patience, sweep

Jobs = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def submission(alice: User) -> Submission:
    return make_submission(alice)


def ago(**span: float) -> Any:
    return timezone.now() - timedelta(**span)


def run(submission: Submission) -> Attempt:
    """The submission's attempt, begun by a runner."""
    attempt = active_attempt(submission)
    record_event(event(attempt, "started", 0))
    return attempt


def fall_silent(submission: Submission) -> None:
    run(submission)
    Attempt.objects.filter(state="running").update(lease_until=ago(seconds=1))


def test_a_silent_runner_loses_its_attempt_and_the_job_is_sent_again(
    submission: Submission, commits: Callable[[], Any], sent_jobs: Jobs
) -> None:
    fall_silent(submission)
    with commits():
        sweep()
    submission.refresh_from_db()
    assert submission.state == "queued"
    assert list(submission.attempts.values_list("number", "state")) == [(1, "lost"), (2, "sent")]
    assert [job["attempt"] for job in sent_jobs()] == [str(active_attempt(submission).pk)]


def test_progress_of_the_lost_attempt_is_forgotten(submission: Submission) -> None:
    attempt = run(submission)
    record_event(event(attempt, "progress", 1, {"phase": "timing", "done": 1, "total": 2}))
    Attempt.objects.update(lease_until=ago(seconds=1))
    sweep()
    submission.refresh_from_db()
    assert (submission.phase, submission.phase_done, submission.phase_total) == ("", 0, 0)


def test_a_runner_that_beats_keeps_its_attempt(submission: Submission) -> None:
    attempt = run(submission)
    sweep()
    attempt.refresh_from_db()
    assert attempt.state == "running"


def test_three_silent_runners_end_in_a_judge_failure_that_says_so(submission: Submission) -> None:
    for _ in range(3):
        fall_silent(submission)
        sweep()
    submission.refresh_from_db()
    assert (submission.state, submission.verdict) == ("done", "judge_failure")
    assert "3 times" in submission.headline
    assert "silent" in submission.headline
    assert submission.attempts.count() == 3
    sweep()
    assert submission.attempts.count() == 3


def test_the_second_attempt_can_still_bring_the_verdict(submission: Submission) -> None:
    fall_silent(submission)
    late = verdict_event(submission)
    sweep()
    assert not record_event(late)
    assert record_event(verdict_event(submission))
    submission.refresh_from_db()
    assert submission.verdict == "accepted"


def test_sweeping_twice_loses_an_attempt_once(submission: Submission) -> None:
    fall_silent(submission)
    sweep()
    sweep()
    assert submission.attempts.count() == 2


@pytest.mark.usefixtures("submission")
def test_a_job_that_never_left_is_sent_once(sent_jobs: Jobs) -> None:
    sweep()
    sweep()
    assert len(sent_jobs()) == 1
    assert Attempt.objects.get().dispatches == 1


def send(submission: Submission, **since: float) -> Attempt:
    """The submission's attempt, its job sent some time ago."""
    attempt = active_attempt(submission)
    assert dispatch(attempt)
    Attempt.objects.filter(pk=attempt.pk).update(
        created_at=ago(**since), dispatched_at=ago(**since)
    )
    return attempt


def test_a_job_that_waits_in_the_queue_is_not_doubled(
    submission: Submission, sent_jobs: Jobs
) -> None:
    send(submission, hours=2)
    sweep()
    assert len(sent_jobs()) == 1


def test_a_job_gone_from_the_queue_while_nothing_runs_is_sent_again(
    submission: Submission, sent_jobs: Jobs
) -> None:
    attempt = send(submission, seconds=21)
    sent_jobs()
    sweep()
    assert [job["attempt"] for job in sent_jobs()] == [str(attempt.pk)]
    sweep()
    assert sent_jobs() == []


def test_a_job_a_runner_may_just_have_taken_is_waited_for(
    submission: Submission, sent_jobs: Jobs
) -> None:
    send(submission, seconds=15)
    sent_jobs()
    sweep()
    assert sent_jobs() == []


def test_a_job_gone_from_the_queue_is_sent_again_though_a_runner_is_busy_with_another(
    submission: Submission, bob: User, sent_jobs: Jobs
) -> None:
    attempt = send(submission, seconds=60)
    run(make_submission(bob))
    sent_jobs()
    sweep()
    assert [job["attempt"] for job in sent_jobs()] == [str(attempt.pk)]


def test_of_several_jobs_as_many_as_lie_in_the_queue_are_left_the_youngest(
    alice: User, sent_jobs: Jobs
) -> None:
    oldest, *others = [send(make_submission(alice), seconds=60 - n) for n in range(3)]
    sent_jobs()
    for attempt in others:
        dispatch(attempt)
        Attempt.objects.filter(pk=attempt.pk).update(dispatched_at=ago(seconds=59), dispatches=1)
    sweep()
    assert [job["attempt"] for job in sent_jobs()][2:] == [str(oldest.pk)]


def test_a_job_that_vanishes_again_and_again_ends_in_a_judge_failure_that_says_so(
    submission: Submission, sent_jobs: Jobs
) -> None:
    for _ in range(3):
        send(submission, hours=2)
        Attempt.objects.filter(state="sent").update(dispatches=MAX_DISPATCHES)
        sent_jobs()
        sweep()
    submission.refresh_from_db()
    assert submission.verdict == "judge_failure"
    assert "no runner began it" in submission.headline


def test_after_a_pause_every_lease_begins_anew(submission: Submission) -> None:
    fall_silent(submission)
    sweep(after_pause=True)
    attempt = active_attempt(submission)
    assert (attempt.number, attempt.state) == (1, "running")
    assert attempt.lease_until is not None
    assert attempt.lease_until > timezone.now()
    Attempt.objects.update(lease_until=ago(seconds=1))
    sweep()
    assert active_attempt(submission).number == 2


def test_no_pause_makes_a_lease_longer_than_the_longest_run(submission: Submission) -> None:
    fall_silent(submission)
    Attempt.objects.update(started_at=timezone.now() - LONGEST_RUN)
    sweep(after_pause=True)
    assert active_attempt(submission).number == 2


def test_runners_of_other_hardware_do_not_matter(
    submission: Submission, bob: User, sent_jobs: Jobs
) -> None:
    attempt = send(submission, seconds=60)
    run(make_submission(bob, language="triton"))
    sent_jobs()
    sweep()
    assert [job["attempt"] for job in sent_jobs()] == [str(attempt.pk)]


def test_a_job_overtaken_long_ago_is_sent_again_though_others_run(
    submission: Submission, bob: User, sent_jobs: Jobs
) -> None:
    attempt = send(submission, minutes=30)
    other = run(make_submission(bob))
    Attempt.objects.filter(pk=other.pk).update(dispatched_at=ago(minutes=1))
    sent_jobs()
    sweep()
    assert [job["attempt"] for job in sent_jobs()] == [str(attempt.pk)]


def test_patience_doubles_with_each_sending_up_to_ten_minutes() -> None:
    waits = [patience(Attempt(dispatches=n)).total_seconds() for n in (0, 1, 2, 3, 6, 50)]
    assert waits == [20, 20, 40, 80, 600, 600]


@pytest.mark.usefixtures("broken_broker")
def test_a_broker_that_is_away_does_not_stop_the_sweep(submission: Submission, bob: User) -> None:
    Attempt.objects.update(created_at=ago(seconds=60))
    silent = make_submission(bob)
    record_event(event(active_attempt(silent), "started", 0))
    Attempt.objects.filter(state="running").update(lease_until=ago(seconds=1))
    sweep()
    silent.refresh_from_db()
    assert silent.state == "queued"
    assert active_attempt(submission).dispatches == 0


def test_when_the_broker_is_back_what_waited_is_sent(
    alice: User, commits: Callable[[], Any], sent_jobs: Jobs, request: pytest.FixtureRequest
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("web.submissions.dispatch.app.send_task", _refuse)
        with commits():
            make_submission(alice)
    Attempt.objects.update(created_at=ago(seconds=10))
    sweep()
    assert len(sent_jobs()) == 1


def _refuse(*_args: Any, **_options: Any) -> None:
    raise ConnectionRefusedError


@pytest.mark.usefixtures("submission")
def test_finished_submissions_cost_the_sweeper_nothing(django_assert_num_queries: Any) -> None:
    record_event(verdict_event(Submission.objects.get()))
    with django_assert_num_queries(3):
        sweep()
