"""Taking submissions in: what is refused, what is stored, what is sent."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection

from tests.web.samples import SOURCE, make_submission
from web.accounts.models import User
from web.submissions.intake import MAX_SOURCE_BYTES, Posted, Refused, submit
from web.submissions.models import Submission
from web.submissions.owners import Owner

POSTED = Posted(
    problem="rms_norm",
    problem_version=1,
    languages=("triton", "pytorch"),
    language="pytorch",
    mode="submit",
    source=SOURCE,
    idempotency_key="key-1",
)


def test_a_submission_is_stored_as_posted_and_waits(alice: User) -> None:
    submission = submit(Owner(alice), POSTED)
    submission.refresh_from_db()
    assert submission.source == SOURCE
    assert submission.source_sha256 == hashlib.sha256(SOURCE.encode()).hexdigest()
    assert (submission.state, submission.verdict, submission.mode) == ("queued", "", "submit")
    attempt = submission.attempts.get()
    assert (attempt.number, attempt.state) == (1, "sent")


@pytest.mark.parametrize(("language", "hardware"), [("triton", "interpreter"), ("pytorch", "cpu")])
def test_the_site_picks_the_hardware_that_takes_the_language(
    alice: User, language: str, hardware: str
) -> None:
    assert submit(Owner(alice), replace(POSTED, language=language)).hardware == hardware


def test_a_language_for_which_the_site_has_no_hardware_is_refused(
    alice: User, settings: Any
) -> None:
    settings.BACKPASS_HARDWARE = ["cpu"]
    with pytest.raises(Refused, match="choose another language"):
        submit(Owner(alice), replace(POSTED, language="triton"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"source": ""}, "empty"),
        ({"source": " \n\t"}, "empty"),
        ({"source": "x\0y"}, "NUL"),
        ({"source": "\ud800"}, "Unicode"),
        ({"source": "x" * (MAX_SOURCE_BYTES + 1)}, "65537 bytes"),
        ({"source": "é" * (MAX_SOURCE_BYTES // 2 + 1)}, "65538 bytes"),
        ({"language": "fortran"}, "triton or pytorch"),
        ({"language": ""}, "triton or pytorch"),
        ({"mode": "erase"}, "Run or Submit"),
        ({"idempotency_key": "k" * 201}, "idempotency key"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_what_to_do(
    alice: User, change: dict[str, str], told: str
) -> None:
    with pytest.raises(Refused, match=told):
        submit(Owner(alice), replace(POSTED, **change))  # type: ignore[arg-type]  # wrong on purpose
    assert not Submission.objects.exists()


def test_the_longest_allowed_source_is_taken(alice: User) -> None:
    assert submit(Owner(alice), replace(POSTED, source="#" * MAX_SOURCE_BYTES)).pk


def test_without_an_account_one_runs_but_does_not_submit(db: None) -> None:
    nobody = Owner(visitor="v1")
    with pytest.raises(Refused, match="Log in or sign up"):
        submit(nobody, POSTED)
    run = submit(nobody, replace(POSTED, mode="run"))
    assert (run.user, run.visitor) == (None, "v1")


def test_a_fourth_unfinished_submission_is_refused(alice: User, bob: User) -> None:
    for number in range(3):
        submit(Owner(alice), replace(POSTED, idempotency_key=str(number)))
    with pytest.raises(Refused, match="3 of your submissions are still being judged"):
        submit(Owner(alice), replace(POSTED, idempotency_key="4"))
    assert submit(Owner(bob), POSTED).pk
    first = alice.submissions.earliest("created_at")
    Submission.objects.filter(pk=first.pk).update(
        state="done", verdict="accepted", finished_at=first.created_at
    )
    assert submit(Owner(alice), replace(POSTED, idempotency_key="4")).pk


def test_a_visitor_has_the_same_limit(db: None) -> None:
    for _ in range(3):
        make_submission(visitor="v1")
    with pytest.raises(Refused, match="still being judged"):
        submit(Owner(visitor="v1"), replace(POSTED, mode="run"))
    assert submit(Owner(visitor="v2"), replace(POSTED, mode="run")).pk


def test_the_same_press_twice_makes_one_submission(alice: User, bob: User) -> None:
    first = submit(Owner(alice), POSTED)
    assert submit(Owner(alice), POSTED).pk == first.pk
    assert submit(Owner(bob), POSTED).pk != first.pk
    assert Submission.objects.count() == 2


def test_a_retry_is_answered_even_when_the_limit_is_reached(alice: User) -> None:
    first = submit(Owner(alice), POSTED)
    make_submission(alice)
    make_submission(alice)
    assert submit(Owner(alice), POSTED).pk == first.pk


@pytest.mark.parametrize(
    "change", [{"source": SOURCE + "#"}, {"mode": "run"}, {"language": "triton"}]
)
def test_an_old_key_never_hides_a_new_content(alice: User, change: dict[str, str]) -> None:
    first = submit(Owner(alice), POSTED)
    assert submit(Owner(alice), replace(POSTED, **change)).pk != first.pk  # type: ignore[arg-type]  # wrong on purpose


def test_posts_without_a_key_are_separate(alice: User) -> None:
    keyless = replace(POSTED, idempotency_key="")
    assert submit(Owner(alice), keyless).pk != submit(Owner(alice), keyless).pk


def test_the_job_is_sent_after_the_commit_and_not_before(
    alice: User, commits: Callable[[], Any], sent_jobs: Callable[[], list[dict[str, Any]]]
) -> None:
    with commits():
        submission = submit(Owner(alice), POSTED)
        assert sent_jobs() == []
    attempt = submission.attempts.get()
    assert sent_jobs() == [
        {
            "attempt": str(attempt.pk),
            "problem": "rms_norm",
            "language": "pytorch",
            "hardware": "cpu",
            "mode": "submit",
            "source": SOURCE,
        }
    ]
    assert attempt.dispatches == 1
    assert attempt.dispatched_at is not None


@pytest.mark.usefixtures("broken_broker")
def test_a_broker_that_is_away_costs_no_submission(alice: User, commits: Callable[[], Any]) -> None:
    with commits():
        submission = submit(Owner(alice), POSTED)
    attempt = submission.attempts.get()
    assert (attempt.state, attempt.dispatched_at, attempt.dispatches) == ("sent", None, 0)


def a_user() -> Owner:
    return Owner(User.objects.create_user("alice"))


def a_visitor() -> Owner:
    session = SessionStore()
    session.create()
    return Owner(visitor="v1", session_key=session.session_key or "")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make_owner", [a_user, a_visitor])
def test_posts_at_the_same_moment_do_not_pass_the_limit(make_owner: Callable[[], Owner]) -> None:
    owner = make_owner()
    refused: list[str] = []
    barrier = threading.Barrier(6)

    def post(number: int) -> None:
        try:
            barrier.wait(timeout=30)
            submit(owner, replace(POSTED, mode="run", idempotency_key=str(number)))
        except Refused as error:
            refused.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=post, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert (owner.submissions().count(), len(refused)) == (3, 3)


@pytest.mark.django_db(transaction=True)
def test_one_press_sent_twice_at_the_same_moment_makes_one_submission() -> None:
    alice = User.objects.create_user("alice")
    made: list[Any] = []
    barrier = threading.Barrier(2)

    def post() -> None:
        try:
            barrier.wait(timeout=30)
            made.append(submit(Owner(alice), POSTED).pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=post) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(made) == 2
    assert len(set(made)) == 1
