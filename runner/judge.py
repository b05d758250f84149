"""Judging one submission, from its source to a report. Everything else in this package serves this.

The submission runs in a sandboxed process (`runner.session`); cases, references and the clock stay here.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from problems import Language, Problem
from problems.spec import Benchmark, Case, Gradients, Tensors
from runner import linearity, sanitizing, wording
from runner.compare import compare, expect
from runner.diagnosis import Failure, diagnose
from runner.drawing import drawn, seed
from runner.failures import SessionFailed
from runner.hardware import HardwareSpec
from runner.pool import Sessions, baseline_source
from runner.roofline import Peak, cpu_peak
from runner.session import Session
from runner.timing import CpuTimer, Timer, against, objections
from wire.inspection import Finding
from wire.messages import Mode, Phase
from wire.verdict import CaseReport, GradientReport, Report, SourceError, Timing, Verdict

Progress = Callable[[Phase, int, int], None]

# All cases of a submission together; calls and shapes have limits of their own.
JUDGING_SECONDS = 180.0
DETERMINISM_CALLS = 3


@dataclass(frozen=True)
class Request:
    """What to judge. `mode` "run" judges the public cases only and times nothing."""

    problem: Problem
    language: Language
    hardware: HardwareSpec
    mode: Mode
    source: str


def judge(request: Request, sessions: Sessions, progress: Progress) -> Report:
    """The report on `request`. Whatever the submission does ends in a verdict.

    Raises:
        SandboxUnavailable, HarnessBroken: judging itself failed, through no fault of the submission.
    """
    return _Judging(request, sessions, progress).report()


class _Judging:
    """One run of the judge, and what it has found so far."""

    def __init__(self, request: Request, sessions: Sessions, progress: Progress) -> None:
        self._request = request
        self._problem = request.problem
        self._sessions = sessions
        self._progress = progress
        self._cases: list[CaseReport] = []
        self._timings: list[Timing] = []
        self._peak: Peak | None = None  # known once something was timed
        self._failures: list[Failure] = []
        self._findings: tuple[Finding, ...] = ()
        self._printed = ""
        self._deterministic: bool | None = None
        self._deadline = time.monotonic() + JUDGING_SECONDS

    @cached_property
    def _plan(self) -> tuple[Case, ...]:
        public = [c for c in self._problem.cases if c.public]
        if self._request.mode == "run":
            return tuple(public)
        return (*public, *(drawn(c) for c in self._problem.cases if not c.public))

    @property
    def _times(self) -> bool:
        return self._request.mode == "submit" and self._request.hardware.timed

    @cached_property
    def _benchmarks(self) -> tuple[Benchmark, ...]:
        return self._problem.benchmarks[self._request.hardware.name] if self._times else ()

    def report(self) -> Report:
        try:
            self._run()
        except SessionFailed as failure:
            if failure.verdict is Verdict.RUNTIME_ERROR:
                self._watch_anew()  # a crash, perhaps, whose reason can be seen
            return self._report(failure.verdict, failure.headline, error=failure.error)
        finally:
            self._sessions.refill()
        wrong = next((c for c in self._cases if not c.passed), None)
        if wrong is not None:
            return self._report(Verdict.WRONG_GRADIENT, wording.wrong(wrong))
        fault = next((f for f in self._findings if f.kind in sanitizing.SERIOUS), None)
        if fault is not None:
            return self._faulty(fault)
        return self._accepted()

    def _run(self) -> None:
        self._progress(Phase.COMPILING, 0, 1)
        seeds = [seed(self._problem, case) for case in self._plan]
        calls = [self._problem.make_arguments(c, s) for c, s in zip(self._plan, seeds, strict=True)]
        with ExitStack() as stack:
            session = stack.enter_context(self._sessions.take(self._request.hardware))
            stack.callback(lambda: self._keep_printed(session))
            session.load(self._problem, self._request.source)
            for number, (case, case_seed, arguments) in enumerate(
                zip(self._plan, seeds, calls, strict=True)
            ):
                self._progress(Phase.CASES, number + 1, len(self._plan))
                if time.monotonic() > self._deadline:
                    raise SessionFailed(
                        Verdict.TIMED_OUT,
                        f"All cases together took longer than {JUDGING_SECONDS:g} s.",
                    )
                self._judge_case(session, case, case_seed, arguments)
            if self._request.mode == "submit":
                self._judge_linearity(session)
            self._judge_determinism(session)
            self._watch(session)
            if self._times and all(c.passed for c in self._cases):
                self._time(session)

    def _keep_printed(self, session: Session) -> None:
        self._printed = session.printed()

    def _judge_case(self, session: Session, case: Case, seed: int, arguments: Tensors) -> None:
        try:
            session.prepare(arguments, case.dims)
            returned = session.call()
            session.check_unmodified()
        except SessionFailed as failure:
            self._cases.append(self._case_report(case, seed, message=failure.headline))
            raise
        expectation = expect(self._problem, arguments)
        gradients = compare(self._problem, returned.gradients, expectation)
        self._cases.append(self._case_report(case, seed, gradients))
        if not all(g.passed for g in gradients):
            wrong = tuple(not g.passed for g in gradients)
            self._failures.append(
                Failure(case.dims, arguments, returned.gradients, expectation.references, wrong)
            )

    def _judge_linearity(self, session: Session) -> None:
        case = replace(
            linearity.suitable(self._plan), name=linearity.NAME, why=linearity.WHY, public=False
        )

        def call(arguments: Tensors) -> Gradients:
            session.prepare(arguments, case.dims)
            return session.call().gradients

        seed = secrets.randbits(62)
        upstream = linearity.upstreams(self._problem, case, seed)
        gradients = linearity.check(self._problem, call, upstream)
        self._cases.append(self._case_report(case, seed, gradients))

    def _judge_determinism(self, session: Session) -> None:
        """The same inputs again and again: bit for bit the same? One program at a time always is."""
        if not self._request.hardware.concurrent:
            return
        case = max(self._plan, key=lambda c: math.prod(c.dims.values()))
        arguments = self._problem.make_arguments(case, secrets.randbits(62))
        results = []
        for _ in range(DETERMINISM_CALLS):
            session.prepare(arguments, case.dims)
            results.append(session.call().gradients)
        self._deterministic = all(_same_bits(r, results[0]) for r in results[1:])

    def _watch(self, session: Session) -> None:
        """Look for faults that the interpreter forgives and a GPU would not."""
        if not self._request.hardware.watched:
            return
        found: list[Finding] = []
        for case in sanitizing.telling(self._plan):
            arguments = self._problem.make_arguments(case, seed(self._problem, case))
            session.prepare(arguments, case.dims)
            found += sanitizing.findings(session.watch(), case)
        self._findings = sanitizing.merged(found)

    def _watch_anew(self) -> None:
        """The same in another process, when the first is gone; that it ends too says nothing new."""
        if not self._request.hardware.watched:
            return
        with ExitStack() as stack, suppress(SessionFailed):
            self._watch(self._another(stack))

    def _faulty(self, fault: Finding) -> Report:
        """Every gradient is right, by the order in which the interpreter runs programs."""
        at = f" Line {fault.line}:" if fault.line else ""
        return self._report(
            Verdict.MEMORY_FAULT,
            f"All {len(self._cases)} cases are right in the interpreter, but a GPU would not forgive "
            f"this.{at} {fault.message}.",
            error=SourceError(
                kind=fault.kind.replace("_", " "),
                message=fault.message,
                traceback="",
                line=fault.line or None,
            ),
        )

    def _case_report(
        self, case: Case, seed: int, gradients: tuple[GradientReport, ...] = (), message: str = ""
    ) -> CaseReport:
        dtype = str(self._problem.arguments[1].dtype).removeprefix("torch.")
        return CaseReport(
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

    def _time(self, session: Session) -> None:
        self._peak = cpu_peak()
        timer: Timer = CpuTimer(self._problem, self._peak)
        for number in range(self._request.hardware.processes):
            with ExitStack() as stack:
                submission = session if number == 0 else self._another(stack)
                baseline = stack.enter_context(self._sessions.take_baseline(self._request.hardware))
                baseline.load(self._problem, baseline_source(self._problem))
                self._sessions.settle()
                self._time_in(submission, baseline, timer, number)
        self._timings = [timer.timing(benchmark) for benchmark in self._benchmarks]
        if any(t.efficiency > 1 for t in self._timings):
            self._peak = cpu_peak(again=True)
            self._timings = [against(self._peak, self._problem, t, t.dims) for t in self._timings]

    def _another(self, stack: ExitStack) -> Session:
        session = stack.enter_context(self._sessions.take(self._request.hardware))
        session.load(self._problem, self._request.source)
        return session

    def _time_in(self, submission: Session, baseline: Session, timer: Timer, pair: int) -> None:
        shapes = self._benchmarks
        for number, benchmark in enumerate(shapes):
            self._progress(
                Phase.TIMING,
                pair * len(shapes) + number + 1,
                self._request.hardware.processes * len(shapes),
            )
            timer.measure(benchmark, submission, baseline)
        self._judge_after_timing(submission)

    def _judge_after_timing(self, session: Session) -> None:
        """One more case that did not exist when timing began: what timing taught must not matter.

        One of ordinary values and many elements: of a small or special one a guess may be right.
        """
        case = drawn(linearity.suitable(self._plan))
        seed = secrets.randbits(62)
        session.prepare(arguments := self._problem.make_arguments(case, seed), case.dims)
        reports = compare(self._problem, session.call().gradients, expect(self._problem, arguments))
        wrong = [r.name for r in reports if not r.passed]
        if wrong:
            raise SessionFailed(
                Verdict.WRONG_GRADIENT,
                f"{wording.listed(wrong)} wrong on new values of case “{case.name}” after timing, "
                "though it was right before: does the submission keep state between calls?",
            )

    def _accepted(self) -> Report:
        if self._request.mode == "run":
            return self._report(Verdict.ACCEPTED, f"All {len(self._cases)} public cases are right.")
        if not self._times:
            return self._report(
                Verdict.ACCEPTED,
                f"Logic checked: all {len(self._cases)} cases are right.",
                ranked=True,
            )
        timings = tuple(self._timings)
        objection = objections(timings)
        score = wording.geometric_mean([t.efficiency for t in timings])
        speedup = wording.geometric_mean([t.speedup for t in timings])
        headline = (
            f"All {len(self._cases)} cases are right. {score:.1%} of the roofline, "
            f"{speedup:.2f}× the speed of plain PyTorch."
        )
        return self._report(
            Verdict.ACCEPTED,
            f"All {len(self._cases)} cases are right, but the time is not ranked."
            if objection
            else headline,
            score=None if objection else score,
            speedup=speedup,
            ranked=not objection,
            objection=objection,
        )

    def _report(
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
        request = self._request
        return Report(
            verdict=verdict,
            headline=headline,
            problem=self._problem.slug,
            problem_version=self._problem.version,
            hardware=request.hardware.name,
            language=request.language.value,
            mode=request.mode,
            cases=tuple(self._cases),
            cases_total=len(self._plan) + (request.mode == "submit"),
            timings=tuple(self._timings),
            peak=self._peak,
            score=score,
            speedup=speedup,
            ranked=ranked,
            not_ranked_because=objection,
            error=error,
            findings=self._findings,
            diagnosis=diagnose(self._problem, self._failures),
            deterministic=self._deterministic,
            output=self._printed,
            environment=wording.environment(self._sessions.sandbox, request.hardware),
        )


def _same_bits(one: Gradients, other: Gradients) -> bool:
    return all(
        torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
        for a, b in zip(one, other, strict=True)
    )
