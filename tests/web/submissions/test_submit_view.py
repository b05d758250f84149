"""Posting from the page, with htmx and without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from tests.web.samples import SOURCE, make_submission
from web.accounts.models import User
from web.submissions.models import Submission

URL = reverse("submit", args=["rms-norm"])
HTMX = {"hx-request": "true"}


def fields(**changes: str) -> dict[str, str]:
    return {
        "source": SOURCE,
        "language": "triton",
        "mode": "run",
        "idempotency_key": "k1",
    } | changes


def test_htmx_gets_the_fragment_that_follows_the_submission(as_alice: Client) -> None:
    response = as_alice.post(URL, fields(), headers=HTMX)
    page = response.content.decode()
    submission = Submission.objects.get()
    assert response.status_code == 200
    assert reverse("submission_status", args=[submission.pk]) in page
    assert reverse("submission", args=[submission.pk]) in page
    assert "every 1s" in page
    assert "<html" not in page


def test_htmx_gets_a_fresh_key_for_the_next_press(as_alice: Client) -> None:
    page = as_alice.post(URL, fields(), headers=HTMX).content.decode()
    assert 'id="idempotency-key"' in page
    assert "hx-swap-oob" in page
    assert 'value="k1"' not in page


def test_a_plain_post_leads_to_the_submissions_page(as_alice: Client) -> None:
    response = as_alice.post(URL, fields(mode="submit"))
    submission = Submission.objects.get()
    assert (response.status_code, response["Location"]) == (302, submission.get_absolute_url())
    assert (submission.mode, submission.problem, submission.problem_version) == (
        "submit",
        "rms_norm",
        1,
    )


def test_the_post_is_sent_to_the_judge(
    as_alice: Client, commits: Callable[[], Any], sent_jobs: Callable[[], list[dict[str, Any]]]
) -> None:
    with commits():
        as_alice.post(URL, fields())
    assert [(job["language"], job["mode"], job["source"]) for job in sent_jobs()] == [
        ("triton", "run", SOURCE)
    ]


@pytest.mark.usefixtures("broken_broker")
def test_the_page_answers_though_the_broker_is_away(
    as_alice: Client, commits: Callable[[], Any]
) -> None:
    with commits():
        response = as_alice.post(URL, fields(), headers=HTMX)
    assert response.status_code == 200
    assert Submission.objects.get().state == "queued"


def test_line_ends_of_the_browser_are_undone(as_alice: Client) -> None:
    as_alice.post(URL, fields(source="a\r\nb\n"))
    assert Submission.objects.get().source == "a\nb\n"


def test_a_repeated_post_shows_the_same_submission(as_alice: Client) -> None:
    first = as_alice.post(URL, fields())
    again = as_alice.post(URL, fields())
    assert first["Location"] == again["Location"]
    assert Submission.objects.count() == 1


def test_a_refused_htmx_post_gets_the_message(as_alice: Client) -> None:
    response = as_alice.post(URL, fields(source=" "), headers=HTMX)
    assert response.status_code == 422
    assert "The source is empty" in response.content.decode()
    assert "<html" not in response.content.decode()


def test_a_refused_plain_post_shows_the_page_with_the_source_kept(
    as_alice: Client, alice: User
) -> None:
    for _ in range(3):
        make_submission(alice)
    precious = "# </textarea> precious & rare\n"
    response = as_alice.post(URL, fields(source=precious, language="pytorch"))
    assert (response.status_code, response["Retry-After"]) == (429, "5")
    assert response.context["draft"].source == precious
    assert response.context["draft"].language == "pytorch"
    assert "still being judged" in response.context["draft"].message
    assert "# &lt;/textarea&gt; precious &amp; rare" in response.content.decode()


def test_a_visitor_runs_and_is_asked_to_sign_up_to_submit(visitor: Client) -> None:
    assert visitor.post(URL, fields(), headers=HTMX).status_code == 200
    assert Submission.objects.get().visitor
    response = visitor.post(URL, fields(mode="submit"), headers=HTMX)
    assert response.status_code == 422
    assert "sign up" in response.content.decode()


def test_a_visitors_runs_belong_to_the_same_visitor(visitor: Client) -> None:
    for number in range(2):
        visitor.post(URL, fields(idempotency_key=str(number)))
    assert Submission.objects.values("visitor").distinct().count() == 1


def test_an_address_with_underscores_takes_posts_as_well(as_alice: Client) -> None:
    assert as_alice.post("/problems/rms_norm/submit/", fields()).status_code == 302


def test_opening_the_address_leads_to_the_problem(as_alice: Client) -> None:
    response = as_alice.get(URL)
    assert (response.status_code, response["Location"]) == (
        302,
        reverse("problem", args=["rms-norm"]),
    )


def test_a_post_for_no_problem_is_not_found(as_alice: Client) -> None:
    assert as_alice.post("/problems/nothing/submit/", fields()).status_code == 404


def test_a_post_from_another_site_is_refused(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(URL, fields()).status_code == 403
    assert not Submission.objects.exists()


def test_who_posts_too_often_is_told_beside_the_buttons_when_to_press_again(
    as_alice: Client, settings: Any
) -> None:
    settings.BACKPASS_LIMITS = settings.BACKPASS_LIMITS | {"user": "1/hour"}
    as_alice.post(URL, fields())
    response = as_alice.post(URL, fields(idempotency_key="k2"), headers=HTMX)
    assert response.status_code == 429
    assert 3500 < int(response["Retry-After"]) <= 3600
    assert (response["HX-Retarget"], response["HX-Reswap"]) == ("#refusal", "outerHTML")
    said = response.content.decode()
    assert 'id="refusal"' in said
    assert (
        "In 1 hour at most 1 submission is taken from one person. Press the button again in" in said
    )
    assert Submission.objects.count() == 1


def test_a_press_that_is_repeated_is_not_counted(as_alice: Client, settings: Any) -> None:
    settings.BACKPASS_LIMITS = settings.BACKPASS_LIMITS | {"user": "1/hour"}
    assert as_alice.post(URL, fields()).status_code == 302
    assert as_alice.post(URL, fields()).status_code == 302


def test_what_is_refused_is_not_counted(as_alice: Client, settings: Any) -> None:
    settings.BACKPASS_LIMITS = settings.BACKPASS_LIMITS | {"user": "1/hour"}
    for _ in range(3):
        assert as_alice.post(URL, fields(source=" ")).status_code == 422
    assert as_alice.post(URL, fields()).status_code == 302


def test_without_an_account_a_new_session_does_not_help_but_another_address_does(
    visitor: Client, settings: Any
) -> None:
    settings.BACKPASS_LIMITS = settings.BACKPASS_LIMITS | {"visitor": "2/hour"}
    for number in range(2):
        assert Client().post(URL, fields(idempotency_key=str(number))).status_code == 302
    forged = {"x-forwarded-for": "203.0.113.9"}
    assert Client().post(URL, fields(), headers=forged).status_code == 429
    assert Client().post(URL, fields(), REMOTE_ADDR="192.0.2.9").status_code == 302


def test_a_plain_post_that_is_too_many_keeps_the_source(as_alice: Client, settings: Any) -> None:
    settings.BACKPASS_LIMITS = settings.BACKPASS_LIMITS | {"user": "1/minute"}
    as_alice.post(URL, fields())
    response = as_alice.post(URL, fields(source="# precious\n", idempotency_key="k2"))
    assert response.status_code == 429
    assert 1 <= int(response["Retry-After"]) <= 60
    assert response.context["draft"].source == "# precious\n"
    assert "Press the button again in" in response.content.decode()


def test_a_press_that_is_taken_clears_what_was_refused_before(as_alice: Client) -> None:
    taken = as_alice.post(URL, fields(), headers=HTMX).content.decode()
    assert '<div id="refusal" hx-swap-oob="true"></div>' in taken


def test_no_session_is_stored_for_a_stranger_who_is_refused(db: None, settings: Any) -> None:
    settings.BACKPASS_LIMITS = settings.BACKPASS_LIMITS | {"visitor": "1/hour"}
    assert Client().post(URL, fields(source=" ")).status_code == 422
    assert not Session.objects.exists()
    assert Client().post(URL, fields()).status_code == 302
    assert Client().post(URL, fields()).status_code == 429
    assert Session.objects.count() == 1
