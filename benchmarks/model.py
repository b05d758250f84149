"""Does the modelled time order kernels as a GPU does? python -m benchmarks.model [--gpu] [PROBLEM ...]

Takes every reference kernel and makes slower variants of it: all of it done twice, arguments cast to
float32 first, arguments laid out by columns (not coalesced), tiles a quarter as large. Each
is compiled and traced on its problem's first GPU shape and gets a modelled time; results/model.json
keeps them. With `--gpu` each is run on the GPU that is here and its time measured; no sandbox, no
compiler for other targets: what is modelled comes from the file, so that all of it takes some minutes.
Kendall's τ between the two orders is reported for each problem and over all pairs of one problem;
without a GPU that between the modelled order and what is known: a variant is slower than what it was
made from.

Writes results/model.md. `--keep FOLDER` keeps traces, so that a changed model needs no new ones.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.compiled import files_of, kept
from problems import Problem, all_problems, get_problem
from problems.pairs import functions_of
from problems.spec import Benchmark, Dims, lengths
from runner.harness.loading import load_functions
from runner.inspection.inspect import inspect
from runner.inspection.model import modelled
from sandbox.choose import best_sandbox
from wire.gpus import GPUS
from wire.inspection import MODEL, Inspection

RESULTS = Path(__file__).parent / "results"
TARGET = "sm_90"
GPU = GPUS[TARGET]
ROUNDS = 20
WARM_UPS = 3
BETWEEN = 256 << 20  # bytes written between two calls, so that no call finds its inputs in a cache

SMALLER = "smaller tiles"
TWICE = """

_once = backward


def backward(*arguments):
    _once(*arguments)
    return _once(*arguments)
"""
IN_FLOAT32 = """

_given = backward


def backward(*arguments):
    tensors = [a is not None and a.is_floating_point() for a in arguments]
    wide = [a.float() if is_one else a for a, is_one in zip(arguments, tensors)]
    found = _given(*wide)
    found = found if isinstance(found, tuple) else (found,)
    return tuple(g.to(torch.bfloat16) for g in found)
"""
BY_COLUMNS = """

_by_rows = backward


def backward(*arguments):
    turned = [
        a.transpose(-1, -2).contiguous().transpose(-1, -2) if a is not None and a.dim() > 1 else a
        for a in arguments
    ]
    return _by_rows(*turned)
