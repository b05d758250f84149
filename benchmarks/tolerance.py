"""How far the judge's tolerance is from honest kernels on one side and from mutants on the other.

    python -m benchmarks.tolerance [--seeds 50] [problem ...]

A gradient's *severity* is its error as a share of what is allowed, in the measure that is worst; above 1
it is refused. Kept for every gradient in results/tolerance.json, a problem at a time, and written from
there to results/tolerance.md:

- of each honest backward, the largest severity over all seeds, cases and measures: below 1, with margin;
- of each mutant, the smallest over the seeds of its largest severity: above 1, with margin. Only the
  cases that showed it best on the first seed are tried on the others, and all if those do not, so the
  true value is no smaller.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.honest import Backward, between, honest
from problems import Problem, all_problems, get_problem
from problems.mutants import Mutant, mutants_of
from problems.spec import Case, Tensors
from runner import tolerance
from runner.compare import Expectation, compare, expect
from wire.verdict import GradientReport

RESULT = Path(__file__).parent / "results" / "tolerance.md"
RECORDS = RESULT.with_suffix(".json")
SHORTLIST = 3
# Rows of the largest float32 sums that GPU benchmarks ask for.
TALL = {"rms_norm": {"M": 131072, "N": 16}, "linear": {"M": 131072, "N": 8, "K": 8}}


@dataclass(frozen=True)
class Finding:
    """A severity, and the measure and case that showed it."""

    severity: float
    measure: str
    case: str


Findings = dict[tuple[str, str], Finding]  # by who was judged and the gradient


@dataclass(frozen=True)
class Call:
    """One case on one seed."""

    case: Case
    arguments: Tensors
    expectation: Expectation

    def findings(self, problem: Problem, backward: Backward) -> Iterator[tuple[str, Finding]]:
        """What the judge finds in each gradient."""
        for report in compare(problem, backward(**self.arguments), self.expectation):
            yield report.name, _finding(report, self.case)


def _finding(report: GradientReport, case: Case) -> Finding:
    worst = max(report.measures, key=lambda m: m.severity)
    return Finding(worst.severity, worst.name, case.name)


class Study:
    """Everything found about one problem."""

    def __init__(self, problem: Problem, seeds: int) -> None:
        self.problem = problem
        self.honest: Findings = {}
        self.between: Findings = {}
        self.mutants: Findings = {}
        self._shortlist: dict[str, list[str]] = {}
        for seed in range(seeds):
            torch.manual_seed(seed)
            calls = [self._call(case, seed) for case in problem.cases]
            self._judge(calls, honest(problem), self.honest)
            self._judge(calls, between(problem), self.between)
            self._judge_mutants(calls)
        if problem.slug in TALL:
            tall = Case("131072 rows", TALL[problem.slug], "")
            self._judge([self._call(tall, 0)], honest(problem), self.honest)

    def _call(self, case: Case, seed: int) -> Call:
        arguments = self.problem.make_arguments(case, seed)
        return Call(case, arguments, expect(self.problem, arguments))

    def _judge(self, calls: list[Call], backwards: Mapping[str, Backward], worst: Findings) -> None:
        for name, backward in backwards.items():
            for call in calls:
                for gradient, found in call.findings(self.problem, backward):
                    key = name, gradient
                    if key not in worst or found.severity > worst[key].severity:
                        worst[key] = found

    def _judge_mutants(self, calls: list[Call]) -> None:
        for mutant in mutants_of(self.problem):
            cases = self._shortlist.get(mutant.name)
            chosen = [c for c in calls if cases is None or c.case.name in cases]
            largest = self._largest(mutant, chosen)
            if any(found.severity <= 1 for found in largest.values()):
                largest = self._largest(mutant, calls)
            for gradient, found in largest.items():
                key = mutant.name, gradient
                if key not in self.mutants or found.severity < self.mutants[key].severity:
                    self.mutants[key] = found

    def _largest(self, mutant: Mutant, calls: list[Call]) -> dict[str, Finding]:
        found = [
            (gradient, finding)
            for call in calls
            for gradient, finding in call.findings(self.problem, mutant.backward)
            if gradient in mutant.gradients
        ]
        found.sort(key=lambda pair: -pair[1].severity)
        if mutant.name not in self._shortlist:
            self._shortlist[mutant.name] = [
                finding.case
                for g in mutant.gradients
                for finding in [f for name, f in found if name == g][:SHORTLIST]
            ]
        return {g: next(f for name, f in found if name == g) for g in mutant.gradients}


@dataclass(frozen=True)
class Record:
    """What was found about one problem: findings by who was judged and the gradient."""

    problem: Problem
    seeds: int
    honest: Findings
    between: Findings
    mutants: Findings

    @classmethod
    def of(cls, study: Study, seeds: int) -> Record:
        return cls(study.problem, seeds, study.honest, study.between, study.mutants)

    @classmethod
    def read(cls, slug: str, kept: Mapping[str, Any]) -> Record:
        groups = (
            {
                (name, gradient): Finding(**found)
                for name, gradients in kept[group].items()
                for gradient, found in gradients.items()
            }
            for group in _GROUPS
        )
        return cls(get_problem(slug), kept["seeds"], *groups)

    def kept(self) -> dict[str, Any]:
        """As JSON; `read` is its inverse."""
        found: dict[str, Any] = {"seeds": self.seeds}
        for group in _GROUPS:
            by_name: dict[str, dict[str, Any]] = {}
            for (name, gradient), finding in getattr(self, group).items():
                by_name.setdefault(name, {})[gradient] = asdict(finding)
            found[group] = by_name
        return found


_GROUPS = ("honest", "between", "mutants")


def _number(severity: float) -> str:
    if math.isinf(severity):
        return "∞"
    return f"{severity:.3g}" if severity < 1e4 else f"{severity:.0e}"


def _table(findings: Findings, head: str, largest_first: bool) -> Iterator[str]:
    yield f"| {head} | Gradient | Severity | Measure | Case |"
    yield "|---|---|---|---|---|"
    sign = -1 if largest_first else 1
    for (name, gradient), f in sorted(findings.items(), key=lambda item: sign * item[1].severity):
        yield f"| {name} | {gradient} | {_number(f.severity)} | {f.measure} | {f.case} |"


def _summary(records: Sequence[Record]) -> Iterator[str]:
    yield "| Problem | Gradient | Seeds | Honest, at most | Mutants, at least |"
    yield "|---|---|---:|---:|---:|"
    for record in records:
        for name in dict.fromkeys(gradient for _, gradient in record.honest):
            honest_ones = [f.severity for k, f in record.honest.items() if k[1] == name]
            mutants = [f.severity for k, f in record.mutants.items() if k[1] == name]
            yield (
                f"| {record.problem.slug} | {name} | {record.seeds} | {_number(max(honest_ones))} "
                f"| {_number(min(mutants)) if mutants else '–'} |"
            )


def _measures(records: Sequence[Record]) -> Iterator[str]:
    kinds = Counter(
        finding.measure.split(", magnitude bin")[0] + ", by magnitude"
        if "magnitude bin" in finding.measure
        else finding.measure
        for record in records
        for finding in record.mutants.values()
    )
    yield "| Measure that showed a mutant best | Gradients of mutants |"
    yield "|---|---:|"
    yield from (f"| {kind} | {count} |" for kind, count in kinds.most_common())


def report(records: Sequence[Record]) -> Iterator[str]:
    """The study as lines of Markdown."""
    yield "# Tolerance: honest kernels and mutants"
    yield ""
    yield "Every case of each problem. Written by `python -m benchmarks.tolerance`."
    yield f"k = {tolerance.K:g}; floor: {tolerance.HALF_ULPS:g} unit in the last place for 16-bit"
    yield f"gradients, {tolerance.FLOAT32_ULPS:g} for float32. A severity above 1 is refused."
    yield ""
    yield from _summary(records)
    yield ""
    yield from _measures(records)
    for record in records:
        yield from ("", f"## {record.problem.title}", "")
        yield from _table(record.honest, "Honest", largest_first=True)
        yield ""
        yield from _table(record.between, "Neither", largest_first=True)
        yield ""
        yield from _table(record.mutants, "Mutant", largest_first=False)


def keep(record: Record) -> None:
    """Put `record` in the place of what was known of its problem, and write the report anew."""
    known = json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else {}
    known[record.problem.slug] = record.kept()
    RECORDS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    records = [Record.read(p.slug, known[p.slug]) for p in all_problems() if p.slug in known]
    RESULT.write_text("\n".join(report(records)) + "\n", encoding="utf-8")


def main() -> None:
    """Run the study and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("problems", nargs="*", type=get_problem, metavar="problem")
    parser.add_argument("--seeds", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the tensors are small
    for problem in options.problems or all_problems():
        record = Record.of(Study(problem, options.seeds), options.seeds)
        keep(record)
        print("\n".join(_summary([record])), flush=True)


if __name__ == "__main__":
    main()
