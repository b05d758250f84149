"""Faults that a GPU would not forgive, looked for in the interpreter while a submission runs some cases.

What the watching process tells is data from an enemy: a submission can keep silent about its faults, but
it cannot say anything about others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from problems.spec import Case
from runner.failures import text
from wire.inspection import Finding

# What decides: a GPU would give wrong gradients, or none. Reading memory that holds nothing may be
# harmless, when what was read is thrown away.
SERIOUS = ("race", "out_of_bounds", "unwritten_output")
KINDS = (*SERIOUS, "uninitialized_read")
MOST_CASES = 4
MOST_FINDINGS = 20


def telling(cases: Sequence[Case]) -> list[Case]:
    """The cases to watch: of all public ones the two smallest and the two largest, which have one
    program in a launch and many, and last blocks that are not full; and one that adds to a buffer."""
    public = sorted((c for c in cases if c.public), key=lambda c: math.prod(c.dims.values()))
    half = MOST_CASES // 2
    if len(public) <= MOST_CASES:
        return public
    chosen = [*public[:half], *public[-half:]]
    accumulating = [c for c in public[half:-half] if c.accumulate]
    return chosen + ([] if any(c.accumulate for c in chosen) else accumulating[:1])


def findings(reply: Mapping[str, Any], case: Case) -> list[Finding]:
    """What a reply tells, as far as it is what it should be."""
    told = reply.get("findings")
    found = (
        [_finding(f, case) for f in told if isinstance(f, dict)] if isinstance(told, list) else []
    )
    return [f for f in found if f is not None][:MOST_FINDINGS]


def merged(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """One finding for each kind, line and tensor: the first; serious ones first."""
    first: dict[tuple[str, int, str], Finding] = {}
    for finding in found:
        first.setdefault((finding.kind, finding.line, finding.tensor), finding)
    ordered = sorted(first.values(), key=lambda f: (f.kind not in SERIOUS, f.line))
    return tuple(ordered[:MOST_FINDINGS])


def _finding(told: Mapping[str, Any], case: Case) -> Finding | None:
    if told.get("kind") not in KINDS:
        return None
    return Finding(
        kind=str(told["kind"]),
        message=text(told.get("message", ""), 500),
        line=_number(told.get("line")),
        kernel=text(told.get("kernel", ""), 200),
        tensor=text(told.get("tensor", ""), 200),
        index=_numbers(told.get("index")),
        program=_numbers(told.get("program")),
        case=case.name,
        count=max(_number(told.get("count")), 1),
    )


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value < 10**6 else 0


def _numbers(value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, list) else []
    return tuple(v for v in values[:8] if type(v) is int and abs(v) < 1 << 62)
