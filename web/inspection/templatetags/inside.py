"""What templates ask about the inside of a submission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django import template
from django.conf import settings

from web.catalogue.pages import Solution
from web.inspection.access import Pick, Picture
from web.inspection.choice import Choice
from web.inspection.figures import LOADS, STORES, widths
from web.inspection.queries import inside_of
from web.inspection.references import Reference, reference, reference_maps
from web.inspection.traffic import Launch, launch
from web.submissions.models import Submission
from wire.access_maps import LaunchMap, TileMap
from wire.inspection import STAGES, MemoryAccess, Trace

register = template.Library()

_STAGE_LABELS = {
    "ttir": ("TTIR", "Triton’s intermediate form, before anything is known of the GPU"),
    "ttgir": ("TTGIR", "the same with layouts: which thread holds which element"),
    "llir": ("LLVM IR", "what Triton hands to LLVM"),
    "ptx": ("PTX", "NVIDIA’s portable assembly"),
    "sass": ("SASS", "the machine’s own instructions"),
    "source": ("Source", "what was submitted"),
}


@register.inclusion_tag("inspection/_section.html")
def inside(submission: Submission) -> dict[str, Any]:
    """The figures of what a finished submission compiles to, or that they are on their way."""
    days = settings.BACKPASS_INSPECTION_DAYS
    return {"submission": submission, "inside": inside_of(submission), "days": days}


@register.simple_tag
def compiled(solution: Solution) -> Reference | None:
    """What a reference solution compiles to."""
    return reference(solution)


@register.simple_tag
def launched(trace: Trace) -> Launch:
    """A traced launch with its shares."""
    return launch(trace)


@register.filter
def stage_label(stage: str) -> str:
    return _STAGE_LABELS[stage][0]


@register.filter
def stage_title(stage: str) -> str:
    return _STAGE_LABELS[stage][1]


@register.simple_tag
def stage_names(*before: str) -> tuple[str, ...]:
    """The names of all forms, those that are given first."""
    return (*before, *STAGES)


@register.simple_tag
def choice_with(choice: Choice, **changes: str) -> str:
    """Parameters of an address that chooses the same but for the changes."""
    return choice.changed(**changes)


@register.filter
def loads(accesses: Iterable[MemoryAccess]) -> tuple[tuple[int, int], ...]:
    """(bytes, how many) of what reads global memory."""
    return widths(accesses, LOADS)


@register.filter
def stores(accesses: Iterable[MemoryAccess]) -> tuple[tuple[int, int], ...]:
    return widths(accesses, STORES)


@register.filter
def settings_of(values: Mapping[str, str]) -> str:
    """ "BLOCK_M=2, BLOCK_N=4096"."""
    return ", ".join(f"{name}={value}" for name, value in values.items())


@register.filter
def either(words: Iterable[str]) -> str:
    """ "spills, shared memory or atomics"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


@register.filter
def sizes(grid: Iterable[int]) -> str:
    """A grid: "64" or "8 × 32"."""
    kept = list(grid)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " × ".join(map(str, kept))


_OPS = {"load": "loaded", "store": "stored", "atomic": "changed by atomics"}


@register.filter
def op_words(op: str) -> str:
    return _OPS[op]


@register.filter
def by_op(launch: LaunchMap) -> list[tuple[str, list[TileMap]]]:
    """The maps of a launch, those of one kind of access together."""
    found = ((op, [one for one in launch.maps if one.op == op]) for op in _OPS)
    return [(op, maps) for op, maps in found if maps]


@register.simple_tag
def pick_with(pick: Pick, **changes: str) -> str:
    """Parameters of an address that picks the same of an access map but for the changes."""
    return pick.changed(**changes)


@register.filter
def program_id(pick: Pick) -> str:
    """The program's `tl.program_id` in all dimensions: "(3, 0, 0)"."""
    return f"({', '.join(map(str, pick.launch.program(pick.program)))})"


@register.filter
def untouched(drawn: Picture) -> int:
    return drawn.tiles - drawn.touched


@register.filter
def unlocalized(value: float) -> str:
    """A number as SVG reads it."""
    return f"{value:g}"


@register.simple_tag
def maps_of(solution: Solution) -> str:
    """The name of a reference solution's access maps in their address; "" where there are none."""
    return Path(solution.path).stem if reference_maps(solution) else ""


@register.filter
def whole_percent(share: float) -> str:
    return f"{100 * share:.0f} %"
