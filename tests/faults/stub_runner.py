"""The real runner process with a judge that sleeps: `celery -A tests.faults.stub_runner worker ...`.

Everything but judging is the product's: worker, messages, beats, reports. The judge reads from the
source which verdict and score it is to find, and stays in a phase for as long as a file
`<runner>.<phase>` lies in the folder FAULTS_HOLD.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from runner import tasks
from runner.judge import Request
from wire.messages import Phase
from wire.verdict import Report, Verdict

MARK = "# stub: "


def source_for(number: int, score: float, verdict: Verdict = Verdict.ACCEPTED) -> str:
    """A source for which this judge finds that verdict and score."""
    found = json.dumps({"number": number, "score": score, "verdict": verdict.value})
    return f"def backward(grad_output, x):\n    return x\n{MARK}{found}\n"


def sleeping_judge(
    request: Request, _sessions: object, progress: Callable[[Phase, int, int], None]
) -> Report:
    """Goes through the phases of judging; the report says which process made it."""
    found = json.loads(request.source.partition(MARK)[2])
    for phase in Phase:
        progress(phase, 0, 1)
        while (Path(os.environ["FAULTS_HOLD"]) / f"{os.environ['FAULTS_NAME']}.{phase}").exists():
            time.sleep(0.05)
        time.sleep(0.01)
    verdict = Verdict(found["verdict"])
    accepted = verdict is Verdict.ACCEPTED
    return Report(
        verdict=verdict,
        headline=f"Found by {os.environ['FAULTS_NAME']}.",
        problem=request.problem.slug,
        problem_version=request.problem.version,
        hardware=request.hardware.name,
        language=request.language,
        mode=request.mode,
        score=found["score"] if accepted else None,
        speedup=1.0 if accepted else None,
        ranked=accepted,
    )


class _NoSessions(contextlib.nullcontext[None]):
    """What the runner asks of its waiting sandboxes when nothing is judged in them."""

    sandbox = SimpleNamespace(name="none")


vars(tasks).update(judge=sleeping_judge, warm_sessions=_NoSessions)
app = tasks.app
