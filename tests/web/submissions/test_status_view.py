"""The fragment that follows a submission to its verdict."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from tests.web.samples import active_attempt, event, make_submission, verdict_event
from web.accounts.models import User
from web.submissions.events import record_event
from web.submissions.models import Submission


def fragment(client: Client, submission: Submission, seen: str = "") -> str:
    url = reverse("submission_status", args=[submission.pk])
    return client.get(url, {"seen": seen}).content.decode()


def test_it_says_which_place_in_line(as_alice: Client, alice: User, bob: User) -> None:
    earlier = make_submission(bob)
    make_submission(bob, language="triton")
    submission = make_submission(alice)
    make_submission(bob)
    assert "2" in fragment(as_alice, submission)
    response = as_alice.get(reverse("submission_status", args=[submission.pk]))
    assert response.context["progress"].place == 2
    record_event(verdict_event(earlier))
    response = as_alice.get(reverse("submission_status", args=[submission.pk]))
    assert response.context["progress"].place == 1


@pytest.mark.parametrize(
    ("phase", "done", "told"),
    [("compiling", 0, "ompiling"), ("cases", 3, "ase 3 of 12"), ("timing", 3, "iming")],
)
def test_it_tells_the_phase(
    as_alice: Client, alice: User, phase: str, done: int, told: str
) -> None:
    submission = make_submission(alice)
    data = {"phase": phase, "done": done, "total": 12}
    record_event(event(active_attempt(submission), "progress", 1, data))
    assert told in fragment(as_alice, submission)


def test_it_asks_again_until_there_is_a_verdict_and_then_no_more(
    as_alice: Client, alice: User
) -> None:
    submission = make_submission(alice)
    waiting = fragment(as_alice, submission)
    assert 'hx-trigger="every 1s"' in waiting
    assert 'hx-swap="outerHTML"' in waiting
    record_event(verdict_event(submission))
    done = fragment(as_alice, submission)
    assert "hx-get" not in done
    assert "hx-trigger" not in done
    assert "Every gradient is right." in done


def test_nothing_is_sent_while_nothing_changed(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    url = reverse("submission_status", args=[submission.pk])
    seen = as_alice.get(url).context["progress"].fingerprint
    assert as_alice.get(url, {"seen": seen}).status_code == 204
    record_event(event(active_attempt(submission), "started", 0))
    assert as_alice.get(url, {"seen": seen}).status_code == 200


def test_the_address_in_the_fragment_carries_what_was_seen(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    response = as_alice.get(reverse("submission_status", args=[submission.pk]))
    assert f"?seen={response.context['progress'].fingerprint}" in response.content.decode()


def test_it_is_never_cached(as_alice: Client, alice: User) -> None:
    response = as_alice.get(reverse("submission_status", args=[make_submission(alice).pk]))
    assert "no-store" in response["Cache-Control"]


def test_those_that_came_later_do_not_count(as_alice: Client, alice: User, bob: User) -> None:
    submission = make_submission(alice)
    Submission.objects.filter(pk=submission.pk).update(
        created_at=submission.created_at - timedelta(seconds=1)
    )
    make_submission(bob)
    response = as_alice.get(reverse("submission_status", args=[submission.pk]))
    assert response.context["progress"].place == 1


def test_a_far_place_is_told_as_such(
    as_alice: Client, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.submissions.queries.LAST_PLACE", 2)
    for _ in range(3):
        make_submission(bob)
    assert "place 2 or later in line" in fragment(as_alice, make_submission(alice))
