"""How long does a Run in the interpreter take? python -m benchmarks.interpreter [PROBLEM ...]

For each problem's Triton reference: the time from a Run to its verdict on all public cases with warm
sessions, and how much of it the watch for memory faults takes; the least of some runs, since others on
the machine only add. The aim is 3 s, 15 s for what works on sequences of tiles (attention, recurrences)
and for losses fused with a projection. Writes benchmarks/results/interpreter.md, with the machine's
load.

`--profile PROBLEM` prints where a process that only calls the kernel on these cases spends its time.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.judge_latency import HARDWARE, Watching
from problems import Language, Problem, all_problems, get_problem
from problems.pairs import functions_of
from runner.hardware import cpu_model
from runner.judge import Request, judge
from runner.pool import WarmPool
from sandbox.choose import best_sandbox
from wire.verdict import Verdict

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "interpreter.md"
TIMES = 2
AIM, AIM_OF_MANY_STEPS = 3.0, 15.0
MANY_STEPS = ("flash_attention", "linear_cross_entropy", "linear_scan")
MOST_LINES = 25


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interpreter", description=__doc__)
    parser.add_argument("problems", nargs="*", default=[p.slug for p in all_problems()])
    parser.add_argument("--profile", metavar="PROBLEM")
    options = parser.parse_args()
    if options.profile:
        return profiled(options.profile)
    rows, begin = [], load()
    with WarmPool(best_sandbox(), [HARDWARE]) as pool:
        for slug in options.problems:
            problem = get_problem(slug)
            seconds, watched = measured(pool, problem)
            rows.append(row(problem, seconds, watched))
            print(rows[-1], flush=True)
    RESULTS.write_text(report(rows, begin), encoding="utf-8")
    return 0


def load() -> float:
    """Processes that ran or waited for a processor, on average over the last minute."""
    return os.getloadavg()[0]


def path_of(problem: Problem) -> Path:
    return ROOT / "kernels" / problem.slug / "triton.py"


def measured(pool: WarmPool, problem: Problem) -> tuple[float, float]:
    """The least seconds from a Run to its verdict, and those of the watched calls in that run."""
    source = path_of(problem).read_text(encoding="utf-8")
    request = Request(problem, Language.TRITON, HARDWARE, "run", source)
    found = []
    for _ in range(TIMES):
        pool.refill()
        pool.settle()
        start = time.perf_counter()
        with Watching() as watching:
            report = judge(request, pool, lambda *_: None)
        found.append((time.perf_counter() - start, watching.seconds))
        assert report.verdict is Verdict.ACCEPTED, report.headline
    return min(found)


def aim(problem: Problem) -> float:
    return AIM_OF_MANY_STEPS if problem.slug in MANY_STEPS else AIM


def row(problem: Problem, seconds: float, watched: float) -> str:
    public = sum(case.public for case in problem.cases)
    met = "yes" if seconds <= aim(problem) else "no"
    return (
        f"| {problem.slug} | {public} | {seconds:.2f} | {watched:.2f} | {aim(problem):g} | {met} "
        f"| {load():.1f} |"
    )


def report(rows: list[str], begin: float) -> str:
    return "\n".join(
        [
            "# A Run in the interpreter",
            "",
            f"Triton references, all public cases, warm sessions, the least of {TIMES} runs; "
            f"{cpu_model()}, {os.cpu_count()} processors. The load was {begin:.1f} when it began: "
            "with more load than processors, times are longer than on a machine of one's own.",
            "",
            "| problem | public cases | Run (s) | of it watched (s) | aim (s) | met | load |",
            "| --- | ---: | ---: | ---: | ---: | --- | ---: |",
            *rows,
            "",
            "Written by `python -m benchmarks.interpreter`.",
            "",
        ]
    )


def profiled(slug: str) -> int:
    """Print a profile of the public cases, in a process in which kernels are interpreted."""
    if os.environ.get("TRITON_INTERPRET") != "1":
        command = [sys.executable, "-m", "benchmarks.interpreter", "--profile", slug]
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        return subprocess.run(command, env=environment, check=False).returncode
    from runner.harness import interpreter
    from runner.harness.loading import load_functions

    interpreter.install()
    problem = get_problem(slug)
    takes = {f.name: list(f.parameters) for f in functions_of(problem)}
    backward = load_functions(str(path_of(problem)), takes)["backward"]
    calls = [problem.make_arguments(case, 1) for case in problem.cases if case.public]
    problem.call(backward, calls[0])
    profile = cProfile.Profile()
    for arguments in calls:
        profile.runcall(problem.call, backward, arguments)
    pstats.Stats(profile).sort_stats("tottime").print_stats(MOST_LINES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
