"""Judging once more: old verdicts stay until new ones come, boards follow, and nobody waits for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.web.conftest import logged_in
from tests.web.samples import (
    active_attempt,
    event,
    make_submission,
    report_for,
    verdict_event,
    wrong_gradient_for,
)
from web.accounts.models import User
from web.boards.models import Standing
from web.submissions.events import record_event
from web.submissions.lifecycle import give_up_attempt
from web.submissions.models import MAX_ATTEMPTS, Attempt, EarlierVerdict, Rejudge, Submission
from web.submissions.rejudge import request_rejudge, start_waiting
from wire.verdict import Report, Verdict


def judged(user: User | None, report: Callable[[Submission], Report] = report_for, **k: Any) -> Any:
    submission = make_submission(user, **k)
    assert record_event(verdict_event(submission, report(submission)))
    submission.refresh_from_db()
    return submission


def scored(score: float) -> Callable[[Submission], Report]:
    return lambda submission: report_for(submission, score=score)


def rejudge(submission: Submission, report: Report | None = None) -> None:
    """Ask, start and end it."""
    assert request_rejudge(Submission.objects.filter(pk=submission.pk), by=None) == 1
    assert start_waiting() == 1
    record_event(event(active_attempt(submission), "started", 0))
    assert record_event(verdict_event(submission, report))
    submission.refresh_from_db()


def ask(*submissions: Submission) -> int:
    pks = [submission.pk for submission in submissions]
    return request_rejudge(Submission.objects.filter(pk__in=pks), by=None)


def test_the_new_verdict_takes_the_place_of_the_old_one_which_is_kept(alice: User) -> None:
    submission = judged(alice)
    first, old_report = submission.finished_at, submission.report
    rejudge(submission, wrong_gradient_for(submission))
    assert (submission.state, submission.verdict) == ("done", "wrong_gradient")
    assert (submission.score, submission.finished_at) == (None, first)
    (earlier,) = submission.earlier_verdicts.all()
    assert (earlier.verdict, earlier.score, earlier.judged_at) == ("accepted", 0.5, first)
    assert (earlier.headline, earlier.report) == ("Every gradient is right.", old_report)
    rejudge(submission)
    verdicts = submission.earlier_verdicts.order_by("pk").values_list("verdict", flat=True)
    assert (submission.verdict, *verdicts) == ("accepted", "accepted", "wrong_gradient")


def test_until_it_ends_everything_looks_as_before(as_alice: Client, alice: User) -> None:
    submission = judged(alice)
    before = Submission.objects.filter(pk=submission.pk).values().get()
    ask(submission)
    start_waiting()
    attempt = active_attempt(submission)
    record_event(event(attempt, "started", 0))
    record_event(event(attempt, "progress", 1, {"phase": "cases", "done": 1, "total": 2}))
    assert Submission.objects.filter(pk=submission.pk).values().get() == before
    page = as_alice.get(submission.get_absolute_url()).content.decode()
    assert "Accepted" in page
    assert "to be judged once more" in page
    assert "every 1s" not in page


def test_when_the_judge_fails_the_old_verdict_stands(alice: User) -> None:
    submission = judged(alice)
    broken = report_for(
        submission, verdict=Verdict.JUDGE_FAILURE, headline="No sandbox.", score=None
    )
    rejudge(submission, broken)
    assert submission.verdict == "accepted"
    assert not EarlierVerdict.objects.exists()
    assert Standing.objects.get().submission == submission
    ended = Rejudge.objects.get()
    assert (ended.state, ended.why_failed) == ("failed", "No sandbox.")
    rejudge(submission)  # may be asked for again
    assert submission.earlier_verdicts.count() == 1


def test_when_every_attempt_is_lost_the_old_verdict_stands(alice: User) -> None:
    submission = judged(alice)
    ask(submission)
    start_waiting()
    for number in range(1, MAX_ATTEMPTS + 1):
        attempt = active_attempt(submission)
        assert attempt.number == number
        attempt.submission = submission
        give_up_attempt(submission, attempt, "its runner was silent")
        submission.refresh_from_db()
        assert (submission.state, submission.verdict) == ("done", "accepted")
    assert Rejudge.objects.get().state == "failed"
    assert "silent" in Rejudge.objects.get().why_failed
    assert not submission.attempts.filter(state__in=Attempt.ACTIVE).exists()


def test_a_verdict_delivered_twice_replaces_once(alice: User) -> None:
    submission = judged(alice)
    ask(submission)
    start_waiting()
    message = verdict_event(submission, wrong_gradient_for(submission))
    assert record_event(message)
    assert not record_event(message)
    assert submission.earlier_verdicts.count() == 1


def test_a_later_version_of_the_problem_is_judged_and_an_older_one_is_not_believed(
    alice: User,
) -> None:
    submission = judged(alice)
    rejudge(submission, report_for(submission, problem_version=2))
    assert submission.problem_version == 2
    assert Standing.objects.get().problem_version == 2
    assert submission.earlier_verdicts.get().problem_version == 1
    ask(submission)
    start_waiting()
    record_event(verdict_event(submission, report_for(submission, problem_version=1)))
    submission.refresh_from_db()
    assert submission.problem_version == 2
    assert active_attempt(submission).number == 2


# --- Boards


def test_when_the_best_becomes_wrong_the_next_best_stands(alice: User) -> None:
    worst, best, middle = (judged(alice, scored(score)) for score in (0.3, 0.9, 0.6))
    judged(alice, lambda s: report_for(s, score=0.99, ranked=False))
    judged(alice, scored(0.95), mode="run")
    judged(alice, scored(0.95), problem="swiglu")
    judged(alice, language="triton")
    at_stake = Standing.objects.filter(problem="rms_norm", hardware="cpu")
    for submission, follower in ((best, middle), (middle, worst)):
        assert at_stake.get().submission == submission
        rejudge(submission, wrong_gradient_for(submission))
        assert (at_stake.get().submission, at_stake.get().score) == (follower, follower.score)
    rejudge(worst, wrong_gradient_for(worst))
    assert not at_stake.exists()
    assert Standing.objects.count() == 2
    rejudge(middle, report_for(middle, score=0.4))
    assert (at_stake.get().submission, at_stake.get().score) == (middle, 0.4)


def test_a_slower_second_measurement_counts(alice: User) -> None:
    fast, other = judged(alice, scored(0.9)), judged(alice, scored(0.5))
    rejudge(fast, report_for(fast, score=0.4))
    assert Standing.objects.get().submission == other


def test_in_the_interpreter_the_next_earliest_stands(alice: User) -> None:
    first, second, _third = (judged(alice, language="triton") for _ in range(3))
    rejudge(first, wrong_gradient_for(first))
    assert Standing.objects.get().submission == second
    rejudge(first, report_for(first))
    assert Standing.objects.get().submission == first


def test_others_keep_their_places(alice: User, bob: User) -> None:
    mine, theirs = judged(alice), judged(bob)
    rejudge(mine, wrong_gradient_for(mine))
    assert Standing.objects.get().submission == theirs


# --- Asking


def test_asking_twice_judges_once(alice: User) -> None:
    submissions = [judged(alice), judged(alice)]
    assert ask(*submissions) == 2
    assert ask(*submissions) == 0
    start_waiting()
    assert ask(*submissions) == 0


def test_the_same_press_of_a_button_counts_once_even_when_it_is_long_done(alice: User) -> None:
    submission, batch = judged(alice), uuid.uuid4()
    everything = Submission.objects.all()
    assert request_rejudge(everything, by=alice, batch=batch) == 1
    start_waiting()
    record_event(verdict_event(submission))
    assert request_rejudge(everything, by=alice, batch=batch) == 0
    assert request_rejudge(everything, by=alice, batch=uuid.uuid4()) == 1


def test_what_is_not_judged_yet_is_not_asked_for(alice: User) -> None:
    assert ask(make_submission(alice)) == 0


def test_hundreds_are_asked_for_in_few_queries(
    alice: User, django_assert_max_num_queries: Any
) -> None:
    done = {"state": "done", "verdict": "accepted", "finished_at": timezone.now()}
    values = {"problem": "rms_norm", "problem_version": 1, "language": "pytorch", "mode": "submit"}
    rows = [Submission(user=alice, hardware="cpu", **values, **done) for _ in range(300)]
    Submission.objects.bulk_create(rows)
    # Rows of one statement are few on SQLite, which takes a thousand values.
    with django_assert_max_num_queries(12):
        assert request_rejudge(Submission.objects.all(), by=None) == 300


# --- Nobody waits


def test_one_after_the_other_is_judged(alice: User, settings: Any) -> None:
    first, second = judged(alice), judged(alice)
    ask(first, second)
    assert start_waiting() == 1
    assert start_waiting() == 0
    assert active_attempt(first).rejudge is not None
    record_event(verdict_event(first))
    assert start_waiting() == 1
    assert active_attempt(second)


def test_the_operator_may_widen_the_window(alice: User, settings: Any) -> None:
    settings.BACKPASS_REJUDGE_WINDOW = 3
    ask(*[judged(alice) for _ in range(5)])
    assert start_waiting() == 3


def test_none_starts_while_somebody_waits_for_that_hardware(alice: User, bob: User) -> None:
    cpu, interpreter = judged(alice), judged(alice, language="triton")
    ask(cpu, interpreter)
    waiting = make_submission(bob)
    assert start_waiting() == 1
    assert not cpu.attempts.filter(rejudge__isnull=False).exists()
    record_event(event(active_attempt(waiting), "started", 0))  # it waits no longer
    assert start_waiting() == 1


def test_it_takes_no_place_in_line_and_no_share_of_what_a_user_may_have_on_the_way(
    alice: User, as_alice: Client, settings: Any
) -> None:
    settings.BACKPASS_REJUDGE_WINDOW = 9
    ask(*[judged(alice) for _ in range(9)])
    start_waiting()
    fields = {"source": "x = 1", "language": "pytorch", "mode": "submit"}
    assert as_alice.post("/problems/rms-norm/submit/", fields).status_code == 302


def test_calling_it_off_leaves_everything_as_it_was(alice: User) -> None:
    submission = judged(alice)
    ask(submission)
    start_waiting()
    late = verdict_event(submission, wrong_gradient_for(submission))
    Rejudge.objects.all().delete()
    assert not record_event(late)
    submission.refresh_from_db()
    assert submission.verdict == "accepted"
    assert submission.attempts.count() == 1


# --- The submission's page


def test_owner_and_staff_see_the_earlier_verdicts(alice: User, bob: User, stella: User) -> None:
    submission = judged(alice)
    rejudge(submission, wrong_gradient_for(submission))
    for user, status in ((alice, 200), (stella, 200), (bob, 404)):
        response = logged_in(user).get(submission.get_absolute_url())
        assert response.status_code == status
        told = response.content.decode()
        assert ("Earlier verdicts" in told) == (status == 200)
        assert ("Every gradient is right." in told) == (status == 200)


def test_without_a_rejudge_there_is_nothing_about_one(as_alice: Client, alice: User) -> None:
    page = as_alice.get(judged(alice).get_absolute_url()).content.decode()
    assert "Earlier verdicts" not in page
    assert "once more" not in page


@pytest.mark.django_db(transaction=True)
def test_the_database_allows_one_open_rejudge(alice: User) -> None:
    submission = judged(alice)
    ask(submission)
    values = {"submission": submission, "hardware": "cpu", "batch": uuid.uuid4()}
    Rejudge.objects.bulk_create([Rejudge(**values)], ignore_conflicts=True)
    assert Rejudge.objects.count() == 1
    connection.close()
