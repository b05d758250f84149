"""What every process that has a submission in it does: import it, and obey one command at a time.

Every answer repeats its command's token, so that none can be sent before it is asked for.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from . import channel, errors

Message = dict[str, Any]
Handler = Callable[[Message], Message]


class BadSubmission(Exception):
    """The file has no usable `backward`."""


class SubmissionHarness:
    """A process with one submission. `load` imports it; subclasses say what else they obey."""

    backward: Callable[..., Any]
    path: str
    names: list[str]  # what backward takes

    def __init__(self, conversation: channel.Channel) -> None:
        self._conversation = conversation

    def handlers(self) -> Mapping[str, Handler]:
        """What is done on each command."""
        return {"load": self._load}

    def serve(self) -> None:
        """Answer commands until the judge hangs up."""
        self._conversation.send({"ready": True})
        handlers = self.handlers()
        while (command := self._conversation.receive()) is not None:
            answer = handlers[command["do"]](command)
            self._conversation.send({**answer, "token": command["token"]})

    def failed(self, error: BaseException) -> Message:
        """The answer when the submission raised."""
        return {"error": errors.describe(error, self.path), "memory": out_of_memory(error)}

    def _load(self, command: Message) -> Message:
        self.path = f"{tempfile.gettempdir()}/{errors.USER_FILE}"  # the sandbox's own folder
        try:
            with open(self.path, "w", encoding="utf-8") as file:  # noqa: PTH123 - quick to import
                file.write(command["source"])
            self.names = command["arguments"]
            self.backward = load_backward(self.path, self.names)
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        return {"loaded": True}


def out_of_memory(error: BaseException) -> bool:
    """Whether PyTorch or Python could not allocate."""
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
