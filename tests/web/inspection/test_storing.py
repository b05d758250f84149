"""Inspections come late, twice, wrong or never, and change nothing but what is known of a kernel."""

from __future__ import annotations

import base64
import uuid
import zlib
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.web.inspection.samples import (
    attempt_of,
    compiled,
    inspection,
    judged,
    looked_into,
    message,
)
from tests.web.samples import active_attempt, make_submission, verdict_event
from web.accounts.models import User
from web.inspection.models import StoredInspection
from web.inspection.queries import inside_of, whole_inspection
from web.inspection.storing import drop_old, record_inspection
from web.submissions.events import record_event
from web.submissions.models import Attempt, Submission
from web.submissions.rejudge import request_rejudge


def test_it_is_kept_whole_and_its_figures_beside_it(alice: User) -> None:
    submission = judged(alice)
    assert record_inspection(message(attempt_of(submission)))
    assert whole_inspection(submission) == inspection()
    assert inside_of(submission).inspection == inspection().without_texts()
    submission.refresh_from_db()
    assert submission.verdict == "accepted"


def test_delivered_twice_it_is_there_once(alice: User) -> None:
    submission = judged(alice)
    for _ in range(2):
        record_inspection(message(attempt_of(submission)))
    assert StoredInspection.objects.count() == 1


def test_one_that_overtakes_its_verdict_is_kept(alice: User) -> None:
    submission = make_submission(alice, language="triton")
    assert record_inspection(message(active_attempt(submission)))
    assert inside_of(submission).state == "none"
    record_event(verdict_event(submission))
    submission.refresh_from_db()
    assert inside_of(submission).state == "here"


def judged_again(submission: Submission, stella: User) -> Attempt:
    request_rejudge(Submission.objects.filter(pk=submission.pk), by=stella, batch=uuid.uuid4())
    rejudge = submission.rejudges.get()
    attempt = Attempt.objects.create(submission=submission, rejudge=rejudge, number=1)
    record_event(verdict_event(submission))
    return attempt


def test_that_of_a_rejudge_takes_the_place_of_the_first_and_not_the_other_way_round(
    alice: User, stella: User
) -> None:
    submission = looked_into(alice)
    first = attempt_of(submission)
    again = judged_again(submission, stella)
    assert record_inspection(message(again, inspection(compiled(registers=255))))
    assert not record_inspection(message(first))
    (kernel,) = whole_inspection(submission).kernels  # type: ignore[union-attr]  # it exists, or the test fails
    assert kernel.registers == 255


def test_what_a_lost_attempt_says_no_longer_counts(alice: User) -> None:
    submission = judged(alice)
    submission.attempts.update(state="lost")
    assert not record_inspection(message(attempt_of(submission)))


def test_one_about_another_problem_is_dropped(alice: User) -> None:
    submission = judged(alice)
    other = inspection(problem="linear")
    assert not record_inspection(message(attempt_of(submission), other))


def good(alice: User) -> Any:
    return message(attempt_of(judged(alice)))


@pytest.mark.parametrize(
    "change",
    [
        {"attempt": "no id"},
        {"attempt": str(uuid.uuid4())},
        {"attempt": 7},
        {"packed": "no base64!"},
        {"packed": base64.b64encode(b"no zlib").decode()},
        {"packed": base64.b64encode(zlib.compress(b"[]")).decode()},
        {"more": 1},
    ],
)
def test_what_cannot_be_read_is_dropped(alice: User, change: dict[str, Any]) -> None:
    assert not record_inspection(good(alice) | change)
    assert not StoredInspection.objects.exists()


@pytest.mark.parametrize("raw", [None, [], "text", {}])
@pytest.mark.django_db
def test_what_is_no_message_is_dropped(raw: Any) -> None:
    assert not record_inspection(raw)


def test_old_ones_are_deleted_if_nobody_has_an_account_for_them(alice: User, settings: Any) -> None:
    settings.BACKPASS_INSPECTION_DAYS = 7
    kept, old, young = looked_into(alice), looked_into(), looked_into()
    StoredInspection.objects.exclude(pk=young.pk).update(
        received_at=timezone.now() - timedelta(days=8)
    )
    assert drop_old() == 1
    assert set(StoredInspection.objects.values_list("pk", flat=True)) == {kept.pk, young.pk}
    assert inside_of(old).state == "waiting"
    Submission.objects.update(finished_at=timezone.now() - timedelta(days=8))
    old.refresh_from_db()
    assert inside_of(old).state == "missing"


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        ("accepted", "waiting"),
        ("wrong_gradient", "waiting"),
        ("compile_error", "none"),
        ("judge_failure", "none"),
    ],
)
def test_only_what_could_be_loaded_is_waited_for(alice: User, verdict: str, state: str) -> None:
    submission = judged(alice)
    submission.verdict = verdict
    assert inside_of(submission).state == state


def test_nothing_is_waited_for_in_other_languages(alice: User) -> None:
    submission = make_submission(alice, language="pytorch")
    record_event(verdict_event(submission))
    submission.refresh_from_db()
    assert inside_of(submission).state == "none"


def test_one_of_a_form_no_longer_understood_is_as_good_as_none(alice: User) -> None:
    submission = looked_into(alice)
    StoredInspection.objects.update(figures={"schema": 0}, packed=b"old")
    assert whole_inspection(submission) is None
    assert inside_of(submission).state == "missing"
