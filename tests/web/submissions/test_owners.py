"""Runs made before signing up become the user's."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from tests.web.conftest import PASSWORD
from tests.web.samples import SOURCE, make_submission
from web.accounts.models import User
from web.submissions.models import Submission

RUN = {"source": SOURCE, "language": "triton", "mode": "run", "idempotency_key": "k"}


def run(client: Client) -> Submission:
    response = client.post(reverse("submit", args=["rms-norm"]), RUN)
    return Submission.objects.get(pk=response["Location"].split("/")[-2])


def log_in(client: Client) -> None:
    response = client.post(reverse("account_login"), {"login": "alice", "password": PASSWORD})
    assert response.status_code == 302


def test_logging_in_claims_what_the_browser_ran(visitor: Client, alice: User) -> None:
    submission = run(visitor)
    log_in(visitor)
    submission.refresh_from_db()
    assert (submission.user, submission.visitor) == (alice, "")
    assert visitor.get(submission.get_absolute_url()).status_code == 200


def test_signing_up_claims_it_as_well(visitor: Client) -> None:
    submission = run(visitor)
    visitor.post(
        reverse("account_signup"),
        {"username": "carol", "password1": PASSWORD, "password2": PASSWORD},
    )
    submission.refresh_from_db()
    assert submission.user == User.objects.get(username="carol")


def test_others_runs_stay_theirs(visitor: Client, alice: User) -> None:
    other = make_submission(visitor="other")
    run(visitor)
    log_in(visitor)
    other.refresh_from_db()
    assert (other.user, other.visitor) == (None, "other")


def test_a_key_used_before_and_after_the_login_is_no_conflict(visitor: Client, alice: User) -> None:
    elsewhere = Client()
    elsewhere.force_login(alice)
    run(elsewhere)
    run(visitor)
    log_in(visitor)
    assert alice.submissions.count() == 2


def test_after_logging_out_one_is_another_visitor(visitor: Client, alice: User) -> None:
    submission = run(visitor)
    log_in(visitor)
    visitor.post(reverse("account_logout"))
    assert visitor.get(submission.get_absolute_url()).status_code == 404
    assert run(visitor).user is None
