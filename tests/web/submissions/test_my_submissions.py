"""The list of one's own submissions."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from tests.web.samples import SOURCE, make_submission
from web.accounts.models import User
from web.submissions.models import Submission

URL = reverse("my_submissions")


def listed(client: Client, **query: Any) -> list[Submission]:
    return list(client.get(URL, query).context["page"])


def test_only_ones_own_newest_first(as_alice: Client, alice: User, bob: User) -> None:
    first = make_submission(alice)
    make_submission(bob)
    make_submission(visitor="v")
    second = make_submission(alice, mode="run")
    assert listed(as_alice) == [second, first]


def test_a_visitor_sees_what_this_browser_ran(visitor: Client) -> None:
    make_submission(visitor="somebody else")
    visitor.post(
        reverse("submit", args=["rms-norm"]),
        {"source": SOURCE, "language": "triton", "mode": "run"},
    )
    assert [s.visitor for s in listed(visitor)] == [visitor.session["visitor"]]


def test_somebody_who_ran_nothing_sees_nothing(visitor: Client) -> None:
    make_submission(visitor="v")
    assert listed(visitor) == []


def test_fifty_on_a_page(as_alice: Client, alice: User) -> None:
    for _ in range(51):
        make_submission(alice)
    assert len(listed(as_alice)) == 50
    assert len(listed(as_alice, page=2)) == 1
    assert len(listed(as_alice, page="nonsense")) == 50


def test_the_number_of_queries_does_not_grow(
    as_alice: Client, alice: User, django_assert_max_num_queries: Any
) -> None:
    for _ in range(20):
        make_submission(alice)
    with django_assert_max_num_queries(4):
        as_alice.get(URL)
