"""Which submissions stand on a board, and which replace which."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from problems import get_problem
from tests.web.inspection.samples import inspection, message
from tests.web.samples import make_submission, report_for, timing, verdict_event
from web.accounts.models import User
from web.boards.freshness import version_of
from web.boards.models import Standing
from web.inspection.models import StoredInspection
from web.inspection.storing import record_inspection
from web.submissions.events import record_event
from web.submissions.models import Attempt, Submission
from web.submissions.rejudge import request_rejudge
from wire.inspection import MODEL, RANKED_GPU, ModelledTime
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


def looked_into(submission: Submission, *efficiencies: float, **changes: Any) -> Submission:
    """What a runner finds inside after the verdict: modelled times on the benchmark shapes of GPUs."""
    problem = get_problem("rms_norm")
    times = tuple(
        ModelledTime(RANKED_GPU, shape.model, 1e-3 / efficiency, 1e-3, {}, shape.name, MODEL)
        for shape, efficiency in zip(problem.benchmarks["gpu"], efficiencies, strict=False)
    )
    values: dict[str, Any] = {"models": times, "problem_version": problem.version} | changes
    assert record_inspection(
        message(submission.attempts.latest("created_at"), inspection(**values))
    )
    return submission


def solved(user: User, *efficiencies: float, **changes: Any) -> Submission:
    return looked_into(judge(make_submission(user, language="triton")), *efficiencies, **changes)


def board() -> list[tuple[str, float | None]]:
    return [
        (str(standing.submission_id), standing.score and round(standing.score, 6))
        for standing in Standing.objects.order_by("pk")
    ]


def test_an_inspection_gives_the_standing_its_modelled_score(alice: User) -> None:
    submission = judge(make_submission(alice, language="triton"))
    assert board() == [(str(submission.pk), None)]
    before = version_of("rms_norm", "interpreter")
    looked_into(submission, 0.9, 0.4)
    ((key, score),) = board()
    assert key == str(submission.pk)
    assert score == pytest.approx(0.6)
    standing = Standing.objects.get()
    assert standing.model_version == MODEL
    assert [t["efficiency"] for t in standing.timings] == pytest.approx([0.9, 0.4])
    after = version_of("rms_norm", "interpreter")
    assert after != before
    looked_into(submission, 0.9, 0.4)  # the same once more
    assert version_of("rms_norm", "interpreter") == after


def test_the_higher_modelled_score_stands_whenever_it_comes(alice: User) -> None:
    first = solved(alice, 0.5, 0.5)
    second = judge(make_submission(alice, language="triton"))
    assert board() == [(str(first.pk), 0.5)]
    looked_into(second, 0.8, 0.8)
    assert board() == [(str(second.pk), 0.8)]
    solved(alice, 0.7, 0.7)
    assert board() == [(str(second.pk), 0.8)]


@pytest.mark.parametrize(
    ("efficiencies", "changes"),
    [
        ((0.9,), {}),
        ((), {}),
        ((0.9, 0.9), {"problem_version": 0}),
        ((0.9, 0.9), {"models": ()}),
    ],
    ids=["a shape is missing", "none", "of another version of the problem", "no models"],
)
def test_an_incomplete_inspection_gives_no_score(
    alice: User, efficiencies: tuple[float, ...], changes: dict[str, Any]
) -> None:
    submission = solved(alice, *efficiencies, **changes)
    assert board() == [(str(submission.pk), None)]


def test_times_of_an_older_model_or_another_gpu_do_not_count(alice: User) -> None:
    shapes = get_problem("rms_norm").benchmarks["gpu"]
    of_before = tuple(
        ModelledTime(RANKED_GPU, s.model, 2e-3, 1e-3, {}, s.name, MODEL - 1) for s in shapes
    )
    elsewhere = tuple(
        ModelledTime("A100 80 GB", s.model, 2e-3, 1e-3, {}, s.name, MODEL) for s in shapes
    )
    for models in (of_before, elsewhere):
        solved(alice, models=models)
    assert [score for _, score in board()] == [None]


def test_one_that_overtakes_its_verdict_counts_once_the_verdict_is_there(alice: User) -> None:
    submission = make_submission(alice, language="triton")
    looked_into(submission, 0.9, 0.9)
    assert board() == []
    judge(submission)
    ((key, score),) = board()
    assert key == str(submission.pk)
    assert score == pytest.approx(0.9)


def test_a_score_of_an_older_model_gives_way(alice: User) -> None:
    solved(alice, 0.9, 0.9)
    StoredInspection.objects.update(model_version=MODEL - 1)
    Standing.objects.update(model_version=MODEL - 1)
    newer = solved(alice, 0.2, 0.2)
    assert board() == [(str(newer.pk), 0.2)]


def test_a_run_and_what_was_refused_get_no_standing_by_an_inspection(alice: User) -> None:
    looked_into(judge(make_submission(alice, language="triton", mode="run")), 0.9, 0.9)
    refused = judge(make_submission(alice, language="triton"), verdict=Verdict.WRONG_GRADIENT)
    looked_into(refused, 0.9, 0.9)
    assert board() == []


def test_a_rejudge_that_refuses_hands_the_place_to_the_next_best_with_its_score(
    alice: User, stella: User
) -> None:
    second = solved(alice, 0.5, 0.5)
    first = solved(alice, 0.8, 0.8)
    request_rejudge(Submission.objects.filter(pk=first.pk), by=stella, batch=uuid.uuid4())
    Attempt.objects.create(submission=first, rejudge=first.rejudges.get(), number=1)
    judge(first, verdict=Verdict.WRONG_GRADIENT)
    assert board() == [(str(second.pk), 0.5)]


def test_a_rejudge_for_a_newer_version_of_the_problem_waits_for_its_own_inspection(
    alice: User, stella: User
) -> None:
    submission = solved(alice, 0.8, 0.8)
    request_rejudge(Submission.objects.filter(pk=submission.pk), by=stella, batch=uuid.uuid4())
    Attempt.objects.create(submission=submission, rejudge=submission.rejudges.get(), number=1)
    judge(submission, problem_version=2)
    assert board() == [(str(submission.pk), None)]


def test_score_and_inspection_are_stored_together_or_not_at_all(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the database went away")

    submission = judge(make_submission(alice, language="triton"))
    monkeypatch.setattr("web.inspection.storing.inspection_came", fail)
    with pytest.raises(RuntimeError):
        looked_into(submission, 0.9, 0.9)
    assert not StoredInspection.objects.exists()


def test_without_a_modelled_time_the_first_solve_stays(alice: User) -> None:
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
