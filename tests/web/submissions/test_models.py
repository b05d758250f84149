"""What the database itself refuses."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from tests.web.samples import make_submission
from web.accounts.models import User
from web.submissions.models import Attempt, Submission


@pytest.mark.parametrize(
    "change",
    [
        {"state": "done"},
        {"state": "done", "verdict": "accepted"},
        {"state": "done", "finished_at": timezone.now()},
        {"verdict": "accepted"},
        {"finished_at": timezone.now()},
        {"user": None},
        {"visitor": "v1"},
    ],
)
def test_a_submission_is_done_exactly_when_it_has_a_verdict_and_has_one_owner(
    alice: User, change: dict[str, Any]
) -> None:
    submission = make_submission(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Submission.objects.filter(pk=submission.pk).update(**change)


def test_a_visitor_cannot_have_a_submit(db: None) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_submission(visitor="v1", mode="submit")


def test_a_key_is_used_once_by_one_owner(alice: User, bob: User) -> None:
    for owner in (alice, bob):
        Submission.objects.filter(pk=make_submission(owner).pk).update(idempotency_key="k")
    Submission.objects.filter(pk=make_submission(visitor="v").pk).update(idempotency_key="k")
    for again in (make_submission(alice), make_submission(visitor="v")):
        with pytest.raises(IntegrityError), transaction.atomic():
            Submission.objects.filter(pk=again.pk).update(idempotency_key="k")


def test_a_submission_has_one_active_attempt(alice: User) -> None:
    submission = make_submission(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Attempt.objects.create(submission=submission, number=2)
    submission.attempts.update(state="lost")
    Attempt.objects.create(submission=submission, number=2)


@pytest.mark.parametrize(
    "change",
    [
        {"state": "running"},
        {"lease_until": timezone.now()},
        {"number": 0},
        {"number": 4},
    ],
)
def test_an_attempt_holds_a_lease_exactly_while_it_runs(
    alice: User, change: dict[str, Any]
) -> None:
    make_submission(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        Attempt.objects.update(**change)


def test_two_attempts_do_not_share_a_number(alice: User) -> None:
    submission = make_submission(alice)
    submission.attempts.update(state="lost")
    with pytest.raises(IntegrityError), transaction.atomic():
        Attempt.objects.create(submission=submission, number=1)
