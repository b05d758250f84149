"""The process that compiles a submission's kernels: what `main` is for running them.

Commands: ``load`` (import the submission), ``compile`` (record what one call of `backward` launches on
tensors of given shapes, and compile each kernel for given targets). The answer to ``compile`` lies in
the shared memory ``texts``, as JSON; it is as little believed as anything from here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from . import channel
from .loading import Handler, Message, SubmissionHarness


class CompilerHarness(SubmissionHarness):
    """State of one job: the submission and the recorder of its launches."""

    def __init__(self, conversation: channel.Channel) -> None:
        super().__init__(conversation)
        from . import compiling, launches, tensors  # here: libraries write when they are imported

        self._compiling, self._tensors = compiling, tensors
        self._launches = launches
        self._texts = tensors.open_arena("texts")
        self._recorder = launches.Recorder()
        self._recorder.install()

    def handlers(self) -> Mapping[str, Handler]:
        return {**super().handlers(), "compile": self._compile}

    def _compile(self, command: Message) -> Message:
        try:
            recorded = [
                self._launches.record(self._recorder, self.backward, command["specs"], gpu)
                for gpu in command["gpus"]
            ]
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        kernels, left_out = [], 0
        for gpu, launches in zip(command["gpus"], recorded, strict=True):
            found = self._distinct(launches)
            left_out = max(left_out, len(found) - command["most"])
            for told, launch, count in found[: command["most"]]:
                result = self._compiling.compiled(launch, gpu["capability"])
                kernels.append(
                    {**told, **result, "launches": count, "capability": gpu["capability"]}
                )
        remarks = self._recorder.remarks
        answer = {"kernels": kernels, "left_out": left_out, "remarks": remarks}
        return self._tensors.hand_over(answer, self._texts)

    def _distinct(self, launches: list[Any]) -> list[tuple[Message, Any, int]]:
        found: dict[str, tuple[Message, Any, int]] = {}
        for launch in launches:
            told = self._compiling.described(launch)
            key = json.dumps(told)
            count = found[key][2] if key in found else 0
            found[key] = (told, launch, count + 1)
        return list(found.values())


if __name__ == "__main__":
    CompilerHarness(channel.Channel()).serve()
