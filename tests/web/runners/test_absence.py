"""A language nobody judges at the moment says so before one submits, and what is sent waits."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from tests.web.runners.announcing import announce, listen
from tests.web.samples import make_submission
from web.accounts.models import User
from web.submissions.models import Submission

PROBLEM = reverse("problem", args=["rms-norm"])
FRAGMENT = reverse("absent_hardware", args=["rms-norm"])
POST = reverse("submit", args=["rms-norm"])
TOLD = "No runner for Triton interpreter is up now; a Triton submission waits until one is back."


def test_it_is_told_beside_the_buttons_for_exactly_the_hardware_that_is_away(
    visitor: Client,
) -> None:
    listen(since=1000)
    announce(hardware=["cpu"])
    page = visitor.get(PROBLEM).content.decode()
    assert TOLD in page
    assert "No runner for CPU" not in page


def test_nothing_is_told_while_every_hardware_has_a_runner_or_nothing_is_known(
    visitor: Client,
) -> None:
    assert "No runner for" not in visitor.get(PROBLEM).content.decode()
    listen(since=1000)
    announce()
    assert "No runner for" not in visitor.get(PROBLEM).content.decode()


def test_an_open_page_learns_of_it_and_of_the_return(visitor: Client) -> None:
    listen(since=1000)
    announce()
    assert visitor.get(FRAGMENT, {"seen": "none"}).status_code == 204
    announce(hardware=["cpu"])
    told = visitor.get(FRAGMENT, {"seen": "none"})
    assert TOLD in told.content.decode()
    seen = told.context["absent_seen"]
    assert f"?seen={seen}" in told.content.decode()
    assert visitor.get(FRAGMENT, {"seen": seen}).status_code == 204
    announce()
    back = visitor.get(FRAGMENT, {"seen": seen})
    assert back.status_code == 200
    assert "No runner for" not in back.content.decode()


def test_a_submission_is_taken_and_its_page_says_what_it_waits_for(
    as_alice: Client, alice: User
) -> None:
    listen(since=1000)
    data = {"source": "x = 1", "language": "triton", "mode": "run"}
    assert as_alice.post(POST, data).status_code == 302
    submission = Submission.objects.get()
    assert submission.state == "queued"
    status = reverse("submission_status", args=[submission.pk])
    waiting = as_alice.get(status)
    assert "No runner for Triton interpreter is up now" in waiting.content.decode()
    seen = waiting.context["progress"].fingerprint
    assert as_alice.get(status, {"seen": seen}).status_code == 204
    announce()
    again = as_alice.get(status, {"seen": seen})
    assert again.status_code == 200
    assert "No runner for" not in again.content.decode()


def test_where_a_runner_is_up_a_submission_only_waits(as_alice: Client, alice: User) -> None:
    listen(since=1000)
    announce()
    status = reverse("submission_status", args=[make_submission(alice).pk])
    assert "No runner for" not in as_alice.get(status).content.decode()
