"""The look inside a submission's kernels that follows its verdict.

It is for people to learn from and changes no verdict, whatever goes wrong with it; a modelled time in it
ranks what was accepted. The same source of the same problem compiles to the same, so that it is kept
for a while.
"""

from __future__ import annotations

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from importlib.metadata import version

from celery.exceptions import SoftTimeLimitExceeded

from problems.spec import Problem
from runner.inspection.inspect import inspect
from sandbox.spec import Sandbox
from wire.inspection import MODEL, Inspection
from wire.packing import pack

log = logging.getLogger(__name__)

Inspect = Callable[..., Inspection]


class Inspector:
    """Looks inside and packs what it found; remembers the last `most` that compiled."""

    def __init__(self, sandbox: Sandbox, look: Inspect = inspect, most: int = 64) -> None:
        self._sandbox = sandbox
        self._look = look
        self._most = most
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def packed(self, problem: Problem, source: str, *, every_shape: bool = False) -> bytes:
        """The inspection of `source`, packed, with modelled times on `every_shape` for a board. If it
        fails, one that says so in its remarks."""
        key = _key(problem, source, every_shape)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        try:
            found = self._look(problem, source, self._sandbox, every_shape=every_shape)
            packed = pack(found)
        except SoftTimeLimitExceeded:
            log.exception("looking inside took too long")
            return pack(_nothing(problem, "There was no time left to compile them."))
        except Exception as error:
            # The verdict is out already; what is missing is said, and is no reason to judge again.
            log.exception("looking inside failed")
            return pack(_nothing(problem, f"The compiler failed ({type(error).__name__})."))
        if found.kernels:
            self._keep(key, packed)
        return packed

    def _keep(self, key: str, packed: bytes) -> None:
        self._kept[key] = packed
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)


def _nothing(problem: Problem, why: str) -> Inspection:
    remark = f"The kernels could not be looked into. {why} The verdict stands as it is."
    return Inspection(problem=problem.slug, shape="", dims={}, targets=(), remarks=(remark,))


def _key(problem: Problem, source: str, every_shape: bool) -> str:
    versions = (str(problem.version), version("triton"), str(MODEL), str(every_shape))
    parts = (problem.slug, *versions, source)
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
