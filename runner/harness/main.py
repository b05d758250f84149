"""The process that runs a submission: the only code of ours beside it in the sandbox.

It obeys the judge, one command at a time, and decides nothing. Nothing it says is believed: gradients
are compared and time is measured on the other side. What it checks, it checks to give the user a clear
message early.

Commands: ``load`` (import the submission), ``prepare`` (learn where the arguments will lie), ``call``
(run `backward` on what lies there now and hand over the gradients), ``watch`` (run it on copies of what
lies there, and tell what its kernels do wrong; in the interpreter only), ``ping``. Every answer repeats
its command's token, so that none can be sent before it is asked for.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import channel, errors

if TYPE_CHECKING:
    from . import tensors

Message = dict[str, Any]


class BadSubmission(Exception):
    """The file has no usable `backward`."""


class Harness:
    """State of one job: the submission, its latest arguments, the shared memories."""

    _arguments: tensors.Arguments
    _backward: Callable[..., Any]
    _path: str

    def __init__(self, conversation: channel.Channel) -> None:
        self._conversation = conversation
        self._wanted: list[Message] = []
        self._handed_over: list[Any] = []  # kept alive, so that new memory is elsewhere
        self._import_libraries()

    def serve(self) -> None:
        """Answer commands until the judge hangs up."""
        self._conversation.send({"ready": True})
        handlers = {
            "load": self._load,
            "prepare": self._prepare,
            "call": self._call,
            "watch": self._watch,
            "ping": self._ping,
        }
        while (command := self._conversation.receive()) is not None:
            answer = handlers[command["do"]](command)
            self._conversation.send({**answer, "token": command["token"]})

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

    def _load(self, command: Message) -> Message:
        path = f"{tempfile.gettempdir()}/{errors.USER_FILE}"  # the sandbox's own folder
        try:
            with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(command["source"])
            self._backward = load_backward(path, command["arguments"])
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return {"error": errors.describe(error, path), "memory": isinstance(error, MemoryError)}
        self._path = path
        return {"loaded": True}

    def _prepare(self, command: Message) -> Message:
        self._wanted = command["outputs"]
        self._arguments = self._tensors.Arguments(self._inputs, command["inputs"])
        return {"prepared": True}

    def _call(self, _: Message) -> Message:
        try:
            start = time.perf_counter()
            returned = self._backward(*self._arguments.tensors)
            seconds = time.perf_counter() - start
            outputs = self._tensors.check_outputs(returned, self._wanted, self._arguments)
            self._tensors.check_new(outputs, self._handed_over, self._wanted)
            self._handed_over = outputs
            self._tensors.store(outputs, self._wanted, self._outputs)
        except self._tensors.InvalidOutput as error:
            return {"invalid": str(error)}
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return {"error": errors.describe(error, self._path), "memory": _out_of_memory(error)}
        return {"seconds": seconds}

    def _watch(self, _: Message) -> Message:
        from . import sanitizer, watched  # only the interpreter can be watched

        names = [want["name"] for want in self._wanted]
        faults = sanitizer.Sanitizer(self._path)
        arguments = self._arguments.copies()
        try:
            with faults.watching(arguments), watched.watched_by(faults):
                returned = self._backward(*arguments)
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return {
                "findings": faults.findings(),
                "error": errors.describe(error, self._path),
                "memory": _out_of_memory(error),
            }
        outputs = returned if isinstance(returned, (tuple, list)) else [returned]
        faults.check_outputs(outputs, names)
        return {"findings": faults.findings()}


def _out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def load_backward(path: str, names: list[str]) -> Callable[..., Any]:
    """The function `backward` of the file at `path`, which must take the arguments in `names`.

    Raises:
        BadSubmission: it is missing or takes other arguments; and whatever importing the file raises.
    """
    spec = importlib.util.spec_from_file_location("submission", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    signature = f"backward({', '.join(names)})"
    backward: Callable[..., Any] | None = getattr(module, "backward", None)
    if not callable(backward):
        raise BadSubmission(
            f"the file defines no function backward; this problem calls {signature}"
        )
    try:
        inspect.signature(backward).bind(*names)
    except TypeError as error:
        raise BadSubmission(f"backward cannot be called as {signature}: {error}") from None
    except ValueError:
        pass  # a builtin without a signature: the call itself will tell
    return backward


if __name__ == "__main__":
    Harness(channel.Channel()).serve()
