"""Does the gauge know when a time is to be believed? ``python -m benchmarks.calm``.

One kernel and its baseline are called again and again as the timer calls them, but without waiting for
the machine to be calm. The calls are sorted by what `runner.calm` said of the machine around each; on a
machine that is not shared most of them fall into the first row. `wire.verdict.CALM` is drawn from this.

Writes ``benchmarks/results/calm.md``.
"""

from __future__ import annotations

import argparse
import secrets
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch

from benchmarks.timing_stability import HARDWARE, PROBLEM, SHAPE, source
from runner.calm import Machine, Reading, this_machine
from runner.hardware import cpu_model, cpu_threads
from runner.pool import ColdSessions, baseline_source
from runner.session import Session
from runner.threads import one_thread
from runner.timing import KEPT_BYTES, WARM_UP, last_level_cache
from sandbox.choose import best_sandbox
from wire.verdict import CALM

RESULTS = Path(__file__).parent / "results" / "calm.md"
BOUNDS = (1.0, 1.1, CALM, 1.3, 1.5, 2.0, float("inf"))
_ROUNDS_IN_A_PAIR = 20


@dataclass(frozen=True)
class Call:
    """Seconds of the kernel and of plain PyTorch, and the worst readings around both."""

    ours: float
    theirs: float
    reading: Reading


def rounds(count: int) -> list[Call]:
    """`count` rounds of calls, in as many pairs of processes as that takes."""
    pool = ColdSessions(best_sandbox())
    found: list[Call] = []
    while len(found) < count:
        with pool.take(HARDWARE) as ours, pool.take_baseline(HARDWARE) as theirs:
            ours.load(PROBLEM, source(0))
            theirs.load(PROBLEM, baseline_source(PROBLEM))
            ours.keep_memory(KEPT_BYTES)
            theirs.keep_memory(KEPT_BYTES)
            with one_thread():
                one_pair = [_round(ours, theirs) for _ in range(WARM_UP + _ROUNDS_IN_A_PAIR)]
        found += one_pair[WARM_UP:]
    return found[:count]


def _round(ours: Session, theirs: Session) -> Call:
    arguments = PROBLEM.make_arguments(SHAPE, secrets.randbits(62))
    machine, computing = this_machine(), list[float]()
    meeting = [machine.meeting.read(theirs.seconds_to_meet)]
    cold = torch.zeros(2 * last_level_cache(), dtype=torch.uint8)

    def before() -> None:
        computing.append(machine.computing.read(machine.seconds_to_compute))
        cold.add_(1)

    seconds = []
    for session in (ours, theirs):
        session.prepare(arguments, SHAPE.dims)
        seconds.append(session.call(before).reported)
        computing.append(machine.computing.read(machine.seconds_to_compute))
    meeting.append(machine.meeting.read(theirs.seconds_to_meet))
    return Call(seconds[0], seconds[1], Reading(max(computing), max(meeting)))


def report(calls: Sequence[Call], machine: Machine) -> str:
    """The calls by how slow `machine` was, as Markdown."""
    computing = [machine.computing.slowdown(call.reading.computing) for call in calls]
    meeting = [machine.meeting.slowdown(call.reading.meeting) for call in calls]
    both = [machine.slowdown(call.reading) for call in calls]
    calm = [(c, m) for c, a, m in zip(calls, computing, meeting, strict=True) if a <= CALM]
    lines = [
        "# What a reading of the machine says of a time",
        "",
        f"{PROBLEM.title} on {SHAPE.model} ({SHAPE.shape_label}), {len(calls)} rounds; "
        f"{cpu_model()}, {cpu_threads()} threads. A machine passes for calm up to {CALM:g}.",
        "",
        *table("arithmetic, or the meeting of threads, slower by", calls, both),
        *table("arithmetic slower by", calls, computing),
        *table(
            "meeting slower by, where arithmetic was calm",
            [c for c, _ in calm],
            [m for _, m in calm],
        ),
    ]
    return "\n".join(lines)


def table(name: str, calls: Sequence[Call], slowdowns: Sequence[float]) -> list[str]:
    """The calls in rows by their slowdown, which is of what `name` says."""
    lines = [
        f"| {name} | rounds | kernel: median (ms) | 10th to 90th percentile "
        "| plain PyTorch: median (ms) | 10th to 90th percentile |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for low, high in pairwise(BOUNDS):
        those = [c for c, s in zip(calls, slowdowns, strict=True) if low <= s < high]
        name = f"{low:g} to {high:g}" if high < BOUNDS[-1] else f"{low:g} and more"
        ours, theirs = _figures([c.ours for c in those]), _figures([c.theirs for c in those])
        lines.append(f"| {name} | {len(those)} | {ours} | {theirs} |")
    return [*lines, ""]


def _figures(seconds: Sequence[float]) -> str:
    if len(seconds) < 2:
        return "– | –"
    deciles = statistics.quantiles((s * 1e3 for s in seconds), n=10, method="inclusive")
    return f"{deciles[4]:.2f} | {deciles[0]:.2f} to {deciles[8]:.2f}"


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    calls = rounds(parser.parse_args().rounds)
    RESULTS.write_text(report(calls, this_machine()), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
