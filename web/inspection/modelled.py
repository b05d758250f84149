"""What a board shows of an inspection's modelled times."""

from __future__ import annotations

import math
from typing import Any

from problems.registry import UnknownProblem, get_problem
from wire.inspection import MODEL, RANKED_GPU, Inspection

SHAPES = "gpu"


def modelled(inspection: Inspection) -> dict[str, Any]:
    """Fields of a StoredInspection. The score is the geometric mean, over the benchmark shapes of GPUs,
    of roofline time by modelled time on one GPU; None unless all of them were modelled by the model of
    today, for the problem's version of today."""
    times: dict[str, dict[str, Any]] = {
        time.benchmark: {
            "name": time.benchmark,
            "modelled": time.seconds,
            "roofline": time.roofline,
            "efficiency": time.efficiency,
        }
        for time in inspection.models
        if time.gpu == RANKED_GPU and time.version == MODEL
    }
    names = _names(inspection)
    if not names or not times.keys() >= set(names):
        return {
            "score": None,
            "timings": [],
            "model_version": None,
            "problem_version": inspection.problem_version,
        }
    chosen = [times[name] for name in names]
    logarithms = [math.log(time["efficiency"]) for time in chosen]
    return {
        "score": math.exp(sum(logarithms) / len(logarithms)),
        "timings": chosen,
        "model_version": MODEL,
        "problem_version": inspection.problem_version,
    }


def _names(inspection: Inspection) -> list[str]:
    try:
        problem = get_problem(inspection.problem)
    except UnknownProblem:
        return []
    if problem.version != inspection.problem_version:
        return []
    return [benchmark.name for benchmark in problem.benchmarks[SHAPES]]
