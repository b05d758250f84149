"""Plain data from another process, read as the dataclasses that both sides share, and as nothing else.

The types of the fields say what is taken: dataclasses, tuples, dicts with text for keys, optionals,
enums of text and scalars. Text is made storable and harmless on the way: no NUL, no half of a surrogate
pair, no control characters.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

_MAX_INTEGER = 2**63 - 1
# NUL, which PostgreSQL does not take; what a terminal obeys; what turns the order of text round.
_OBEYED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

T = TypeVar("T")


class Unreadable(ValueError):
    """Data that are not what was declared; says where the first thing wrong is."""


@dataclass(frozen=True)
class Bounds:
    """The longest text, in characters, and the most items of a list or an object."""

    text: int = 200_000
    items: int = 10_000


def read(cls: type[T], data: Any, where: str, bounds: Bounds | None = None) -> T:
    """`data` as the dataclass `cls`; `where` names it in what is raised.

    Raises:
        Unreadable: a field is missing, unknown, of another type or out of bounds.
    """
    result: T = _Reader(bounds or Bounds()).read(cls, data, where)
    return result


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


@dataclass(frozen=True)
class _Reader:
    bounds: Bounds

    def read(self, hint: Any, value: Any, where: str) -> Any:
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            options = [option for option in get_args(hint) if option is not type(None)]
            return None if value is None else self.read(options[0], value, where)
        if origin is tuple:
            return self._tuple(get_args(hint), value, where)
        if origin is dict:
            return self._dict(get_args(hint), value, where)
        if is_dataclass(hint):
            return self._dataclass(hint, value, where)
        return self._scalar(hint, value, where)

    def _dataclass(self, cls: Any, value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise Unreadable(f"{where} is not an object")
        known = {field.name: field for field in fields(cls)}
        if unknown := value.keys() - known.keys():
            raise Unreadable(f"{where} has an unknown field {min(map(str, unknown))!r}")
        missing = [
            name
            for name, field in known.items()
            if name not in value and field.default is MISSING and field.default_factory is MISSING
        ]
        if missing:
            raise Unreadable(f"{where} lacks {missing[0]}")
        hints = _hints(cls)
        return cls(**{n: self.read(hints[n], v, f"{where}.{n}") for n, v in value.items()})

    def _tuple(self, arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
        most = self.bounds.items
        if not isinstance(value, (list, tuple)) or len(value) > most:
            raise Unreadable(f"{where} is not a list of at most {most} items")
        if arguments[-1] is Ellipsis:
            if arguments[0] is int and all(type(v) is int and 0 <= v < 1 << 31 for v in value):
                return tuple(value)  # a line for each of thousands: without a call for each
            return tuple(self.read(arguments[0], v, f"{where}[{i}]") for i, v in enumerate(value))
        if len(value) != len(arguments):
            raise Unreadable(f"{where} does not have {len(arguments)} items")
        pairs = zip(arguments, value, strict=True)
        return tuple(self.read(hint, v, f"{where}[{i}]") for i, (hint, v) in enumerate(pairs))

    def _dict(self, arguments: tuple[Any, ...], value: Any, where: str) -> dict[str, Any]:
        most = self.bounds.items
        if not isinstance(value, dict) or len(value) > most:
            raise Unreadable(f"{where} is not an object of at most {most} fields")
        return {
            self.read(str, k, f"{where}'s key"): self.read(arguments[1], v, f"{where}.{k}")
            for k, v in value.items()
        }

    def _scalar(self, hint: Any, value: Any, where: str) -> Any:
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            if not isinstance(value, str) or value not in list(hint):
                raise Unreadable(f"{where} is {value!r:.60}, which is none of {', '.join(hint)}")
            return hint(value)
        if hint is float and type(value) in (int, float):
            return _finite(value, where)
        if type(value) is not hint:
            raise Unreadable(f"{where} is a {type(value).__name__}, not a {hint.__name__}")
        if hint is str:
            return self._storable(value, where)
        if hint is int and abs(value) > _MAX_INTEGER:
            raise Unreadable(f"{where} is too large a number")
        return value

    def _storable(self, text: str, where: str) -> str:
        if len(text) > self.bounds.text:
            raise Unreadable(f"{where} is longer than {self.bounds.text} characters")
        return _OBEYED.sub("\N{REPLACEMENT CHARACTER}", text.encode("utf-8", "replace").decode())


def _finite(value: float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise Unreadable(f"{where} is too large a number") from None
    if not math.isfinite(number):
        raise Unreadable(f"{where} is not finite")
    return number
