"""``python -m runner judge FILE --problem NAME``: the judge without a web site; ``python -m runner
inspect FILE --problem NAME``: a look inside the kernels of a Triton or `.cu` file without a GPU.

Exit codes: 0 passed (or looked into); 1 judged and not passed (or nothing to see); 2 wrong usage; 3 the
judge itself failed.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from problems import Language, Problem, UnknownProblem, all_problems, get_problem
from runner.failures import HarnessBroken
from runner.hardware import HARDWARE, HardwareSpec, UnknownHardware, get_hardware, hardware_for
from runner.inspection.cuda import inspect_cuda
from runner.inspection.inspect import TARGETS, inspect
from runner.inspection.text import render as render_inspection
from runner.inspection.toolkit import NoToolkit
from runner.judge import Request, judge
from runner.pool import ColdSessions
from runner.text import render
from sandbox.choose import best_sandbox
from sandbox.spec import SandboxUnavailable
from wire.messages import Phase
from wire.verdict import Verdict

CUDA = ".cu"
PASSED, NOT_PASSED, USAGE, JUDGE_FAILED = 0, 1, 2, 3


class UsageError(Exception):
    """What was asked for cannot be done; the message says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    commands = {"judge": _judge, "inspect": _inspect}
    try:
        return commands[options.command](options)
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        return USAGE
    except (SandboxUnavailable, HarnessBroken) as error:
        sys.stderr.write(f"error: the judge failed: {error}\n")
        return JUDGE_FAILED


def _judge(options: argparse.Namespace) -> int:
    request = _request(options)
    sessions = ColdSessions(best_sandbox(unsafe=options.unsafe_no_sandbox))
    report = judge(request, sessions, _quiet if options.json else _show_progress)
    if options.json:
        sys.stdout.write(json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write(render(report))
    if report.verdict is Verdict.JUDGE_FAILURE:
        return JUDGE_FAILED
    return PASSED if report.verdict is Verdict.ACCEPTED else NOT_PASSED


def _inspect(options: argparse.Namespace) -> int:
    problem, source = _problem(options.problem), _source(options.file)
    is_cuda = options.file.suffix == CUDA
    if not is_cuda and not imports_triton(source):
        raise UsageError(
            f"{options.file} does not import triton and is no {CUDA} file: there is nothing to compile"
        )
    look = inspect_cuda if is_cuda else inspect
    sandbox = best_sandbox(unsafe=options.unsafe_no_sandbox)
    try:
        found = look(problem, source, sandbox, targets=options.target or TARGETS)
    except NoToolkit as error:
        raise UsageError(str(error)) from None
    if options.json:
        sys.stdout.write(json.dumps(found.to_json(), indent=2, allow_nan=False) + "\n")
    else:
        sys.stdout.write(render_inspection(found))
    return PASSED if found.kernels else NOT_PASSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m runner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_judge(commands.add_parser("judge", help="judge one file", description="Judge one file."))
    _add_inspect(
        commands.add_parser(
            "inspect",
            help="look inside the kernels of a Triton or .cu file",
            description="Compile what a Triton file launches on a benchmark shape, or the kernels of a "
            ".cu file, for GPUs.",
        )
    )
    return parser


def _add_inspect(one: argparse.ArgumentParser) -> None:
    _add_common(one)
    one.add_argument(
        "--target", action="append", choices=TARGETS, help="may be repeated; default: all"
    )


def _add_common(one: argparse.ArgumentParser) -> None:
    one.add_argument("file", type=Path, metavar="FILE")
    one.add_argument(
        "--problem", required=True, help=f"one of: {', '.join(p.slug for p in all_problems())}"
    )
    one.add_argument("--json", action="store_true", help="print everything as JSON")
    one.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="run the file as an ordinary process of yours: only for code you trust",
    )


def _add_judge(one: argparse.ArgumentParser) -> None:
    _add_common(one)
    one.add_argument("--hardware", choices=tuple(HARDWARE), help="default: what takes the language")
    one.add_argument(
        "--language",
        choices=[language.value for language in Language],
        help="default: Triton if the file imports triton, else PyTorch",
    )
    one.add_argument("--public-only", action="store_true", help="only the public cases, no timing")


def _source(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}") from None


def _problem(slug: str) -> Problem:
    try:
        return get_problem(slug)
    except UnknownProblem as error:
        raise UsageError(str(error)) from None


def _request(options: argparse.Namespace) -> Request:
    source, problem = _source(options.file), _problem(options.problem)
    if options.file.suffix == CUDA:
        raise UsageError(
            f"{options.file} is CUDA C++, which is compiled here and not run: python -m runner inspect "
            f"{options.file} --problem {options.problem} shows what it compiles to"
        )
    language = _language(options, source)
    try:
        hardware = _hardware(options.hardware, language)
    except UnknownHardware as error:
        raise UsageError(str(error)) from None
    return Request(
        problem=problem,
        language=language,
        hardware=hardware,
        mode="run" if options.public_only else "submit",
        source=source,
    )


def _hardware(name: str | None, language: Language) -> HardwareSpec:
    return get_hardware(name, language) if name else hardware_for(language)


def _language(options: argparse.Namespace, source: str) -> Language:
    if options.language:
        return Language(options.language)
    if options.hardware:
        return HARDWARE[options.hardware].language
    return Language.TRITON if imports_triton(source) else Language.PYTORCH


def imports_triton(source: str) -> bool:
    """Whether `source` imports triton anywhere; a file that does not parse imports nothing."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if any(n.split(".")[0] == "triton" for n in names):
            return True
    return False


def _show_progress(phase: Phase, done: int, total: int) -> None:
    text = {
        Phase.COMPILING: "loading",
        Phase.CASES: f"case {done} of {total}",
        Phase.TIMING: f"timing {done} of {total}",
    }[phase]
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}" if done < total else "\r\x1b[K")
        sys.stderr.flush()


def _quiet(phase: Phase, done: int, total: int) -> None:
    """Progress is for people."""


if __name__ == "__main__":
    sys.exit(main())
