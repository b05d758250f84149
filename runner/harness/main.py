"""The process that runs a submission: the only code of ours beside it in the sandbox.

It obeys the judge, one command at a time, and decides nothing. Nothing it says is believed: gradients
are compared and time is measured on the other side. What it checks, it checks to give the user a clear
message early.

Commands: ``load`` (import the submission), ``prepare`` (learn where the arguments will lie, and
which function takes them), ``call`` (run it on what lies there now and hand over what it returns),
``watch`` (run it on copies of what lies there, and tell what its kernels do wrong; in the interpreter
only), ``keep`` (have memory at hand, before calls are timed), ``meet`` (tell how long threads wait for
each other), ``ping``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import channel
from .loading import Handler, Message, SubmissionHarness

if TYPE_CHECKING:
    from . import tensors


class Harness(SubmissionHarness):
    """State of one job: the submission, its latest arguments, the shared memories."""

    _arguments: tensors.Arguments

    def __init__(self, conversation: channel.Channel) -> None:
        super().__init__(conversation)
        self._asked: Message = {}
        self._handed_over: list[Any] = []  # kept alive, so that new memory is elsewhere
        self._import_libraries()

    def handlers(self) -> Mapping[str, Handler]:
        return {
            **super().handlers(),
            "prepare": self._prepare,
            "call": self._call,
            "watch": self._watch,
            "keep": self._keep,
            "meet": self._meet,
            "ping": self._ping,
        }

    def _import_libraries(self) -> None:
        import torch  # here, so that standard output is already taken over when libraries write

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        if os.environ.get("TRITON_INTERPRET") == "1":
            from . import interpreter, warm_up, watched

            interpreter.install()
            watched.install()
            warm_up.run()
        from . import tensors

        self._tensors = tensors
        self._inputs = tensors.open_arena("inputs")
        self._outputs = tensors.open_arena("outputs")

    def _ping(self, _: Message) -> Message:
        return {"alive": True}

    def _keep(self, command: Message) -> Message:
        import torch

        # Freed at once, and kept by the allocator where the environment says so.
        torch.empty(command["bytes"], dtype=torch.uint8).fill_(0)
        return {"kept": True}

    def _meet(self, command: Message) -> Message:
        import torch

        # The least that PyTorch shares out among all threads (at::internal::GRAIN_SIZE).
        shared_out = torch.zeros((torch.get_num_threads() - 1) * 32768 + 8192)
        times = []
        for _ in range(command["pieces"]):
            start = time.perf_counter()
            for _ in range(command["meetings"]):
                shared_out.add_(1.0)
            times.append(time.perf_counter() - start)
        return {"seconds": sorted(times)[len(times) // 2]}

    def _prepare(self, command: Message) -> Message:
        self._asked = command
        self._arguments = self._tensors.Arguments(self._inputs, command["inputs"])
        return {"prepared": True}

    def _call(self, _: Message) -> Message:
        asked, tensors = self._asked, self._tensors
        function = self.functions[asked["function"]]
        arguments = tensors.arranged(asked["takes"], self._arguments.tensors)
        try:
            start = time.perf_counter()
            returned = function(*arguments)
            seconds = time.perf_counter() - start
            return {"seconds": seconds, **self._hand_over(returned)}
        except tensors.InvalidOutput as error:
            return {"invalid": str(error)}
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)

    def _hand_over(self, returned: Any) -> Message:
        """Puts what was returned where the judge takes it from; the answer's part about that."""
        asked, tensors = self._asked, self._tensors
        saved = None
        if asked["most_saved"] is not None:
            returned, saved = tensors.parted(returned, asked["most_saved"])
        wanted = asked["outputs"]
        outputs = tensors.check_outputs(returned, asked["function"], wanted, self._arguments)
        tensors.check_new(outputs, self._handed_over, wanted)
        self._handed_over = outputs
        tensors.store(outputs, wanted, self._outputs)
        if saved is None:
            return {}
        return {"saved": tensors.store_saved(saved, asked["saved_from"], self._outputs)}

    def _watch(self, _: Message) -> Message:
        from . import sanitizer, watched  # only the interpreter can be watched

        asked = self._asked
        names = [want["name"] for want in asked["outputs"]]
        faults = sanitizer.Sanitizer(self.path)
        arguments = self._arguments.copies()
        try:
            with faults.watching(list(arguments.values())), watched.watched_by(faults):
                taken = self._tensors.arranged(asked["takes"], arguments)
                returned = self.functions[asked["function"]](*taken)
            if asked["most_saved"] is not None:
                output, saved = self._tensors.parted(returned, asked["most_saved"])
                returned = [output, *saved]
                names += [f"saved[{i}]" for i in range(len(saved))]
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return {"findings": faults.findings(), **self.failed(error)}
        outputs = returned if isinstance(returned, (tuple, list)) else [returned]
        faults.check_outputs(outputs, names)
        return {"findings": faults.findings()}


if __name__ == "__main__":
    Harness(channel.Channel()).serve()
