"""Jobs to the runner and events back from it.

A job names its attempt; every event carries that id, so that whatever an older attempt still says can
be dropped. Events may be lost, doubled or late: only the database knows what happened.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypedDict

from wire.verdict import Verdict

JUDGE_TASK = "runner.judge"
EVENT_TASK = "web.record_event"
INSPECTION_TASK = "web.record_inspection"
RESULTS_QUEUE = "results"

Mode = Literal["run", "submit"]


def judge_queue(hardware: str) -> str:
    """The queue on which runners of that hardware listen."""
    return f"judge.{hardware}"


class Hardware(StrEnum):
    """Hardware that ships with every installation. GPU runners bring names of their own later."""

    CPU = "cpu"
    INTERPRETER = "interpreter"


class BadMessage(ValueError):
    """A message from the other side that is not what was agreed."""


@dataclass(frozen=True)
class JobMessage:
    """One submission to judge. `mode` "run" judges the public cases only and times nothing."""

    attempt: str
    problem: str
    language: str
    hardware: str
    mode: Mode
    source: str

    def to_json(self) -> dict[str, str]:
        return asdict(self)


class EventKind(StrEnum):
    STARTED = "started"  # data: {"runner": name}
    PROGRESS = "progress"  # data: ProgressData
    BEAT = "beat"  # data: {}
    RETURNED = "returned"  # data: {}; the job came a second time and was not judged
    VERDICT = "verdict"  # data: Report.to_json()


class Phase(StrEnum):
    COMPILING = "compiling"
    CASES = "cases"
    TIMING = "timing"


class ProgressData(TypedDict):
    """Where judging stands: the `done`-th of `total` things of a phase is under way."""

    phase: str
    done: int
    total: int


@dataclass(frozen=True)
class Event:
    """Something a runner says about an attempt. `seq` grows within an attempt."""

    attempt: str
    kind: EventKind
    seq: int
    data: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "attempt": self.attempt,
            "kind": self.kind.value,
            "seq": self.seq,
            "data": self.data,
        }

    @classmethod
    def from_json(cls, raw: Any) -> Event:
        """Raises BadMessage unless `raw` has exactly the agreed fields and types."""
        try:
            attempt, kind, seq, data = raw["attempt"], raw["kind"], raw["seq"], raw["data"]
            event = cls(attempt=attempt, kind=EventKind(kind), seq=seq, data=data)
        except (TypeError, KeyError, ValueError) as error:
            raise BadMessage(f"not an event: {error!r}") from error
        if not isinstance(attempt, str) or type(seq) is not int or not isinstance(data, dict):
            raise BadMessage("an event's attempt is text, its seq a number and its data an object")
        return event


def is_inspected(language: str, verdict: str) -> bool:
    """Whether a look inside follows: of what could be loaded, in a language of kernels."""
    nothing_to_see = (Verdict.COMPILE_ERROR, Verdict.JUDGE_FAILURE)
    return language == "triton" and verdict not in nothing_to_see


@dataclass(frozen=True)
class InspectionMessage:
    """A look inside what an attempt judged, sent after its verdict; `packed` by `wire.packing`."""

    attempt: str
    packed: str

    def to_json(self) -> dict[str, str]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Any) -> InspectionMessage:
        """Raises BadMessage unless `raw` has exactly the agreed fields and types."""
        if not isinstance(raw, dict) or raw.keys() != {"attempt", "packed"}:
            raise BadMessage("an inspection's message has an attempt and what is packed")
        if not all(isinstance(value, str) for value in raw.values()):
            raise BadMessage("an inspection's attempt is text, and so is what is packed")
        return cls(**raw)
