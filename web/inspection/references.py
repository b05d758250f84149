"""What the reference solutions compile to, as `benchmarks/compiled.py` recorded it beside them."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import lru_cache

from web.catalogue.pages import KERNELS, Solution
from web.inspection.figures import KernelFigures, kernels_of
from wire.inspection import Inspection
from wire.reading import Unreadable

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
    _, slug, name = solution.path.split("/")
    path = KERNELS / slug / "compiled.json"
    if not path.exists():
        return None
    entry = json.loads(path.read_text(encoding="utf-8")).get(name)
    if entry is None or entry["sha256"] != hashlib.sha256(solution.source.encode()).hexdigest():
        return None
    try:
        inspection = Inspection.from_json(entry["figures"])
    except Unreadable:
        logger.exception("the figures recorded of %s are of another form", solution.path)
        return None
    return Reference(inspection, kernels_of(inspection), entry["triton"])
