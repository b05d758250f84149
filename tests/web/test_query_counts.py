"""A page costs the same number of queries however many users, submissions and verdicts there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.web.samples import make_submission, report_for, verdict_event
from web.accounts.models import User
from web.submissions.events import record_event
from web.submissions.models import EarlierVerdict, Submission


def fill(owner: User, others: list[User], each: int) -> Submission:
    """Submissions of everybody, judged and not, on several problems; one with earlier verdicts."""
    for user in (owner, *others):
        for number in range(each):
            problem = ("rms_norm", "swiglu", "linear")[number % 3]
            submission = make_submission(user, problem=problem)
            if number % 4:
                report = report_for(submission, score=0.1 + number / 100)
                record_event(verdict_event(submission, report))
    submission = owner.submissions.filter(state="done").latest("created_at")
    for _ in range(each):
        EarlierVerdict.objects.create(
            submission=submission,
            verdict="accepted",
            problem_version=1,
            judged_at=submission.created_at,
        )
    return submission


PAGES: dict[str, Callable[[Submission], str]] = {
    "all problems": lambda _: "/",
    "problem": lambda _: "/problems/rms-norm/",
    "roofline": lambda _: "/problems/rms-norm/roofline/?on=cpu",
    "board": lambda _: "/problems/rms-norm/leaderboard/",
    "submission": lambda submission: submission.get_absolute_url(),
    "status": lambda submission: f"{submission.get_absolute_url()}status/",
    "own submissions": lambda _: "/submissions/",
    "runners": lambda _: "/status/",
}


@pytest.fixture
def counted(as_alice: Client, visitor: Client, alice: User, bob: User) -> list[dict[str, int]]:
    """Queries by page and reader: with few rows, with many."""
    counts: list[dict[str, int]] = []
    for size in (4, 13):
        others = [User.objects.create(username=f"user{size}-{n}") for n in range(size)]
        submission = fill(alice, [bob, *others], size)
        counts.append({})
        for page, address in PAGES.items():
            for reader, client in (("alice", as_alice), ("a visitor", visitor)):
                with CaptureQueriesContext(
                    connection,
                ) as queries:
                    client.get(address(submission))
                counts[-1][f"{page} for {reader}"] = len(queries)
    return counts


def test_the_number_is_the_same_for_few_and_many(counted: list[dict[str, int]]) -> None:
    few, many = counted
    assert many == few
    assert max(many.values()) <= 12
