"""Which parts of each tensor the programs of a submission touch, on one of the problem's small cases.

All programs run, on real values: the picture is whole, and shows what is read through an index. The case
is a public one, whose values are no secret.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from problems.spec import Case, Dims, Problem, lengths
from runner.conversation import Conversation
from runner.failures import SessionFailed, from_error
from runner.inspection.compiler import handed_over
from runner.memory import layouts_of, raw_bytes
from sandbox.spec import Running
from wire import access_maps
from wire.access_maps import AccessMaps
from wire.reading import Bounds, Unreadable, read
from wire.verdict import Verdict

# Bytes of shared memory for the arguments of any problem's case, and for what is told.
ARENAS: Mapping[str, int] = {"inputs": 16 << 20, "maps": 8 << 20}
SECONDS = 8.0
_PATIENCE = 30.0
_SEED = 0
_BOUNDS = Bounds(text=200, items=3 * access_maps.MOST_RUNS)


def telling(problem: Problem) -> Case:
    """The public case whose map shows most: many elements, in many tiles of each tensor."""
    public = [case for case in problem.cases if case.public]
    plain = [case for case in public if case.values == "normal" and not case.layouts] or public
    return max(plain, key=lambda case: _size(problem, case.dims))


def _size(problem: Problem, dims: Dims) -> int:
    shapes = [lengths(argument.shape, dims) for argument in problem.arguments]
    side = access_maps.SIDE
    tiles = (
        min(math.prod(shape[:-1]), side) * min(shape[-1], side) if shape else 1 for shape in shapes
    )
    return sum(map(math.prod, shapes)) * sum(tiles)


def mapped(problem: Problem, running: Running, conversation: Conversation) -> AccessMaps:
    """What the submission that the process has loaded touches on `telling(problem)`.

    Raises:
        SessionFailed: `backward` raised, or the process failed or told something impossible.
    """
    case = telling(problem)
    layouts, _ = layouts_of(arguments := problem.make_arguments(case, _SEED))
    for layout, tensor in zip(layouts, arguments.values(), strict=True):
        raw = raw_bytes(tensor).numpy().tobytes()
        running.arena("inputs")[layout["offset"] : layout["offset"] + len(raw)] = raw
    command = {"do": "map", "inputs": layouts, "limits": _limits()}
    reply, _ = conversation.ask(command, _PATIENCE, "mapping its accesses")
    if "error" in reply:
        raise from_error(reply, Verdict.RUNTIME_ERROR, "backward raised an error")
    answer = handed_over(running.arena("maps"), reply)
    return _read(answer, case)


def _limits() -> dict[str, float]:
    return {
        "side": access_maps.SIDE,
        "launches": access_maps.MOST_LAUNCHES,
        "programs": access_maps.MOST_PROGRAMS,
        "maps": access_maps.MOST_MAPS,
        "lines": access_maps.MOST_LINES,
        "runs": access_maps.MOST_RUNS,
        "seconds": SECONDS,
    }


def _read(answer: dict[str, Any], case: Case) -> AccessMaps:
    known = {"case": case.name, "dims": dict(case.dims)}
    try:
        maps = read(AccessMaps, {**answer, **known}, "maps", _BOUNDS)
        access_maps.check(maps)
    except Unreadable as error:
        raise SessionFailed(
            Verdict.INVALID_OUTPUT, f"The process told something impossible: {error}."
        ) from None
    return maps
