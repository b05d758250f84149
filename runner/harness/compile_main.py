"""The process that compiles a submission's kernels: what `main` is for running them.

Commands: ``load`` (import the submission), ``compile`` (record what one call of `backward`, or of both
functions of a pair, launches on tensors of given shapes, and compile each kernel for given targets). The
answer to ``compile`` lies in the shared memory ``texts``, as JSON; it is as little believed as anything
from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import channel
from .loading import Handler, Message, SubmissionHarness

# What people read and no figure is made of.
_TO_READ = ("llir", "ptx")
# What an autotuner forgives a configuration.
_PASSED_OVER = ("CompileTimeAssertionFailure", "PTXASError")


class CompilerHarness(SubmissionHarness):
    """State of one job: the submission and the recorder of its launches."""

    def __init__(self, conversation: channel.Channel) -> None:
        super().__init__(conversation)
        from . import compiling, launches, tensors  # here: libraries write when they are imported

        self._compiling = compiling
        self._launches = launches
        self._tensors = tensors
        self._texts = tensors.open_arena("texts")
        self._recorder = launches.Recorder(self._fit)
        self._recorder.install()
        self._launch_of: dict[str, Any] = {}
        self._results: dict[tuple[str, int], Message] = {}

    def handlers(self) -> Mapping[str, Handler]:
        return {**super().handlers(), "compile": self._compile}

    def _compile(self, command: Message) -> Message:
        try:
            recorded = [
                self._launches.record(self._recorder, self.answer, command["specs"], gpu)
                for gpu in command["gpus"]
            ]
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        kernels, left_out = [], 0
        for gpu, launches in zip(command["gpus"], recorded, strict=True):
            found = self._distinct(launches, gpu["capability"])
            left_out = max(left_out, len(found) - command["most"])
            for told, key, count in found[: command["most"]]:
                result = self._compiled(key, gpu["capability"])
                if not command["texts"]:
                    result = {k: v for k, v in result.items() if k not in _TO_READ}
                kernels.append(
                    {**told, **result, "launches": count, "capability": gpu["capability"]}
                )
        remarks = self._recorder.remarks
        answer = {"kernels": kernels, "left_out": left_out, "remarks": remarks}
        return self._tensors.hand_over(answer, self._texts)

    def _fit(self, launches: Sequence[Any], gpu: Message) -> bool:
        """Whether an autotuner on this GPU would not pass these over."""
        for launch in launches:
            key = self._compiling.specialisation(launch, gpu["capability"])
            self._launch_of.setdefault(key, launch)
            result = self._compiled(key, gpu["capability"])
            if str(result.get("error", "")).startswith(_PASSED_OVER):
                return False
            if result.get("shared", 0) > gpu["shared_memory_of_block"]:
                return False
        return True

    def _distinct(self, launches: list[Any], capability: int) -> list[tuple[Message, str, int]]:
        """What is said of the first launch of each machine code, what names that code, and how many
        launches there are of it."""
        found: dict[str, tuple[Message, str, int]] = {}
        for launch in launches:
            key = self._compiling.specialisation(launch, capability)
            if key not in found:
                found[key] = (self._compiling.described(launch), key, 0)
            self._launch_of.setdefault(key, launch)
            told, _, count = found[key]
            found[key] = (told, key, count + 1)
        return list(found.values())

    def _compiled(self, key: str, capability: int) -> Message:
        """Compiled once in this process: a second time the assembler would tell nothing of registers."""
        if (key, capability) not in self._results:
            result = self._compiling.compiled(self._launch_of[key], capability)
            self._results[key, capability] = result
        return self._results[key, capability]


if __name__ == "__main__":
    CompilerHarness(channel.Channel()).serve()
