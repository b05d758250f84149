"""Reports as a runner would send them, and submissions in the states that tests begin from."""

from __future__ import annotations

import itertools
import uuid
from dataclasses import replace
from typing import Any

from web.accounts.models import User
from web.submissions.lifecycle import start_attempt
from web.submissions.models import Attempt, Submission
from wire.messages import Event, EventKind
from wire.verdict import (
    CaseReport,
    GradientReport,
    HeatMap,
    Measure,
    Report,
    SourceError,
    Timing,
    Verdict,
    WrongElement,
)

_HARDWARE = {"pytorch": "cpu", "triton": "interpreter"}
_NUMBERS = itertools.count()

SOURCE = "def backward(grad_output, x, weight, rstd):\n    return None\n"


def make_submission(
    user: User | None = None,
    *,
    visitor: str = "",
    language: str = "pytorch",
    mode: str = "",
    problem: str = "rms_norm",
    problem_version: int = 1,
) -> Submission:
    """A queued submission with its first attempt; nothing is sent outside of a commit."""
    submission = Submission.objects.create(
        problem=problem,
        problem_version=problem_version,
        language=language,
        hardware=_HARDWARE[language],
        mode=mode or ("submit" if user else "run"),
        source=SOURCE + f"# {next(_NUMBERS)}\n",
        user=user,
        visitor="" if user else visitor or uuid.uuid4().hex,
    )
    start_attempt(submission, number=1)
    return submission


def active_attempt(submission: Submission) -> Attempt:
    return submission.attempts.get(state__in=Attempt.ACTIVE)


def report_for(submission: Submission, **changes: Any) -> Report:
    """An accepted report, ranked when it was submitted, with the `changes`."""
    measured = submission.hardware == "cpu"
    accepted = Report(
        verdict=Verdict.ACCEPTED,
        headline="Every gradient is right.",
        problem=submission.problem,
        problem_version=submission.problem_version,
        hardware=submission.hardware,
        language=submission.language,
        mode=submission.mode,
        cases=(
            CaseReport("small", "The smallest shape.", True, {"M": 2, "N": 4}, "bfloat16", True),
        ),
        cases_total=1,
        timings=(timing(),) if measured else (),
        score=0.5 if measured else None,
        speedup=2.0 if measured else None,
        ranked=submission.mode == "submit",
    )
    return replace(accepted, **changes)


def timing(name: str = "llama-3-8b", median: float = 0.00123) -> Timing:
    return Timing(
        name=name,
        model="Llama-3-8B, 1024 tokens",
        dims={"M": 1024, "N": 4096},
        median=median,
        quartiles=(median * 0.99, median * 1.02),
        calls=40,
        baseline=2 * median,
        roofline=median / 2,
        efficiency=0.5,
        speedup=2.0,
        reported=median,
        uncertainty=0.01,
    )


def wrong_gradient_for(submission: Submission, text: str = "3.5") -> Report:
    """A report with everything a wrong gradient comes with; `text` stands wherever text is free."""
    gradient = GradientReport(
        name="dweight",
        passed=False,
        shape=(4,),
        dtype="float32",
        measures=(Measure("relative norm", None, 1e-3), Measure("worst element", 0.75, 0.02)),
        error=0.75,
        allowed=0.02,
        worst_measure="worst element",
        wrong_count=3,
        total=4,
        first_wrong=WrongElement((1,), expected=text, got=text),
        heat_map=HeatMap(1, 4, (1, 4), (0.0, 1.0, 1.0, 1.0)),
    )
    case = CaseReport(
        "tall", text, True, {"M": 300, "N": 4}, "bfloat16", False, 7, (gradient,), message=text
    )
    return report_for(
        submission,
        verdict=Verdict.WRONG_GRADIENT,
        headline=f"dweight is wrong in case tall: {text}",
        cases=(case,),
        timings=(),
        score=None,
        speedup=None,
        ranked=False,
        not_ranked_because=text,
        error=SourceError(text, text, f"Traceback: {text}", 3),
        output=text,
        environment={"torch": text},
    )


def event(attempt: Attempt, kind: str, seq: int = 0, data: dict[str, Any] | None = None) -> Any:
    """An event as it comes off the queue."""
    return Event(str(attempt.pk), EventKind(kind), seq, data or {}).to_json()


def verdict_event(submission: Submission, report: Report | None = None, seq: int = 9) -> Any:
    report = report or report_for(submission)
    return event(active_attempt(submission), "verdict", seq, report.to_json())
