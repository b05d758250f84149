"""The verdict on a submission, as the runner makes it, the web stores it and the command line prints it.

Dataclasses with `to_json`; the JSON is the stable form (`schema` says which). Times are seconds.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from wire.inspection import Finding

SCHEMA = 1


class Verdict(StrEnum):
    """How judging ended."""

    ACCEPTED = "accepted"
    WRONG_GRADIENT = "wrong_gradient"
    WRONG_OUTPUT = "wrong_output"  # of forward, in a pair
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    MEMORY_FAULT = "memory_fault"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    INVALID_OUTPUT = "invalid_output"
    JUDGE_FAILURE = "judge_failure"

    @property
    def label(self) -> str:
        return self.value.replace("_", " ").capitalize()


@dataclass(frozen=True)
class HeatMap:
    """Where a gradient is wrong: share of wrong elements in each cell of a coarse grid, row by row.

    The gradient is seen as a matrix (leading dimensions flattened); `extent` is that matrix's size.
    """

    rows: int
    columns: int
    extent: tuple[int, int]
    wrong_share: tuple[float, ...]


@dataclass(frozen=True)
class WrongElement:
    """One element beyond its allowance. Numbers are text, so that NaN and inf survive JSON."""

    index: tuple[int, ...]
    expected: str
    got: str


@dataclass(frozen=True)
class Measure:
    """One way of measuring an error, beside what it was allowed to be."""

    name: str
    error: float | None  # None: not finite
    allowed: float

    @property
    def passed(self) -> bool:
        return self.error is not None and self.error <= self.allowed

    @property
    def severity(self) -> float:
        """The share of the allowance that is used: above 1 is wrong."""
        if self.error is None:
            return math.inf
        if self.allowed == 0:
            return math.inf if self.error > 0 else 0.0
        return self.error / self.allowed


@dataclass(frozen=True)
class GradientReport:
    """One gradient of one case."""

    name: str
    passed: bool
    shape: tuple[int, ...]
    dtype: str
    measures: tuple[Measure, ...] = ()
    error: float | None = None  # the worst measure's, by its share of the allowance
    allowed: float | None = None
    worst_measure: str = ""
    wrong_count: int = 0
    total: int = 0
    first_wrong: WrongElement | None = None
    heat_map: HeatMap | None = None


@dataclass(frozen=True)
class CaseReport:
    """One case. Hidden cases carry no seed and no values."""

    name: str
    why: str
    public: bool
    dims: dict[str, int]
    dtype: str
    passed: bool
    seed: int | None = None
    gradients: tuple[GradientReport, ...] = ()
    message: str = ""


# A machine is calm while its arithmetic, and the meeting of its threads, takes no longer than this,
# measured against its best. On one machine readings fell into two heaps, around 1.1 and from 1.25 (of
# meetings 1.4) on, with times half as long again. On another (benchmarks/results/calm.md) most of
# arithmetic lie from 1.1 to 1.3, and the median of a kernel moves by 5 % at most.
CALM = 1.2


@dataclass(frozen=True)
class TimingPart:
    """The share of one function in the time of a pair; seconds, as median and baseline are."""

    name: str
    median: float
    baseline: float


@dataclass(frozen=True)
class Timing:
    """One benchmark shape, timed by the judge's clock."""

    name: str
    model: str
    dims: dict[str, int]
    median: float
    quartiles: tuple[float, float]
    calls: int
    baseline: float
    roofline: float
    efficiency: float  # roofline / median
    speedup: float  # baseline / median
    reported: float  # the sandbox's own median, which must agree
    uncertainty: float
    processes: int = 1  # pairs, the submission's and the baseline's, that made the calls
    parts: tuple[TimingPart, ...] = ()  # of a pair: forward, backward
    # How many times longer than at its best the machine took, around these calls, for arithmetic or for
    # having threads meet: the slower of the two.
    slowdown: float = 1.0

    @property
    def disturbed(self) -> bool:
        """Others used the machine meanwhile: the time may be too long."""
        return self.slowdown > CALM


@dataclass(frozen=True)
class SavedTensor:
    """One tensor that a pair's `forward` saved, as it was handed over: without strides."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class Saving:
    """What a pair saves for `backward` at one shape, beside what plain PyTorch saves there; bytes."""

    name: str
    model: str
    dims: dict[str, int]
    tensors: tuple[SavedTensor, ...]
    bytes: int
    baseline: int


@dataclass(frozen=True)
class Peak:
    """What a machine can do at best: bytes a second, and FLOPs a second by unit."""

    bandwidth: float
    vector_flops: float
    matrix_flops: float


@dataclass(frozen=True)
class SourceError:
    """What the user's code raised, told with the user's own line numbers and without our paths."""

    kind: str
    message: str
    traceback: str
    line: int | None = None


@dataclass(frozen=True)
class Report:
    """All that judging found. `headline` is one sentence; `score` ranks, higher is better."""

    verdict: Verdict
    headline: str
    problem: str
    problem_version: int
    hardware: str
    language: str
    mode: str
    cases: tuple[CaseReport, ...] = ()
    cases_total: int = 0
    timings: tuple[Timing, ...] = ()
    score: float | None = None
    speedup: float | None = None
    savings: tuple[Saving, ...] = ()  # of a pair, on the shapes on which it is ranked
    saved_bytes: int | None = None  # of all these shapes; fewer is better
    ranked: bool = False
    not_ranked_because: str = ""
    diagnosis: str = ""  # what wrong gradients look like, when the evidence is strong
    deterministic: bool | None = None  # same inputs, same bits; None where it cannot be told
    error: SourceError | None = None
    findings: tuple[Finding, ...] = ()  # faults that the interpreter saw while the kernels ran
    output: str = ""  # what the submission printed, cut
    failure: str = ""  # of a judge failure, what failed: "sandbox", "time limit", "judge", "lost"
    environment: dict[str, str] = field(default_factory=dict)
    peak: Peak | None = None  # of the machine, which the timings' rooflines are made of
    schema: int = SCHEMA

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict: enums as strings, tuples as lists."""
        data: dict[str, Any] = _listed(asdict(self))
        data["verdict"] = self.verdict.value
        return data


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _listed(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_listed(v) for v in value]
    return value
