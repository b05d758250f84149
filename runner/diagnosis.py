"""What a wrong gradient looks like: comparing it with the gradients that common mistakes give.

A suspicion (`runner.suspicions`) is voiced only when it explains every failing case that can tell, in
the same words, to within the rounding of the output; better silent than wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from problems.spec import Problem
from runner.look import Failure, Look
from runner.suspicions import CANNOT_TELL, CONTRADICTED, SUBTLE, SUSPICIONS, Kind
from runner.threads import one_thread

MOST_CASES = 6

__all__ = ["Failure", "Finding", "Kind", "diagnose", "findings"]


@dataclass(frozen=True)
class Finding:
    """What one wrong gradient looks like, in a sentence."""

    gradient: str
    kind: Kind
    text: str


def diagnose(problem: Problem, failures: Sequence[Failure]) -> str:
    """One or two sentences on what the wrong gradients look like; empty without strong evidence."""
    return " ".join(dict.fromkeys(f.text for f in findings(problem, failures)))


def findings(problem: Problem, failures: Sequence[Failure]) -> tuple[Finding, ...]:
    """At most one finding for each gradient that is wrong somewhere."""
    found = []
    with one_thread():
        for index, spec in enumerate(problem.gradients):
            looks = [Look(problem, spec, index, f) for f in failures if f.wrong[index]][:MOST_CASES]
            found += _finding(spec.name, looks)
    return tuple(found)


def _finding(name: str, looks: Sequence[Look]) -> list[Finding]:
    for kind, suspicion in SUSPICIONS:
        answers = {suspicion(look) for look in looks if look.tells(subtle=kind in SUBTLE)}
        voiced = answers - {CANNOT_TELL}
        if len(voiced) == 1 and CONTRADICTED not in voiced:
            return [Finding(name, kind, str(voiced.pop()))]
    return []