"""


@dataclass(frozen=True)
class Kernel:
    """A reference or a variant of one; `slower_than` names what it was made from, if it is known to be
    slower."""

    problem: Problem
    name: str
    source: str
    slower_than: str = ""

    @property
    def benchmark(self) -> Benchmark:
        return self.problem.benchmarks["gpu"][0]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__)
    # Variants wrap one function, which a pair has two of.
    single = [p.slug for p in all_problems() if p.pair is None]
    parser.add_argument("problems", nargs="*", default=single)
    parser.add_argument("--gpu", action="store_true", help="measure on the GPU that is here")
    parser.add_argument("--keep", type=Path, help="a folder for traces")
    options = parser.parse_args()
    if options.gpu and not torch.cuda.is_available():
        sys.exit(
            "There is no GPU here: without --gpu the modelled order is compared with what is known."
        )
    wanted = [k for slug in options.problems for k in kernels_of(get_problem(slug))]
    if options.gpu:
        report = compared(wanted, kept_times())
    else:
        for slug, kernels in by_problem(wanted).items():
            record({slug: modelled_times(kernels, options.keep)})
        every = [k for slug in single for k in kernels_of(get_problem(slug))]
        report = known_order(every, kept_times())
    (RESULTS / "model.md").write_text(report, encoding="utf-8")
    print(report)
    return 0


def kernels_of(problem: Problem) -> Iterator[Kernel]:
    """The references and their variants."""
    for path in files_of(problem.slug):
        source = path.read_text(encoding="utf-8")
        reference = Kernel(problem, path.stem, source)
        yield reference
        for name, changed in variants(source):
            # Small tiles cost products their reuse; what streams may not mind.
            is_known = name != SMALLER or problem.cost(reference.benchmark.dims).matrix_flops > 0
            slower_than = path.stem if is_known else ""
            yield Kernel(problem, f"{path.stem}, {name}", changed, slower_than)


def variants(source: str) -> Iterator[tuple[str, str]]:
    """Name and source of each."""
    yield "twice", source + TWICE
    yield "in float32", source + IN_FLOAT32
    yield "by columns", source + BY_COLUMNS
    smaller = re.sub(
        r"^TILE = (\d+)", lambda m: f"TILE = {int(m[1]) // 4}", source, flags=re.MULTILINE
    )
    smaller = re.sub(r"^BLOCK = 128", "BLOCK = 32", smaller, flags=re.MULTILINE)
    smaller = smaller.replace("BLOCK_M, BLOCK_N = 4, 1024", "BLOCK_M, BLOCK_N = 1, 256")
    smaller = smaller.replace("(128, 64, 64, 64)", "(32, 32, 32, 32)")
    if smaller != source:
        yield SMALLER, smaller


# modelling


def modelled_times(kernels: list[Kernel], keep: Path | None) -> dict[str, Any]:
    """Seconds on GPU by kernel of one problem; None where there is none, with the reason."""
    times: dict[str, Any] = {}
    for kernel in kernels:
        found = looked_into(kernel, keep)
        seconds = again(kernel, found) if found.models else None
        why = " ".join(found.remarks) if seconds is None else ""
        print(f"{kernel.problem.slug} {kernel.name}: {seconds} {why}", file=sys.stderr, flush=True)
        entry = {"sha256": kernel.sha256, "seconds": seconds, "why": why}
        times[kernel.name] = entry
    return times


def looked_into(kernel: Kernel, keep: Path | None) -> Inspection:
    """A reference as it was recorded; what is not recorded or kept is looked into now."""
    entry = kept(kernel.problem.slug).get(f"{kernel.name}.py", {})
    if entry.get("sha256") == kernel.sha256:
        return Inspection.from_json(entry["figures"])
    path = keep / f"{kernel.sha256}.json" if keep else None
    if path and path.exists():
        return Inspection.from_json(json.loads(path.read_text(encoding="utf-8")))
    found = inspect(kernel.problem, kernel.source, best_sandbox(), targets=(TARGET,))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found.without_texts().to_json()), encoding="utf-8")
    return found


def again(kernel: Kernel, found: Inspection) -> float | None:
    """By the model as it is now."""
    cost = kernel.problem.cost(kernel.benchmark.dims)
    time = modelled(GPU, kernel.benchmark, cost, found.traces, found.kernels, {})
    return time.seconds if time else None


def record(times: dict[str, dict[str, Any]]) -> None:
    merged = kept_times() | times
    text = json.dumps({"model": MODEL, "gpu": GPU.name, "times": merged}, indent=1, sort_keys=True)
    (RESULTS / "model.json").write_text(text + "\n", encoding="utf-8")


def kept_times() -> dict[str, dict[str, Any]]:
    path = RESULTS / "model.json"
    recorded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found: dict[str, dict[str, Any]] = recorded.get("times", {})
    return found if recorded.get("model") == MODEL else {}


# orders


def tau(pairs: list[tuple[float, float]]) -> float | None:
    """Kendall's τ-a of two figures of each thing (Kendall, *A new measure of rank correlation*, 1938):
    pairs in the same order less pairs in the other, by all. A tie is neither."""
    return share([agreement(a, b) for a, b in combinations(pairs, 2)])


def agreement(one: tuple[float, float], other: tuple[float, float]) -> int:
    product = (one[0] - other[0]) * (one[1] - other[1])
    return (product > 0) - (product < 0)


def share(signs: list[int]) -> float | None:
    return sum(signs) / len(signs) if signs else None


def known_order(every: list[Kernel], times: dict[str, dict[str, Any]]) -> str:
    """The report without a GPU."""
    rows, all_signs, missing = [], [], []
    for slug, kernels in by_problem(every).items():
        signs = []
        for kernel in kernels:
            entry = of_today(kernel, times)
            seconds = entry.get("seconds")
            if seconds is None:
                missing.append(f"- {slug}, {kernel.name}: {entry.get('why') or 'not modelled yet'}")
                continue
            before = times[slug].get(kernel.slower_than, {}).get("seconds")
            slower = f"{seconds / before:.2f}×" if before else ""
            signs += [(seconds > before) - (seconds < before)] if before else []
            rows.append(f"| {slug} | {kernel.name} | {seconds * 1e6:.0f} µs | {slower} | |")
        all_signs += signs
        rows.append(f"| {slug} | | | | {shown(share(signs))} |")
    head = (
        "No GPU was there when this was written. The order is compared with what is known: a variant is "
        "slower than the kernel it was made from. τ here is the share of such pairs that are modelled "
        "in this order, less the share in the other.\n"
    )
    table = [
        "| problem | kernel | modelled | by its reference | τ |",
        "| --- | --- | --- | --- | --- |",
    ]
    over_all = f"Over all {len(all_signs)} pairs: τ = {shown(share(all_signs))}."
    return document(head, table + rows, over_all, missing)


def compared(every: list[Kernel], times: dict[str, dict[str, Any]]) -> str:
    """The report with a GPU: measures every kernel whose modelled time is known."""
    rows, all_signs, missing = [], [], []
    for slug, kernels in by_problem(every).items():
        pairs = []
        for kernel in kernels:
            entry = of_today(kernel, times)
            if entry.get("seconds") is None:
                missing.append(f"- {slug}, {kernel.name}: {entry.get('why') or 'not modelled yet'}")
                continue
            try:
                measured = seconds_of(kernel)
            except Exception as error:  # noqa: BLE001 - whatever a variant raises is in the report
                missing.append(f"- {slug}, {kernel.name}: {type(error).__name__}: {error!s:.200}")
                continue
            print(slug, kernel.name, entry["seconds"], measured, file=sys.stderr, flush=True)
            pairs.append((entry["seconds"], measured))
            rows.append(
                f"| {slug} | {kernel.name} | {entry['seconds'] * 1e6:.0f} µs | {measured * 1e6:.0f} µs "
                f"| {entry['seconds'] / measured:.2f} | |"
            )
        all_signs += [agreement(a, b) for a, b in combinations(pairs, 2)]
        rows.append(f"| {slug} | | | | | {shown(tau(pairs))} |")
    head = f"Modelled on {GPU.name}, measured on {torch.cuda.get_device_name()}.\n"
    table = [
        "| problem | kernel | modelled | measured | modelled / measured | τ |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    over_all = f"Over all {len(all_signs)} pairs within a problem: τ = {shown(share(all_signs))}."
    return document(head, table + rows, over_all, missing)


def of_today(kernel: Kernel, times: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What is kept of the kernel, if it is of its source as it is now."""
    entry: dict[str, Any] = times.get(kernel.problem.slug, {}).get(kernel.name, {})
    return entry if entry.get("sha256") == kernel.sha256 else {}


