"""A submission's own page, and what of a verdict it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from tests.web.samples import (
    make_submission,
    report_for,
    timing,
    verdict_event,
    wrong_gradient_for,
)
from web.accounts.models import User
from web.submissions.events import record_event
from web.submissions.models import Submission
from wire.verdict import Verdict

ATTACK = "<script>alert(1)</script>'\"><img src=x onerror=alert(2)>"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;"


def page_of(client: Client, submission: Submission) -> str:
    response = client.get(submission.get_absolute_url())
    assert response.status_code == 200
    return response.content.decode()


def test_it_shows_source_and_state(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    page = page_of(as_alice, submission)
    assert "def backward(grad_output, x, weight, rstd):" in page
    assert "every 1s" in page
    assert f"?submission={submission.pk}" in page


def test_without_javascript_it_reloads_itself_until_done(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    assert 'http-equiv="refresh"' in page_of(as_alice, submission)
    record_event(verdict_event(submission))
    assert 'http-equiv="refresh"' not in page_of(as_alice, submission)


def test_a_wrong_gradient_says_where_and_by_how_much(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    record_event(verdict_event(submission, wrong_gradient_for(submission)))
    page = page_of(as_alice, submission)
    for told in ("Wrong gradient", "dweight", "M=300", "bfloat16", "7.5e-01", "2.0e-02", "(1,)"):
        assert told in page
    assert "<svg" in page
    assert page.count("<rect") >= 4


def test_an_accepted_one_shows_its_timings(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    record_event(verdict_event(submission))
    page = page_of(as_alice, submission)
    for told in ("Accepted", "1.23 ms", "Llama-3-8B", "2.00×"):
        assert told in page


def test_a_time_measured_on_a_busy_machine_says_so(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    timings = (timing("one"), replace(timing("two"), slowdown=1.37))
    record_event(verdict_event(submission, report_for(submission, timings=timings)))
    page = page_of(as_alice, submission)
    assert page.count("on a busy machine") == 1
    assert "1.37×" in page


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_a_page(as_alice: Client, alice: User, verdict: Verdict) -> None:
    submission = make_submission(alice)
    report = report_for(submission, verdict=verdict, headline=f"About {verdict}.")
    record_event(verdict_event(submission, report))
    page = page_of(as_alice, submission)
    assert verdict.label in page
    assert f"About {verdict}." in page


def test_whatever_a_submission_prints_or_raises_is_shown_as_text(
    as_alice: Client, alice: User
) -> None:
    submission = make_submission(alice)
    Submission.objects.filter(pk=submission.pk).update(source=f"# {ATTACK}")
    record_event(verdict_event(submission, wrong_gradient_for(submission, ATTACK)))
    page = page_of(as_alice, submission)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    # headline, not-ranked reason, error's kind, message and traceback, output, case, source ...
    assert page.count(ESCAPED) >= 8


def test_no_style_attribute_is_written_for_the_policy_forbids_them(
    as_alice: Client, alice: User
) -> None:
    submission = make_submission(alice)
    record_event(verdict_event(submission, wrong_gradient_for(submission)))
    assert " style=" not in page_of(as_alice, submission)


def test_a_report_of_an_older_form_leaves_the_headline(as_alice: Client, alice: User) -> None:
    submission = make_submission(alice)
    record_event(verdict_event(submission))
    Submission.objects.update(report={"schema": 0})
    assert "Every gradient is right." in page_of(as_alice, submission)


def test_a_problem_taken_out_of_the_catalogue_leaves_the_page(
    as_alice: Client, alice: User
) -> None:
    assert "gone_for_good" in page_of(as_alice, make_submission(alice, problem="gone_for_good"))


def test_the_page_costs_few_queries(
    as_alice: Client, alice: User, django_assert_max_num_queries: Any
) -> None:
    # Session, user, submission, attempts; the place in line (3); which runners are up (3).
    submission = make_submission(alice)
    with django_assert_max_num_queries(10):
        page_of(as_alice, submission)
