"""The process that traces a submission: interpreted, and watched.

Commands: ``load`` (import the submission), ``trace`` (one call of `backward` on arguments of given
shapes, as on a given GPU: what its launches move and compute), ``map`` (one call on
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
            imagined,
            interpreter,
            mapping,
            phantom,
            pretended,
            tally,
            tensors,
            warm_up,
            watched,
        )

        interpreter.install()
        watched.install()
        counting.install()
        warm_up.run()
        self._imagined, self._phantom, self._tally = imagined, phantom, tally
        self._pretended, self._watched = pretended, watched
        self._mapping, self._tensors = mapping, tensors

    def handlers(self) -> Mapping[str, Handler]:
        return {**super().handlers(), "trace": self._trace, "map": self._map}

    def _trace(self, command: Message) -> Message:
        tally = self._tally.Tally()
        seen = self._phantom.Phantom(self.path, tally)
        pretending = self._pretended.pretending(command["gpu"])
        try:
            with pretending, self._imagined.imagining(tally.heard):
                given = self._imagined.arguments(command["specs"])
                tally.is_on = True
                with self._watched.watched_by(seen):
                    made = self.answer(given)
                tally.is_on = False
                read = [tally.moved(tensor, "loaded") for tensor in given.values()]
                written = [tally.moved(tensor, "stored") for tensor in made]
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        return {
            "launches": [entry.told() for entry in tally.entries.values()],
            "left_out": tally.left_out,
            "read": read,
            "written": written,
            "wrapped": [[line, kernel] for line, kernel in seen.wrapped_lines.items()],
        }

    def _map(self, command: Message) -> Message:
        inputs = self._tensors.open_arena("inputs")
        given = self._tensors.Arguments(inputs, command["inputs"])
        seen = self._mapping.Mapper(self.path, self._mapping.Limits(**command["limits"]))
        try:
            with self._watched.watched_by(seen):
                self.answer(given.copies())
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        return self._tensors.hand_over(seen.told(), self._tensors.open_arena("maps"))


if __name__ == "__main__":
    TraceHarness(channel.Channel()).serve()
