"""``python -m problems``: what there is, a new problem's skeleton, and whether a problem is finished.

    python -m problems list
    python -m problems new NAME
    python -m problems check [NAME ...]

Exit codes: 0 nothing to object to; 1 a check objects; 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import torch

from problems.mutants import mutants_of
from problems.registry import UnknownProblem, all_problems, get_problem
from problems.spec import Problem
from problems.tools.check import Outcome, check
from problems.tools.skeleton import UnusableName, write_skeleton
from problems.tools.solutions import ROOT, solution_files

FINE, OBJECTIONS, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        match options.command:
            case "list":
                return _list()
            case "new":
                return _new(options.name)
            case _:
                names = options.names or [p.slug for p in all_problems()]
                return _check([get_problem(name) for name in names])
    except (UnknownProblem, UnusableName) as error:
        sys.stderr.write(f"error: {error}\n")
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m problems",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="every problem, with what belongs to it")
    new = commands.add_parser("new", help="write the skeleton of a new problem")
    new.add_argument("name", metavar="NAME", help="lower-case words with underscores: rms_norm")
    some = commands.add_parser("check", help="check problems; without a name, all of them")
    some.add_argument("names", metavar="NAME", nargs="*")
    return parser


def _list() -> int:
    row = "{:24} {:16} {:>12} {:>8} {:>9}  {}\n"
    sys.stdout.write(row.format("problem", "tier", "cases", "mutants", "mistakes", "solutions"))
    for problem in all_problems():
        public = sum(c.public for c in problem.cases)
        sys.stdout.write(
            row.format(
                problem.slug,
                problem.tier,
                f"{public} + {len(problem.cases) - public}",
                len(mutants_of(problem)),
                len(problem.mistakes),
                ", ".join(f.stem for f in solution_files(problem)),
            )
        )
    return FINE


def _new(name: str) -> int:
    for path in write_skeleton(name):
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    slug = name.replace("-", "_")
    sys.stdout.write(
        f"\nEach place to fill in is marked; `python -m problems check {slug}` lists what is left.\n"
        "docs/adding-a-problem.md says what belongs where.\n"
    )
    return FINE


def _check(problems: Sequence[Problem]) -> int:
    torch.set_num_threads(1)  # the tensors are small
    fine = True
    for problem in problems:
        sys.stdout.write(f"{problem.slug}\n")
        for outcome in check(problem):
            _show(outcome)
            fine &= not outcome.objections
    return FINE if fine else OBJECTIONS


def _show(outcome: Outcome) -> None:
    said = "WRONG" if outcome.objections else "ok"
    sys.stdout.write(f"  {said:6} {outcome.name} ({outcome.seconds:.1f} s)\n")
    for line in (*outcome.objections, *outcome.notes):
        indented = line.replace("\n", "\n         ")
        sys.stdout.write(f"         {indented}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
