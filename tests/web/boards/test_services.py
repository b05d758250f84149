"""Which submissions stand on a board, and which replace which."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.web.samples import make_submission, report_for, timing, verdict_event
from web.accounts.models import User
from web.boards.models import Standing
from web.submissions.events import record_event
from web.submissions.models import Submission
from wire.verdict import Verdict


def judge(submission: Submission, **changes: Any) -> Submission:
    assert record_event(verdict_event(submission, report_for(submission, **changes)))
    return submission


def test_an_accepted_submission_stands_with_its_figures(alice: User) -> None:
    submission = judge(make_submission(alice), timings=(timing("a"), timing("b", 0.5)))
    standing = Standing.objects.get()
    assert (standing.user, standing.submission) == (alice, submission)
    assert (standing.score, standing.speedup, standing.language) == (0.5, 2.0, "pytorch")
    assert standing.timings[1] == {
        "name": "b",
        "median": 0.5,
        "speedup": 2.0,
        "efficiency": 0.5,
    }
    assert standing.achieved_at == submission.created_at


@pytest.mark.parametrize(
    ("mode", "changes"),
    [
        ("run", {}),
        ("submit", {"ranked": False, "not_ranked_because": "the clocks disagree"}),
        ("submit", {"score": None}),
        *[("submit", {"verdict": v}) for v in Verdict if v is not Verdict.ACCEPTED],
    ],
)
def test_nothing_else_stands(alice: User, mode: str, changes: dict[str, Any]) -> None:
    judge(make_submission(alice, mode=mode), **changes)
    assert not Standing.objects.exists()


def test_a_visitors_run_does_not_stand(db: None) -> None:
    judge(make_submission(visitor="v"), ranked=True)
    assert not Standing.objects.exists()


def test_a_better_score_replaces_and_a_worse_one_does_not(alice: User) -> None:
    judge(make_submission(alice), score=0.5)
    better = judge(make_submission(alice), score=0.7, speedup=3.0)
    judge(make_submission(alice), score=0.6)
    standing = Standing.objects.get()
    assert (standing.submission, standing.score, standing.speedup) == (better, 0.7, 3.0)


def test_of_equal_scores_the_one_posted_first_stays(alice: User) -> None:
    first, second = make_submission(alice), make_submission(alice)
    Submission.objects.filter(pk=first.pk).update(
        created_at=second.created_at - timedelta(minutes=1)
    )
    first.refresh_from_db()
    judge(second)
    judge(first)
    assert Standing.objects.get().submission == first
    judge(make_submission(alice))
    assert Standing.objects.get().submission == first


def test_in_the_interpreter_the_first_solve_stays(alice: User) -> None:
    first = judge(make_submission(alice, language="triton"))
    judge(make_submission(alice, language="triton"))
    standing = Standing.objects.get()
    assert (standing.submission, standing.score, standing.hardware) == (first, None, "interpreter")


def test_each_hardware_problem_and_user_has_a_row(alice: User, bob: User) -> None:
    for user in (alice, bob):
        judge(make_submission(user))
        judge(make_submission(user, language="triton"))
        judge(make_submission(user, problem="swiglu"))
    assert Standing.objects.count() == 6


def test_a_newer_version_of_the_problem_replaces_even_a_better_score(alice: User) -> None:
    judge(make_submission(alice), score=0.9)
    newer = judge(make_submission(alice, problem_version=2), score=0.3)
    judge(make_submission(alice), score=0.95)
    assert Standing.objects.get().submission == newer


def test_verdict_and_standing_are_stored_together_or_not_at_all(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the database went away")

    submission = make_submission(alice)
    monkeypatch.setattr("web.submissions.lifecycle.update_standing", fail)
    with pytest.raises(RuntimeError):
        judge(submission)
    submission.refresh_from_db()
    assert (submission.state, submission.verdict) == ("queued", "")
