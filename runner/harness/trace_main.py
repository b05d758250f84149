"""The process that traces a submission: interpreted, and watched.

Commands: ``load`` (import the submission), ``trace`` (one call of `backward` on arguments of given
shapes without memory, as on a given GPU: what its launches move and compute), ``map`` (one call on
arguments that lie in shared memory: which parts of them its programs touch). Answers are as little
believed as anything from here.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import channel
from .loading import Handler, Message, SubmissionHarness


class TraceHarness(SubmissionHarness):
    """State of one job: the submission."""

    def __init__(self, conversation: channel.Channel) -> None:
        super().__init__(conversation)
        # Here, because libraries write when they are imported.
        from . import (
            counting,
            interpreter,
            launches,
            mapping,
            phantom,
            pretended,
            tensors,
            warm_up,
            watched,
        )

        interpreter.install()
        watched.install()
        counting.install()
        warm_up.run()
        self._launches, self._phantom = launches, phantom
        self._pretended, self._watched = pretended, watched
        self._mapping, self._tensors = mapping, tensors

    def handlers(self) -> Mapping[str, Handler]:
        return {**super().handlers(), "trace": self._trace, "map": self._map}

    def _trace(self, command: Message) -> Message:
        from torch._subclasses.fake_tensor import FakeTensorMode

        seen = self._phantom.Phantom(self.path)
        pretending = self._pretended.pretending(command["gpu"])
        try:
            with pretending, FakeTensorMode(), self._watched.watched_by(seen):
                self.backward(*(spec and self._launches.empty(spec) for spec in command["specs"]))
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        wrapped = [[line, kernel] for line, kernel in seen.wrapped_lines.items()]
        return {"launches": seen.launches, "wrapped": wrapped}

    def _map(self, command: Message) -> Message:
        inputs = self._tensors.open_arena("inputs")
        given = self._tensors.Arguments(inputs, command["inputs"], self.names)
        seen = self._mapping.Mapper(self.path, self._mapping.Limits(**command["limits"]))
        try:
            with self._watched.watched_by(seen):
                self.backward(*given.copies())
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        return self._tensors.hand_over(seen.told(), self._tensors.open_arena("maps"))


if __name__ == "__main__":
    TraceHarness(channel.Channel()).serve()
