"""Two sandboxed processes for one submission of a pair: one runs `forward`, the other `backward`.

Between them goes what `forward` declared to save, as bytes of a dtype and shape, through the judge.
Whatever else the first process remembers is not there in the second, so that the bytes which are counted
are all that `backward` had.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from problems.pairs import SAVED, Function, functions_of, given, inputs_of
from problems.spec import Dims, Problem, Tensors
from runner.session import Returned, Session, at_once


def handing_over(problem: Problem) -> Function:
    """What the file of a baseline has besides: `hand_over(y, saved)` gives back what it is given."""
    (output,) = functions_of(problem)[0].outputs
    return Function("hand_over", (output.name, SAVED), (output,), saves=True)


class PairSession:
    """Answers as a `Session` does, with two of them. A context manager: leaving it ends both."""

    _problem: Problem
    _arguments: Tensors
    _dims: Dims
    _first: Returned

    def __init__(self, forward: Session, backward: Session) -> None:
        self._forward = forward
        self._backward = backward
        # One process may play both parts, if nobody need fear what it remembers: the baseline's.
        self._sessions = tuple(dict.fromkeys((forward, backward)))

    def load(self, problem: Problem, source: str) -> None:
        """Import the submission in each process. Raises as `Session.load` does."""
        self._problem = problem
        for session in self._sessions:
            session.load(problem, source)

    def load_baseline(self, problem: Problem, source: str) -> None:
        """Import the plain pair, from a file that also knows how to hand over."""
        self._problem = problem
        for session in self._sessions:
            session.load(problem, source, (handing_over(problem),))

    def keep_memory(self, amount: int) -> None:
        """Have each process take memory. As `Session.keep_memory`."""
        for session in self._sessions:
            session.keep_memory(amount)

    def seconds_to_meet(self) -> float:
        """As `Session.seconds_to_meet`, of the first process."""
        return self._forward.seconds_to_meet()

    def prepare(self, arguments: Tensors, dims: Dims) -> None:
        """Hand `forward` its inputs. `backward` is prepared when it is known what was saved."""
        self._arguments, self._dims = arguments, dims
        function = functions_of(self._problem)[0]
        self._forward.prepare_call(function, given(function, arguments), dims)

    def call(self, before: Callable[[], None] = at_once) -> Returned:
        """Run `forward`, then `backward`; `before` just ahead of each.

        Raises:
            SessionFailed: one of them failed, or what is saved is not what may be saved.
        """
        self._first = self._forward.call(before)
        self._prepare_backward()
        return self._whole(self._backward.call(before))

    def call_under(self, arguments: Tensors, dims: Dims) -> Returned:
        """Run on `arguments`. If those of `forward` are the very tensors of the call before, with what
        it saved then."""
        inputs = inputs_of(self._problem, arguments)
        before = getattr(self, "_arguments", {})
        if any(before.get(name) is not tensor for name, tensor in inputs.items()):
            self.prepare(arguments, dims)
            return self.call()
        self._arguments = arguments
        self._prepare_backward()
        return self._whole(self._backward.call())

    def _prepare_backward(self) -> None:
        function, saved = functions_of(self._problem)[-1], self._first.saved or ()
        self._backward.prepare_call(function, given(function, self._arguments, saved), self._dims)

    def _whole(self, last: Returned) -> Returned:
        first = self._first
        return replace(
            last,
            wall=first.wall + last.wall,
            reported=first.reported + last.reported,
            saved=first.saved,
            forward=first,
        )

    def seconds_to_hand_over(self, theirs: Returned) -> float:
        """Seconds that an honest process needs, besides the work, to hand over what another one did.

        Only of a baseline.
        """
        assert theirs.forward is not None
        function = handing_over(self._problem)
        tensors = given(
            function,
            {function.parameters[0]: theirs.forward.gradients[0]},
            theirs.saved or (),
        )
        self._forward.prepare_call(function, tensors, self._dims)
        returned = self._forward.call()
        return returned.wall - returned.reported

    def check_unmodified(self) -> None:
        """Raises SessionFailed when the last calls changed their arguments."""
        self._forward.check_unmodified()
        self._backward.check_unmodified()

    def watch(self) -> dict[str, Any]:
        """Run both on copies of what was prepared while their kernels are watched. As `Session.watch`.

        `backward` is watched on what an unwatched `forward` saved.
        """
        first = self._forward.watch()
        if "error" in first:
            return first
        self._first = self._forward.call()
        self._prepare_backward()
        last = self._backward.watch()
        found = [reply.get("findings") for reply in (first, last)]
        return {**last, "findings": [f for told in found if isinstance(told, list) for f in told]}

    def printed(self) -> str:
        """What both wrote to their standard error, `forward` first; the same at import only once."""
        return "".join(dict.fromkeys(session.printed() for session in self._sessions))

    def __enter__(self) -> Self:
        for session in self._sessions:
            session.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as stack:  # each is ended, whatever the others do
            for session in self._sessions:
                stack.push(session)
