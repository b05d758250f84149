"""What every process that has a submission in it does: import it, and obey one command at a time.

Every answer repeats its command's token, so that none can be sent before it is asked for.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import tempfile
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from . import channel, errors

Message = dict[str, Any]
Handler = Callable[[Message], Message]


class BadSubmission(Exception):
    """The file lacks a usable function that the problem asks for."""


class SubmissionHarness:
    """A process with one submission. `load` imports it; subclasses say what else they obey."""

    functions: dict[str, Callable[..., Any]]
    path: str
    _takes: Mapping[str, list[str]]

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

    def answer(self, arguments: Mapping[str, Any]) -> list[Any]:
        """Call the functions one after the other; what `forward` saves is handed to `backward`, what is
        not among `arguments` is None. All that they returned, but for what was saved."""
        given = dict(arguments)
        made: list[Any] = []
        for name, function in self.functions.items():
            returned = function(*(given.get(taken) for taken in self._takes[name]))
            if name == "forward":
                returned, given["saved"] = returned
            made += returned if isinstance(returned, (tuple, list)) else [returned]
        return made

    def failed(self, error: BaseException) -> Message:
        """The answer when the submission raised."""
        return {"error": errors.describe(error, self.path), "memory": out_of_memory(error)}

    def _load(self, command: Message) -> Message:
        self.path = f"{tempfile.gettempdir()}/{errors.USER_FILE}"  # the sandbox's own folder
        try:
            with open(self.path, "w", encoding="utf-8") as file:  # noqa: PTH123 - quick to import
                file.write(command["source"])
            self._takes = command["functions"]
            self.functions = load_functions(self.path, command["functions"])
        except BaseException as error:  # noqa: BLE001 - SystemExit is the submission's doing too
            return self.failed(error)
        return {"loaded": True}


def out_of_memory(error: BaseException) -> bool:
    """Whether PyTorch or Python could not allocate."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def load_functions(path: str, wanted: Mapping[str, list[str]]) -> dict[str, Callable[..., Any]]:
    """The functions of the file at `path` by name; each must take the arguments in `wanted`.

    Raises:
        BadSubmission: one is missing or takes other arguments; and whatever importing the file raises.
    """
    spec = importlib.util.spec_from_file_location("submission", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    return {name: _function(module, name, takes) for name, takes in wanted.items()}


def _function(module: ModuleType, name: str, takes: list[str]) -> Callable[..., Any]:
    signature = f"{name}({', '.join(takes)})"
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        raise BadSubmission(f"the file defines no function {name}; this problem calls {signature}")
    try:
        inspect.signature(function).bind(*takes)
    except TypeError as error:
        raise BadSubmission(f"{name} cannot be called as {signature}: {error}") from None
    except ValueError:
        pass  # a builtin without a signature: the call itself will tell
    return function
