"""Whoever answers the judge's questions about one problem: a session, or the two of a pair."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self

from problems.spec import Dims, Problem, Tensors
from runner.session import Returned


class Answering(Protocol):
    """A submission in as many processes as its problem takes. `runner.session.Session` says what each
    method does and raises. A context manager: leaving it leaves nothing behind."""

    def load(self, problem: Problem, source: str) -> None: ...

    def load_baseline(self, problem: Problem, source: str) -> None: ...

    def keep_memory(self, amount: int) -> None: ...

    def seconds_to_meet(self) -> float: ...

    def prepare(self, arguments: Tensors, dims: Dims) -> None: ...

    def call(self, before: Callable[[], None] = ...) -> Returned: ...

    def call_under(self, arguments: Tensors, dims: Dims) -> Returned: ...

    def check_unmodified(self) -> None: ...

    def watch(self) -> dict[str, Any]: ...

    def printed(self) -> str: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