def by_problem(every: list[Kernel]) -> dict[str, list[Kernel]]:
    found: dict[str, list[Kernel]] = {}
    for kernel in every:
        found.setdefault(kernel.problem.slug, []).append(kernel)
    return found


def shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def document(head: str, table: list[str], over_all: str, missing: list[str]) -> str:
    lines = ["# Modelled order", "", head, over_all, "", *table, ""]
    if missing:
        lines += ["Without a time:", "", *missing, ""]
    lines.append(f"Written by `python -m benchmarks.model`, version {MODEL} of the model.")
    return "\n".join(lines) + "\n"


# measuring


def seconds_of(kernel: Kernel) -> float:
    """The median of ROUNDS calls on the GPU, each with a cold cache."""
    backward = loaded(kernel)
    arguments = on_gpu(kernel.problem, kernel.benchmark.dims)
    between = torch.empty(BETWEEN, dtype=torch.int8, device="cuda")
    for _ in range(WARM_UPS):
        backward(*arguments)
    times: list[float] = []
    event: Any = torch.cuda.Event
    for _ in range(ROUNDS):
        between.zero_()
        begin, end = (event(enable_timing=True) for _ in range(2))
        begin.record()
        backward(*arguments)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1000)
    return median(times)


def loaded(kernel: Kernel) -> Callable[..., Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(kernel.source)
    takes = {f.name: list(f.parameters) for f in functions_of(kernel.problem)}
    return load_functions(file.name, takes)["backward"]


def on_gpu(problem: Problem, dims: Dims) -> list[torch.Tensor | None]:
    """Arguments at full size: integers as they are drawn, small floating values of no meaning; no
    buffers."""
    integers = problem.make_integers(dims, seed=0)
    generator = torch.Generator("cuda").manual_seed(0)
    found: list[torch.Tensor | None] = []
    for argument in problem.arguments:
        if argument.name in integers:
            found.append(integers[argument.name].cuda())
            continue
        shape = lengths(argument.shape, dims)
        made = torch.empty(shape, dtype=argument.dtype, device="cuda")
        found.append(made.uniform_(0.25, 0.75, generator=generator))
    return [*found, *(None for _ in problem.buffers)]


if __name__ == "__main__":
    sys.exit(main())
