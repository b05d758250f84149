"""The speed of light of this machine's processor: how fast a shape could go at all.

Roofline model: Williams, Waterman, Patterson, *Roofline: an insightful visual performance model*, 2009.
The constants of a CPU are measured, because nobody publishes those of a virtual machine's share of one:
the best of several streaming passes for bandwidth, the best of several matrix products for FLOPs. Best,
not typical: a bound must bound.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

import wire.verdict
from problems.spec import Cost
from runner.hardware import cpu_model, cpu_threads

_REPEATS = 12
_STREAM_ELEMENTS = 16 << 20
_MATRIX = 1536
_FORMAT = 2


class Peak(wire.verdict.Peak):
    """What a machine can do, compared with others and with what there is to do."""

    def at_least(self, other: Peak) -> Peak:
        """The better of two measurements, unit by unit."""
        return Peak(
            bandwidth=max(self.bandwidth, other.bandwidth),
            vector_flops=max(self.vector_flops, other.vector_flops),
            matrix_flops=max(self.matrix_flops, other.matrix_flops),
        )

    def time(self, cost: Cost) -> float:
        """Seconds below which no implementation of this cost can be."""
        return max(
            cost.bytes / self.bandwidth,
            cost.vector_flops / self.vector_flops,
            cost.matrix_flops / self.matrix_flops,
        )


def cpu_peak(*, again: bool = False) -> Peak:
    """This machine's peak, measured once (about two seconds) and remembered in the user's cache.

    `again` measures anew and keeps the better of old and new: a bound taken while the machine was busy
    is too low, and a submission that beats it must not suffer for that.
    """
    path = _cache_path()
    identity: dict[str, object] = {
        "format": _FORMAT,
        "cpu": cpu_model(),
        "threads": cpu_threads(),
        "torch": torch.__version__,
    }
    known = _remembered(path, identity)
    if known is not None and not again:
        return known
    peak = _measure() if known is None else _measure().at_least(known)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"identity": identity, "peak": asdict(peak)}), encoding="utf-8")
    except OSError:
        pass  # a read-only home costs two seconds a process, no more
    return peak


def _remembered(path: Path, identity: dict[str, object]) -> Peak | None:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return Peak(**known["peak"]) if known["identity"] == identity else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # nothing usable is remembered: it will be measured


def _cache_path() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(root) / "backpass" / "cpu-peak.json"


def _measure() -> Peak:
    before = torch.get_num_threads()
    torch.set_num_threads(cpu_threads())
    try:
        a, b, c = (torch.rand(_STREAM_ELEMENTS) for _ in range(3))
        size = a.nbytes
        bandwidth = max(
            3 * size / _best(lambda: torch.add(a, b, out=c)),
            2 * size / _best(lambda: c.copy_(a)),
            size / _best(a.sum),
        )
        x, y = torch.rand(_MATRIX, _MATRIX), torch.rand(_MATRIX, _MATRIX)
        flops = 2 * _MATRIX**3
        single = flops / _best(lambda: x @ y)
        x16, y16 = x.bfloat16(), y.bfloat16()
        half = flops / _best(lambda: x16 @ y16)
    finally:
        torch.set_num_threads(before)
    # Multiply-adds run on the units that the float32 product keeps busy.
    return Peak(bandwidth=bandwidth, vector_flops=single, matrix_flops=max(single, half))


def _best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
