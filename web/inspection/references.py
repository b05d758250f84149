"""What the reference solutions compile to, as `benchmarks/compiled.py` recorded it beside them."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from web.catalogue.pages import KERNELS, Solution
from web.inspection.figures import KernelFigures, kernels_of
from wire.access_maps import MOST_RUNS, AccessMaps, check
from wire.inspection import Inspection
from wire.reading import Bounds, Unreadable, read

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reference:
    """The figures of one file, and the Triton that compiled it."""

    inspection: Inspection
    kernels: tuple[KernelFigures, ...]
    triton: str


@lru_cache(maxsize=256)
def reference(solution: Solution) -> Reference | None:
    """The figures of this very source; None for one that changed since, or that is no kernel."""
    entry = _recorded(solution, "compiled.json")
    if entry is None:
        return None
    try:
        inspection = Inspection.from_json(entry["figures"])
    except Unreadable:
        logger.exception("the figures recorded of %s are of another form", solution.path)
        return None
    return Reference(inspection, kernels_of(inspection), entry["triton"])


@lru_cache(maxsize=64)
def reference_maps(solution: Solution) -> AccessMaps | None:
    """What the programs of this very source touch; None where that is not known."""
    entry = _recorded(solution, "maps.json")
    if entry is None:
        return None
    try:
        maps = read(AccessMaps, entry["maps"], "maps", Bounds(items=3 * MOST_RUNS))
        check(maps)
    except Unreadable:
        logger.exception("the access maps recorded of %s are of another form", solution.path)
        return None
    return maps


def _recorded(solution: Solution, file: str) -> dict[str, Any] | None:
    """What `file` beside the solution has of it, unless that is of another source."""
    _, slug, name = solution.path.split("/")
    path = KERNELS / slug / file
    if not path.exists():
        return None
    entry: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")).get(name)
    if entry is None or entry["sha256"] != hashlib.sha256(solution.source.encode()).hexdigest():
        return None
    return entry
