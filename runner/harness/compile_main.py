"""The process that compiles a submission's kernels: what `main` is for running them.

Commands: ``load`` (import the submission), ``compile`` (record what one call of `backward` launches on
tensors of given shapes, and compile each kernel for given targets). The answer to ``compile`` lies in
the shared memory ``texts``, as JSON; it is as little believed as anything from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from . import channel, errors
from .main import load_backward

Message = dict[str, Any]


class CompilerHarness:
    """State of one job: the submission and the recorder of its launches."""

    _backward: Callable[..., Any]
    _path: str

    def __init__(self, conversation: channel.Channel) -> None:
        self._conversation = conversation
        from . import compiling, launches, tensors  # here: libraries write when they are imported

        self._compiling = compiling
        self._launches = launches
        self._texts = tensors.open_arena("texts")
        self._recorder = launches.Recorder()
        self._recorder.install()

    def serve(self) -> None:
        """Answer commands until the judge hangs up."""
        self._conversation.send({"ready": True})
        handlers = {"load": self._load, "compile": self._compile}
        while (command := self._conversation.receive()) is not None:
            answer = handlers[command["do"]](command)
            self._conversation.send({**answer, "token": command["token"]})

    def _load(self, command: Message) -> Message:
        path = f"/tmp/{errors.USER_FILE}"  # noqa: S108 - the sandbox's own
        try:
            with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(command["source"])
            self._backward = load_backward(path, command["arguments"])
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return {"error": errors.describe(error, path), "memory": isinstance(error, MemoryError)}
        self._path = path
        return {"loaded": True}

    def _compile(self, command: Message) -> Message:
        try:
            recorded = [
                self._launches.record(self._recorder, self._backward, command["specs"], gpu)
                for gpu in command["gpus"]
            ]
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return {
                "error": errors.describe(error, self._path),
                "memory": isinstance(error, MemoryError),
            }
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
        return self._handed_over({"kernels": kernels, "left_out": left_out, "remarks": remarks})

    def _distinct(self, launches: list[Any]) -> list[tuple[Message, Any, int]]:
        found: dict[str, tuple[Message, Any, int]] = {}
        for launch in launches:
            told = self._compiling.described(launch)
            key = json.dumps(told)
            count = found[key][2] if key in found else 0
            found[key] = (told, launch, count + 1)
        return list(found.values())

    def _handed_over(self, answer: Message) -> Message:
        body = json.dumps(answer).encode()
        if len(body) > len(self._texts):
            return {"too_long": len(body)}
        self._texts.numpy()[: len(body)] = memoryview(body)
        return {"bytes": len(body)}


if __name__ == "__main__":
    CompilerHarness(channel.Channel()).serve()
