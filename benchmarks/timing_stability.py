"""How steady is the judge's clock? ``python -m benchmarks.timing_stability``.

1. One kernel timed 20 times, each time in new processes: the coefficient of variation of its median.
2. Ten kernels of known order (each repeats a known share of the work) timed three times: Kendall's tau
   between the order known and the order found, the share of neighbours found in the right order, and how
   often a kernel keeps its rank from one time to the next.

Writes ``benchmarks/results/timing_stability.md``.
"""

from __future__ import annotations

import argparse
import statistics
from itertools import combinations, pairwise
from pathlib import Path

from problems import Language, get_problem
from runner.hardware import cpu_model, cpu_threads, hardware_for
from runner.pool import WarmPool, baseline_source
from runner.roofline import cpu_peak
from runner.timing import CpuTimer
from sandbox.choose import best_sandbox
from wire.verdict import Timing

PROBLEM = get_problem("rms_norm")
HARDWARE = hardware_for(Language.PYTORCH)
SHAPE = PROBLEM.benchmarks["cpu"][0]
REFERENCE = Path(__file__).parents[1] / "kernels" / "rms_norm" / "pytorch.py"
RESULTS = Path(__file__).parent / "results" / "timing_stability.md"
# Kernel i works on this share of the rows a second time.
STEPS = tuple(i / 10 for i in range(10))


def source(extra: float) -> str:
    """The reference solution, which does `extra` of its work twice."""
    again = f"""

_once = backward


def backward(grad_output, x, weight, rstd):
    rows = int({extra} * len(x))
    if rows:
        _once(grad_output[:rows], x[:rows], weight, rstd[:rows])
    return _once(grad_output, x, weight, rstd)
"""
    return REFERENCE.read_text(encoding="utf-8") + again


def timed(pool: WarmPool, text: str) -> Timing:
    """One timing of one kernel against the baseline, in as many new processes as the judge takes."""
    timer = CpuTimer(PROBLEM, cpu_peak())
    for _ in range(HARDWARE.processes):
        with pool.take(HARDWARE) as ours, pool.take_baseline(HARDWARE) as theirs:
            ours.load(PROBLEM, text)
            theirs.load(PROBLEM, baseline_source(PROBLEM))
            pool.settle()
            timer.measure(SHAPE, ours, theirs)
    return timer.timing(SHAPE)


def kendall_tau(values: list[float]) -> float:
    """Kendall's tau between the list's order and its values' order."""
    pairs = list(combinations(values, 2))
    return sum((a < b) - (a > b) for a, b in pairs) / len(pairs)


def variation(values: list[float]) -> float:
    """Coefficient of variation."""
    return statistics.stdev(values) / statistics.mean(values)


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with WarmPool(best_sandbox(), [HARDWARE]) as pool:
        same = [timed(pool, source(0)) for _ in range(options.times)]
        rounds = [[timed(pool, source(extra)) for extra in STEPS] for _ in range(options.rounds)]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report(same, rounds), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


def report(same: list[Timing], rounds: list[list[Timing]]) -> str:
    """The figures as Markdown."""
    medians = [t.median * 1e3 for t in same]
    speedups = [t.speedup for t in same]
    lines = [
        "# Steadiness of the CPU timer",
        "",
        f"{PROBLEM.title} on {SHAPE.model} ({SHAPE.shape_label}); "
        f"{cpu_model()}, {cpu_threads()} threads.",
        "",
        f"One kernel timed {len(same)} times, each in {HARDWARE.processes} new processes:",
        "",
        "| figure | median | coefficient of variation | least | most |",
        "| --- | ---: | ---: | ---: | ---: |",
        row("time (ms)", medians),
        row("speed-up over plain PyTorch", speedups),
        "",
        f"The machine was calm in {sum(not t.disturbed for t in same)} of the {len(same)}.",
        "",
    ]
    return "\n".join([*lines, *(order(rounds) if rounds else ())])


def order(rounds: list[list[Timing]]) -> list[str]:
    """How often kernels of known order are found in it."""
    measured = [[t.median for t in r] for r in rounds]
    taus = [kendall_tau(r) for r in measured]
    neighbours = [b > a for r in measured for a, b in pairwise(r)]
    ranks = [[sorted(r).index(v) for v in r] for r in measured]
    kept = [a == b for one, two in combinations(ranks, 2) for a, b in zip(one, two, strict=True)]
    return [
        f"{len(STEPS)} kernels, each doing 10 % more work than the one before, "
        f"timed {len(rounds)} times:",
        "",
        f"- Kendall's tau with the known order: {', '.join(f'{t:.2f}' for t in taus)}",
        f"- neighbours in the right order: {sum(neighbours)} of {len(neighbours)}",
        f"- ranks kept from one time to another: {sum(kept)} of {len(kept)}",
        "",
        "| work | " + " | ".join(f"time {i + 1} (ms)" for i in range(len(rounds))) + " |",
        "| ---: |" + " ---: |" * len(rounds),
        *(
            f"| {1 + extra:.1f} | " + " | ".join(_cell(r[number]) for r in rounds) + " |"
            for number, extra in enumerate(STEPS)
        ),
        "",
        "In brackets: by how much the machine was slower than at its best, where it was never calm.",
        "",
    ]


def _cell(timing: Timing) -> str:
    disturbed = f" ({timing.slowdown:.2f}×)" if timing.disturbed else ""
    return f"{timing.median * 1e3:.2f}{disturbed}"


def row(name: str, values: list[float]) -> str:
    """A line of the table."""
    return (
        f"| {name} | {statistics.median(values):.2f} | {variation(values):.1%} "
        f"| {min(values):.2f} | {max(values):.2f} |"
    )


if __name__ == "__main__":
    main()
