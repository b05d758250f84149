"""The catalogue page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from problems.registry import all_problems
from tests.web.samples import make_submission, report_for, verdict_event
from web.accounts.models import User
from web.catalogue.views import Card
from web.submissions.events import record_event
from wire.verdict import Verdict


def cards(client: Client) -> dict[str, Card]:
    response = client.get("/")
    assert response.status_code == 200
    return {c.problem.slug: c for _, tier in response.context["tiers"] for c in tier}


def judge(user: User, verdict: Verdict = Verdict.ACCEPTED, **where: Any) -> None:
    submission = make_submission(user, **where)
    record_event(verdict_event(submission, report_for(submission, verdict=verdict)))


@pytest.mark.django_db
@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_every_problem_is_there_with_its_summary(client: Client, problem: Any) -> None:
    page = client.get("/").content.decode()
    assert f'href="/problems/{problem.url_slug}/"' in page
    assert problem.title in page


@pytest.mark.django_db
def test_each_tier_is_named_once(client: Client) -> None:
    tiers = [name for name, _ in client.get("/").context["tiers"]]
    assert len(tiers) == len(set(tiers)) > 1


def test_what_one_solved_is_marked_for_oneself(
    as_alice: Client, as_bob: Client, visitor: Client, alice: User
) -> None:
    judge(alice)
    judge(alice, Verdict.WRONG_GRADIENT, problem="swiglu")
    judge(alice, problem="linear", mode="run")
    assert {slug for slug, card in cards(as_alice).items() if card.solved} == {"rms_norm"}
    assert not any(card.solved for card in cards(as_bob).values())
    assert not any(card.solved for card in cards(visitor).values())


def test_acceptance_counts_submits_but_not_runs_or_our_own_failures(
    visitor: Client, alice: User, bob: User
) -> None:
    judge(alice)
    judge(alice, language="triton")
    judge(bob, Verdict.WRONG_GRADIENT)
    judge(bob, Verdict.TIMED_OUT)
    judge(bob, Verdict.JUDGE_FAILURE)
    judge(bob, mode="run")
    figures = cards(visitor)["rms_norm"].figures
    assert (figures.acceptance, figures.solvers) == (0.5, 1)


@pytest.mark.django_db
def test_a_problem_nobody_tried_has_no_rate(visitor: Client) -> None:
    figures = cards(visitor)["swiglu"].figures
    assert (figures.acceptance, figures.solvers) == (None, 0)


def test_the_number_of_queries_does_not_grow(
    as_alice: Client, alice: User, django_assert_num_queries: Any
) -> None:
    for problem in all_problems():
        judge(alice, problem=problem.slug)
    # session, user, rates, solvers, what Alice solved
    with django_assert_num_queries(5):
        as_alice.get("/")
