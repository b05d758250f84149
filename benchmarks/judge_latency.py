"""What does judging cost beyond the kernel? ``python -m benchmarks.judge_latency``.

For each problem's Triton reference: the time from a Run to its verdict with warm sessions, divided by
the time the same kernel takes on the same cases in one warm process that only calls it. Both are
measured in this run, alternating. The search for memory faults runs the kernel again, slowly, and is
work of its own: it is shown, and not counted in the ratio. Writes
``benchmarks/results/judge_latency.md``.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from problems import Language, Problem, all_problems
from runner.hardware import cpu_model, hardware_for
from runner.judge import Request, judge
from runner.pool import WarmPool
from runner.session import Session
from sandbox.choose import best_sandbox
from wire.verdict import Verdict

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "judge_latency.md"
HARDWARE = hardware_for(Language.TRITON)
TIMES = 5

# A process that imports everything, then times bare calls of a kernel whenever it is asked to.
BARE = """
import importlib.util, json, os, sys, time
os.environ["TRITON_INTERPRET"] = "1"
from runner.harness import interpreter
interpreter.install()
from problems import get_problem
from problems.pairs import whole
problem = get_problem(sys.argv[1])
spec = importlib.util.spec_from_file_location("submission", sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
backward = module.backward
if problem.pair:
    both = whole(problem, module.forward, module.backward)
    backward = lambda *values: both(**dict(zip(problem.argument_names, values)))
calls = [problem.make_arguments(c, 1) for c in problem.cases if c.public]
problem.call(backward, calls[0])
for _ in sys.stdin:
    start = time.perf_counter()
    for arguments in calls:
        problem.call(backward, arguments)
    print(json.dumps(time.perf_counter() - start), flush=True)
"""


class Watching:
    """Adds up the seconds that sessions spend on watched calls."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._plain = plain = Session.watch

        def counted(session: Session) -> dict[str, Any]:
            start = time.perf_counter()
            try:
                return plain(session)
            finally:
                self.seconds += time.perf_counter() - start

        Session.watch = counted  # type: ignore[method-assign, assignment]  # a benchmark looks inside
        return self

    def __exit__(self, *_: object) -> None:
        Session.watch = self._plain  # type: ignore[method-assign]  # as it was


def measure(pool: WarmPool, problem: Problem) -> tuple[float, float, float]:
    """Median seconds of a judged Run, of the watched calls in it, and of bare calls."""
    path = ROOT / "kernels" / problem.slug / "triton.py"
    request = Request(problem, Language.TRITON, HARDWARE, "run", path.read_text(encoding="utf-8"))
    command = [sys.executable, "-c", BARE, problem.slug, str(path)]
    judged, watched, bare = [], [], []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(TIMES):
            pool.settle()
            start = time.perf_counter()
            with Watching() as watching:
                report = judge(request, pool, lambda *_: None)
            watched.append(watching.seconds)
            judged.append(time.perf_counter() - start)
            assert report.verdict is Verdict.ACCEPTED, report.headline
            pool.settle()
            process.stdin.write("\n")
            process.stdin.flush()
            bare.append(json.loads(process.stdout.readline()))
        process.stdin.close()
    return statistics.median(judged), statistics.median(watched), statistics.median(bare)


def main() -> None:
    """Measure and write the report."""
    lines = [
        "# From Run to verdict",
        "",
        f"Triton references in the interpreter, public cases, warm sessions; {cpu_model()}.",
        "",
        "| problem | judged (s) | of it watched calls (s) | bare calls (s) | ratio without watching |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    with WarmPool(best_sandbox(), [HARDWARE]) as pool:
        for problem in all_problems():
            judged, watched, bare = measure(pool, problem)
            lines.append(
                f"| {problem.slug} | {judged:.2f} | {watched:.2f} | {bare:.2f} "
                f"| {(judged - watched) / bare:.2f} |"
            )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
