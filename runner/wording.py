"""What a report says in words, and which facts about the runner it carries."""

from __future__ import annotations

import math
import platform
from collections.abc import Collection, Sequence

import torch
import triton

from problems import Language, Problem
from runner.hardware import HardwareSpec, cpu_model, cpu_threads
from sandbox.spec import Sandbox
from wire.verdict import CaseReport, Saving, Verdict


def verdict_on(problem: Problem, wrong: Collection[str]) -> Verdict:
    """What tensors of these names being wrong amounts to: gradients of a wrong output come second."""
    if problem.pair is not None and problem.pair.output.name in wrong:
        return Verdict.WRONG_OUTPUT
    return Verdict.WRONG_GRADIENT


def wrong(case: CaseReport) -> str:
    """The headline on a case that failed: which gradients, how many elements, which are right."""
    wrong = [g for g in case.gradients if not g.passed]
    right = [g.name for g in case.gradients if g.passed]
    first = wrong[0]
    shape = " × ".join(f"{k}={v}" for k, v in case.dims.items())
    kind = "public" if case.public else "hidden"
    text = (
        f"{listed([g.name for g in wrong])} wrong in the {kind} case “{case.name}” ({shape}): "
        f"{first.wrong_count:,} of {first.total:,} elements of {first.name} are off."
    )
    return text + (f" {listed(right)} right there." if right else "")


def listed(names: list[str]) -> str:
    """The names with their verb: dx is, dx and dweight are."""
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"


def saved(savings: Sequence[Saving]) -> str:
    """What a pair saves, as one more sentence; empty of what is no pair."""
    if not savings:
        return ""
    ours, plain = sum(s.bytes for s in savings), sum(s.baseline for s in savings)
    return f" Saves {ours:,} bytes, {ours / plain:.2f}× what plain PyTorch saves."


def geometric_mean(values: list[float]) -> float:
    """Of positive values, at least one."""
    return math.exp(sum(math.log(v) for v in values) / len(values))


def environment(sandbox: Sandbox, hardware: HardwareSpec) -> dict[str, str]:
    """With what a submission was judged: versions, processor, isolation."""
    facts = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "isolation": sandbox.isolation.value,
        "cpu": cpu_model(),
        "threads": str(cpu_threads()),
    }
    if hardware.language is Language.TRITON:
        facts["triton"] = triton.__version__
    return facts
