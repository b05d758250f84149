"""Judging one submission, from its source to a report. Everything else in this package serves this.

The submission runs in sandboxed processes (`runner.session`); cases, references and the clock stay here.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property

import torch

from problems.pairs import Saved
from problems.spec import Benchmark, Case, Gradients, Tensors
from runner import linearity, sanitizing, wording
from runner.answering import Answering
from runner.checking import checked, expected
from runner.diagnosis import Failure
from runner.drawing import drawn, seed
from runner.failures import SessionFailed
from runner.pool import Sessions, baseline_source, taken, taken_baseline
from runner.record import Record, Request
from runner.roofline import cpu_peak
from runner.savings import measuring, saving
from runner.session import Returned
from runner.threads import one_thread
from runner.timing import CpuTimer, Timer, against
from wire.inspection import Finding
from wire.messages import Phase
from wire.verdict import Report, Verdict

__all__ = ["Request", "judge"]

Progress = Callable[[Phase, int, int], None]

# All cases of a submission together; calls and shapes have limits of their own.
JUDGING_SECONDS = 180.0
DETERMINISM_CALLS = 3


def judge(request: Request, sessions: Sessions, progress: Progress) -> Report:
    """The report on `request`. Whatever the submission does ends in a verdict.

    Raises:
        SandboxUnavailable, HarnessBroken: judging itself failed, through no fault of the submission.
    """
    return _Judging(request, sessions, progress).report()


class _Judging:
    """One run of the judge."""

    def __init__(self, request: Request, sessions: Sessions, progress: Progress) -> None:
        self._request = request
        self._problem = request.problem
        self._sessions = sessions
        self._progress = progress
        self._record = Record(
            request,
            cases_total=len(self._plan)
            + (request.mode == "submit")  # linearity
            + len(self._measured),
            environment=wording.environment(sessions.sandbox, request.hardware),
        )
        self._deadline = time.monotonic() + JUDGING_SECONDS

    @cached_property
    def _plan(self) -> tuple[Case, ...]:
        public = [c for c in self._problem.cases if c.public]
        if self._request.mode == "run":
            return tuple(public)
        return (*public, *(drawn(c) for c in self._problem.cases if not c.public))

    @cached_property
    def _shapes(self) -> tuple[Benchmark, ...]:
        """What a submission is measured on, where it is."""
        if self._request.mode == "run":
            return ()
        return tuple(self._problem.benchmarks.get(self._request.hardware.name, ()))

    @property
    def _measured(self) -> tuple[Benchmark, ...]:
        """The shapes on which what a pair saves is measured by cases: elsewhere timed calls do."""
        return () if self._request.hardware.timed else self._shapes

    def report(self) -> Report:
        try:
            self._run()
        except SessionFailed as failure:
            if failure.verdict is Verdict.RUNTIME_ERROR:
                self._watch_anew()  # a crash, perhaps, whose reason can be seen
            return self._record.report(failure.verdict, failure.headline, error=failure.error)
        finally:
            self._sessions.refill()
        return self._record.conclusion()

    def _run(self) -> None:
        self._progress(Phase.COMPILING, 0, 1)
        seeds = [seed(self._problem, case) for case in self._plan]
        calls = [self._problem.make_arguments(c, s) for c, s in zip(self._plan, seeds, strict=True)]
        with ExitStack() as stack:
            session = stack.enter_context(self._taken())
            stack.callback(lambda: self._keep_printed(session))
            session.load(self._problem, self._request.source)
            with one_thread():
                self._judge_cases(session, seeds, calls)
                if self._request.mode == "submit":
                    self._judge_linearity(session)
                self._measure_saved(session)
                self._judge_determinism(session)
                self._watch(session)
            if self._request.timed and all(c.passed for c in self._record.cases):
                self._time(session)

    def _taken(self) -> Answering:
        return taken(self._sessions, self._request.hardware, self._problem)

    def _keep_printed(self, session: Answering) -> None:
        self._record.printed = session.printed()

    def _judge_cases(
        self, session: Answering, seeds: Sequence[int], calls: Sequence[Tensors]
    ) -> None:
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

    def _judge_case(
        self, session: Answering, case: Case, seed: int, arguments: Tensors
    ) -> Returned:
        try:
            session.prepare(arguments, case.dims)
            returned = session.call()
            session.check_unmodified()
        except SessionFailed as failure:
            self._record.add_case(case, seed, message=failure.headline)
            raise
        known = expected(self._problem, arguments)
        reports = checked(returned, known)
        self._record.add_case(case, seed, reports)
        wrong = tuple(not g.passed for g in reports[-len(self._problem.gradients) :])
        if any(wrong):
            self._record.failures.append(
                Failure(case.dims, arguments, returned.gradients, known.references, wrong)
            )
        return returned

    def _judge_linearity(self, session: Answering) -> None:
        case = replace(
            linearity.suitable(self._plan), name=linearity.NAME, why=linearity.WHY, public=False
        )
        seed = secrets.randbits(62)
        gradients = linearity.check(
            self._problem,
            lambda arguments: session.call_under(arguments, case.dims).gradients,
            linearity.upstreams(self._problem, case, seed),
        )
        self._record.add_case(case, seed, gradients)

    def _measure_saved(self, session: Answering) -> None:
        """What a pair saves, on shapes that are everybody's and values that nobody can know."""
        for shape in self._measured:
            seed = secrets.randbits(62)
            arguments = self._problem.make_arguments(shape, seed)
            returned = self._judge_case(session, measuring(shape), seed, arguments)
            self._record.savings.append(saving(self._problem, shape, returned.saved or ()))

    def _judge_determinism(self, session: Answering) -> None:
        """The same inputs again and again: bit for bit the same? One program at a time always is."""
        if not self._request.hardware.concurrent:
            return
        case = max(self._plan, key=lambda c: math.prod(c.dims.values()))
        arguments = self._problem.make_arguments(case, secrets.randbits(62))
        results = []
        for _ in range(DETERMINISM_CALLS):
            session.prepare(arguments, case.dims)
            results.append(_everything(session.call()))
        self._record.deterministic = all(_same_bits(r, results[0]) for r in results[1:])

    def _watch(self, session: Answering) -> None:
        """Look for faults that the interpreter forgives and a GPU would not."""
        if not self._request.hardware.watched:
            return
        found: list[Finding] = []
        for case in sanitizing.telling(self._plan):
            arguments = self._problem.make_arguments(case, seed(self._problem, case))
            session.prepare(arguments, case.dims)
            found += sanitizing.findings(session.watch(), case)
        self._record.findings = sanitizing.merged(found)

    def _watch_anew(self) -> None:
        """The same in another process, when the first is gone; that it ends too says nothing new."""
        if not self._request.hardware.watched:
            return
        with ExitStack() as stack, suppress(SessionFailed):
            self._watch(self._another(stack))

    def _time(self, session: Answering) -> None:
        hardware, record = self._request.hardware, self._record
        record.peak = cpu_peak()
        timer: Timer = CpuTimer(self._problem, record.peak)
        for number in range(hardware.processes):
            with ExitStack() as stack:
                submission = session if number == 0 else self._another(stack)
                baseline = stack.enter_context(
                    taken_baseline(self._sessions, hardware, self._problem)
                )
                baseline.load_baseline(self._problem, baseline_source(self._problem))
                self._sessions.settle()
                self._time_in(submission, baseline, timer, number)
        record.timings = [timer.timing(benchmark) for benchmark in self._shapes]
        if self._problem.pair is not None:
            record.savings = [saving(self._problem, b, timer.saved(b)) for b in self._shapes]
        if any(t.efficiency > 1 for t in record.timings):
            record.peak = cpu_peak(again=True)
            record.timings = [
                against(record.peak, self._problem, t, t.dims) for t in record.timings
            ]

    def _another(self, stack: ExitStack) -> Answering:
        session = stack.enter_context(self._taken())
        session.load(self._problem, self._request.source)
        return session

    def _time_in(self, submission: Answering, baseline: Answering, timer: Timer, pair: int) -> None:
        shapes = self._shapes
        for number, benchmark in enumerate(shapes):
            self._progress(
                Phase.TIMING,
                pair * len(shapes) + number + 1,
                self._request.hardware.processes * len(shapes),
            )
            timer.measure(benchmark, submission, baseline)
        self._judge_after_timing(submission)

    def _judge_after_timing(self, session: Answering) -> None:
        """One more case that did not exist when timing began: what timing taught must not matter.

        One of ordinary values and many elements: of a small or special one a guess may be right.
        """
        case = drawn(linearity.suitable(self._plan))
        seed = secrets.randbits(62)
        session.prepare(arguments := self._problem.make_arguments(case, seed), case.dims)
        reports = checked(session.call(), expected(self._problem, arguments))
        wrong = [r.name for r in reports if not r.passed]
        if wrong:
            raise SessionFailed(
                wording.verdict_on(self._problem, wrong),
                f"{wording.listed(wrong)} wrong on new values of case “{case.name}” after timing, "
                "though it was right before: does the submission keep state between calls?",
            )


def _everything(returned: Returned) -> Gradients:
    """All that a call handed over, what was saved included."""
    forward: Gradients = () if returned.forward is None else returned.forward.gradients
    saved: Saved = returned.saved or ()
    return (*forward, *saved, *returned.gradients)


def _same_bits(one: Gradients, other: Gradients) -> bool:
    return len(one) == len(other) and all(
        a.dtype == b.dtype
        and torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
        for a, b in zip(one, other, strict=True)
    )
