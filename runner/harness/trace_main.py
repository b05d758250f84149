"""The process that traces a submission at a benchmark shape: interpreted, on tensors without memory.

Commands: ``load`` (import the submission), ``trace`` (one call of `backward` on arguments of given
shapes, as on a given GPU: what its launches move and compute). Answers are as little believed as
anything from here.
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
        from . import counting, interpreter, launches, phantom, pretended, warm_up, watched

        interpreter.install()
        watched.install()
        counting.install()
        warm_up.run()
        self._launches, self._phantom = launches, phantom
        self._pretended, self._watched = pretended, watched

    def handlers(self) -> Mapping[str, Handler]:
        return {**super().handlers(), "trace": self._trace}

    def _trace(self, command: Message) -> Message:
        from torch._subclasses.fake_tensor import FakeTensorMode

        seen = self._phantom.Phantom(self.path)
        pretending = self._pretended.pretending(command["gpu"])
        try:
            with pretending, FakeTensorMode(), self._watched.watched_by(seen):
                self.backward(*(self._launches.empty(spec) for spec in command["specs"]))
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        wrapped = [[line, kernel] for line, kernel in seen.wrapped_lines.items()]
        return {"launches": seen.launches, "wrapped": wrapped}


if __name__ == "__main__":
    TraceHarness(channel.Channel()).serve()
