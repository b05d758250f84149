"""The page of a problem, for every problem there is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from problems.registry import all_problems
from problems.spec import Language, Problem
from tests.web.samples import make_submission, verdict_event
from web.accounts.models import User
from web.catalogue.markup import render_markdown, render_parts
from web.catalogue.pages import benchmark_rows
from web.submissions.events import record_event

URL = reverse("problem", args=["rms-norm"])
every_problem = pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)


@pytest.mark.django_db
@every_problem
def test_it_shows_all_that_the_problem_says(client: Client, problem: Problem) -> None:
    response = client.get(reverse("problem", args=[problem.url_slug]))
    page = response.content.decode()
    assert response.status_code == 200
    for section in ("statement", "special", "derivation"):
        assert render_markdown(problem.text[section]) in page
    for title, body in render_parts(problem.text["hints"]):
        assert title in page
        assert body in page
    for case in problem.cases:
        assert (case.shape_label in page) or not case.public
    for row in benchmark_rows(problem):
        assert escape(row.benchmark.model) in page
        assert row.cost.bytes > 0
    assert response.context["hidden_cases"] == sum(not c.public for c in problem.cases)


@pytest.mark.django_db
@every_problem
def test_its_page_obeys_the_security_policy(client: Client, problem: Problem) -> None:
    response = client.get(reverse("problem", args=[problem.url_slug]))
    page = response.content.decode()
    assert " style=" not in page
    assert not re.search(r"<[^>]*\son[a-z]+=", page)
    policy = response["Content-Security-Policy"]
    nonces = set(re.findall(r"'nonce-([^']+)'", policy))
    assert "unsafe" not in policy
    for tag in re.findall(r"<script\b[^>]*>", page):
        nonce = re.search(r'nonce="([^"]+)"', tag)
        is_data = 'type="application/json"' in tag
        assert is_data or 'src="/static/' in tag or (nonce and nonce[1] in nonces)


@pytest.mark.django_db
def test_the_editor_begins_with_the_starter_of_the_first_language(client: Client) -> None:
    response = client.get(URL)
    languages = response.context["languages"]
    assert {choice.name for choice in languages} == {"triton", "pytorch"}
    assert response.context["draft"].language == languages[0].name
    assert response.context["starters"] == {c.name: c.starter for c in languages}


@pytest.mark.django_db
def test_only_languages_with_hardware_are_offered(client: Client, settings: Any) -> None:
    settings.BACKPASS_HARDWARE = ["cpu"]
    assert [c.name for c in client.get(URL).context["languages"]] == [Language.PYTORCH]


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["rms_norm", "RMS-Norm", "RMS_NORM"])
@pytest.mark.parametrize("page", ["problem", "solutions", "leaderboard"])
def test_other_spellings_lead_to_the_one_address(client: Client, slug: str, page: str) -> None:
    response = client.get(reverse(page, args=[slug]), {"hardware": "cpu"})
    assert response.status_code == 301
    assert response["Location"] == reverse(page, args=["rms-norm"]) + "?hardware=cpu"


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["problem", "solutions", "leaderboard"])
def test_no_such_problem_is_not_found(client: Client, page: str) -> None:
    assert client.get(reverse(page, args=["perpetual-motion"])).status_code == 404


def test_ones_latest_submissions_and_best_are_listed(
    as_alice: Client, as_bob: Client, alice: User
) -> None:
    made = [make_submission(alice) for _ in range(6)]
    make_submission(alice, problem="swiglu")
    record_event(verdict_event(made[0]))
    context = as_alice.get(URL).context
    assert list(context["latest"]) == made[:0:-1]
    assert [standing.submission for standing in context["best"]] == [made[0]]
    stranger = as_bob.get(URL).context
    assert list(stranger["latest"]) == []
    assert stranger["best"] == []


def test_an_earlier_source_can_be_edited_again(
    as_alice: Client, as_bob: Client, alice: User
) -> None:
    submission = make_submission(alice)
    draft = as_alice.get(URL, {"submission": str(submission.pk)}).context["draft"]
    assert (draft.source, draft.language) == (submission.source, "pytorch")
    assert as_bob.get(URL, {"submission": str(submission.pk)}).status_code == 404
    assert as_alice.get(URL, {"submission": "nonsense"}).status_code == 404


def test_the_page_costs_few_queries(
    as_alice: Client, alice: User, django_assert_max_num_queries: Any
) -> None:
    for _ in range(5):
        record_event(verdict_event(make_submission(alice)))
    with django_assert_max_num_queries(7):
        as_alice.get(URL)
