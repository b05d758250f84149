"""The catalogue page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from problems.registry import all_problems
from tests.web.samples import make_submission, report_for, verdict_event
from web.accounts.models import User
from web.catalogue.listing import Card
from web.submissions.events import record_event
from wire.verdict import Verdict


def cards(client: Client, query: str = "") -> dict[str, Card]:
    response = client.get(f"/{query}")
    assert response.status_code == 200
    return {c.problem.slug: c for tier in response.context["tiers"] for c in tier.cards}


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
    tiers = [tier.name for tier in client.get("/").context["tiers"]]
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


@pytest.mark.django_db
@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_tags_and_models_lead_to_what_shares_them(client: Client, problem: Any) -> None:
    page = client.get(f"/?q={problem.slug}").content.decode()
    links = re.findall(r'href="(/\?(?:tag|model)=[^"]*)"', page)
    assert len(links) >= 2
    for link in links:
        assert client.get(link).context["shown"] >= 1, link


@pytest.mark.django_db
def test_a_search_is_an_ordinary_form_that_keeps_what_was_chosen(client: Client) -> None:
    page = client.get("/?q=norm&tier=Reductions").content.decode()
    assert '<input type="search" name="q" value="norm"' in page
    assert "<option selected>Reductions</option>" in page
    assert "3 of " in page
    assert 'href="/problems/rms-norm/"' in page
    assert 'href="/problems/swiglu/"' not in page


@pytest.mark.django_db
def test_nothing_found_says_what_to_do(client: Client) -> None:
    page = client.get("/?q=xyzzy").content.decode()
    assert "No problem fits all of this." in page
    assert "show all" in page


@pytest.mark.django_db
def test_htmx_gets_the_list_alone_and_a_clean_address(client: Client) -> None:
    answer = client.get("/?q=norm&tier=&tag=", headers={"HX-Request": "true"})
    page = answer.content.decode()
    assert "<html" not in page
    assert 'href="/problems/rms-norm/"' in page
    assert answer["HX-Replace-Url"] == "/?q=norm"
    assert "HX-Request" in answer["Vary"]


@pytest.mark.django_db
def test_going_back_in_history_gets_the_whole_page(client: Client) -> None:
    headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert "<html" in client.get("/?q=norm", headers=headers).content.decode()


def test_only_those_with_an_account_may_ask_for_what_they_solved(
    as_alice: Client, visitor: Client, alice: User
) -> None:
    judge(alice)
    assert set(cards(as_alice, "?state=solved")) == {"rms_norm"}
    assert "rms_norm" not in cards(as_alice, "?state=open")
    assert 'name="state"' in as_alice.get("/").content.decode()
    assert 'name="state"' not in visitor.get("/").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("field", ["q", "tier", "tag", "model", "state"])
def test_what_is_asked_comes_back_escaped(client: Client, field: str) -> None:
    page = client.get("/", {field: "<b>'\"&\0"}).content.decode()
    assert "<b>" not in page
    assert "nobody yet" not in page
