"""What judging one submission has found so far, and the report that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from problems import Language, Problem
from problems.spec import Case
from runner import sanitizing, wording
from runner.diagnosis import Failure, diagnose
from runner.hardware import HardwareSpec
from runner.timing import objections
from wire.inspection import Finding
from wire.messages import Mode
from wire.verdict import (
    CaseReport,
    GradientReport,
    Peak,
    Report,
    Saving,
    SourceError,
    Timing,
    Verdict,
)


@dataclass(frozen=True)
class Request:
    """What to judge. `mode` "run" judges the public cases only and times nothing."""

    problem: Problem
    language: Language
    hardware: HardwareSpec
    mode: Mode
    source: str

    @property
    def timed(self) -> bool:
        return self.mode == "submit" and self.hardware.timed


@dataclass
class Record:
    """Grows while a submission is judged; `cases_total` is how many cases there will be."""

    request: Request
    cases_total: int
    environment: dict[str, str]
    cases: list[CaseReport] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    savings: list[Saving] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    printed: str = ""
    deterministic: bool | None = None
    peak: Peak | None = None  # known once something was timed

    @property
    def problem(self) -> Problem:
        return self.request.problem

    def add_case(
        self, case: Case, seed: int, gradients: tuple[GradientReport, ...] = (), message: str = ""
    ) -> None:
        """A case that was judged, or that ended with `message`."""
        dtype = str(self.problem.arguments[1].dtype).removeprefix("torch.")
        self.cases.append(
            CaseReport(
                name=case.name,
                why=case.why,
                public=case.public,
                dims=dict(case.dims),
                dtype=dtype,
                passed=not message and all(g.passed for g in gradients),
                seed=seed if case.public else None,
                gradients=gradients,
                message=message,
            )
        )

    def conclusion(self) -> Report:
        """The report when everything was asked that there is to ask."""
        wrong = next((c for c in self.cases if not c.passed), None)
        if wrong is not None:
            names = [g.name for g in wrong.gradients if not g.passed]
            return self.report(wording.verdict_on(self.problem, names), wording.wrong(wrong))
        fault = next((f for f in self.findings if f.kind in sanitizing.SERIOUS), None)
        return self._accepted() if fault is None else self._faulty(fault)

    def _faulty(self, fault: Finding) -> Report:
        """Every gradient is right, by the order in which the interpreter runs programs."""
        at = f" Line {fault.line}:" if fault.line else ""
        return self.report(
            Verdict.MEMORY_FAULT,
            f"All {len(self.cases)} cases are right in the interpreter, but a GPU would not forgive "
            f"this.{at} {fault.message}.",
            error=SourceError(
                kind=fault.kind.replace("_", " "),
                message=fault.message,
                traceback="",
                line=fault.line or None,
            ),
        )

    def _accepted(self) -> Report:
        count = len(self.cases)
        saved = wording.saved(self.savings)
        if self.request.mode == "run":
            return self.report(Verdict.ACCEPTED, f"All {count} public cases are right.")
        if not self.request.timed:
            return self.report(
                Verdict.ACCEPTED, f"Logic checked: all {count} cases are right.{saved}", ranked=True
            )
        objection = objections(tuple(self.timings))
        score = wording.geometric_mean([t.efficiency for t in self.timings])
        speedup = wording.geometric_mean([t.speedup for t in self.timings])
        headline = (
            f"All {count} cases are right. {score:.1%} of the roofline, "
            f"{speedup:.2f}× the speed of plain PyTorch.{saved}"
        )
        return self.report(
            Verdict.ACCEPTED,
            f"All {count} cases are right, but the time is not ranked." if objection else headline,
            score=None if objection else score,
            speedup=speedup,
            ranked=not objection,
            objection=objection,
        )

    def report(
        self,
        verdict: Verdict,
        headline: str,
        *,
        error: SourceError | None = None,
        score: float | None = None,
        speedup: float | None = None,
        ranked: bool = False,
        objection: str = "",
    ) -> Report:
        """All that was found, under a verdict."""
        request = self.request
        return Report(
            verdict=verdict,
            headline=headline,
            problem=self.problem.slug,
            problem_version=self.problem.version,
            hardware=request.hardware.name,
            language=request.language.value,
            mode=request.mode,
            cases=tuple(self.cases),
            cases_total=self.cases_total,
            timings=tuple(self.timings),
            score=score,
            speedup=speedup,
            peak=self.peak,
            savings=tuple(self.savings),
            saved_bytes=sum(s.bytes for s in self.savings) if self.savings else None,
            ranked=ranked,
            not_ranked_because=objection,
            error=error,
            findings=self.findings,
            diagnosis=diagnose(self.problem, self.failures),
            deterministic=self.deterministic,
            output=self.printed,
            environment=self.environment,
        )
