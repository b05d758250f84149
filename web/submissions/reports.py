"""Reading a runner's report. Its shape is the dataclasses of wire.verdict; nothing else is let in."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from web.submissions.models import Submission
from wire.verdict import SCHEMA, HeatMap, Report

MAX_TEXT = 200_000
MAX_ITEMS = 10_000
MAX_HEADLINE = 500
_MAX_INTEGER = 2**63 - 1
# NUL, which PostgreSQL does not take; what a terminal obeys; what turns the order of text round.
_OBEYED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class BadReport(ValueError):
    """A report that is not what wire.verdict declares, or is about something else."""


def read_report(data: Any, submission: Submission, *, may_be_newer: bool = False) -> Report:
    """The report in `data`, checked against the declared types and against the submission.

    A rejudge `may_be_newer`: about a later version of the problem than the submission was written for.
    Text is made storable and harmless: no NUL, no half of a surrogate pair, no control characters.

    Raises:
        BadReport: says where the first thing wrong is.
    """
    report = parse_report(data)
    for name in ("problem", "problem_version", "hardware", "language", "mode"):
        said, meant = getattr(report, name), getattr(submission, name)
        is_newer = may_be_newer and name == "problem_version" and said > meant
        if said != meant and not is_newer:
            raise BadReport(f"{name} is {said!r} but the submission's is {meant!r}")
    _check_figures(report)
    return report


def _check_figures(report: Report) -> None:
    """What the types leave open and the pages and boards rely on."""
    if len(report.headline) > MAX_HEADLINE:
        raise BadReport(f"headline is longer than {MAX_HEADLINE} characters")
    if report.score is not None and report.score <= 0:
        raise BadReport("score is not positive")
    if any(timing.median <= 0 for timing in report.timings):
        raise BadReport("a timing's median is not positive")
    gradients = (gradient for case in report.cases for gradient in case.gradients)
    heat_maps = (gradient.heat_map for gradient in gradients if gradient.heat_map)
    if not all(map(_is_sound, heat_maps)):
        raise BadReport("a heat map's sizes do not fit its cells")


def _is_sound(heat_map: HeatMap) -> bool:
    sizes = (heat_map.rows, heat_map.columns, *heat_map.extent)
    return min(sizes) > 0 and len(heat_map.wrong_share) == heat_map.rows * heat_map.columns


def parse_report(data: Any) -> Report:
    """The report in `data`, checked against the declared types only; for stored reports as well.

    Raises:
        BadReport: says where the first thing wrong is.
    """
    report: Report = _read(Report, data, "report")
    if report.schema != SCHEMA:
        raise BadReport(f"schema is {report.schema} and {SCHEMA} is understood")
    return report


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


def _read(hint: Any, value: Any, where: str) -> Any:
    """`value` as the type `hint` asks: a dataclass, a tuple, a dict, an optional or a scalar."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return None if value is None else _read(options[0], value, where)
    if origin is tuple:
        return _read_tuple(get_args(hint), value, where)
    if origin is dict:
        return _read_dict(get_args(hint), value, where)
    if is_dataclass(hint):
        return _read_dataclass(hint, value, where)
    return _read_scalar(hint, value, where)


def _read_dataclass(cls: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise BadReport(f"{where} is not an object")
    known = {field.name: field for field in fields(cls)}
    if unknown := value.keys() - known.keys():
        raise BadReport(f"{where} has an unknown field {min(map(str, unknown))!r}")
    missing = [
        name
        for name, field in known.items()
        if name not in value and field.default is MISSING and field.default_factory is MISSING
    ]
    if missing:
        raise BadReport(f"{where} lacks {missing[0]}")
    hints = _hints(cls)
    return cls(**{name: _read(hints[name], v, f"{where}.{name}") for name, v in value.items()})


def _read_tuple(arguments: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > MAX_ITEMS:
        raise BadReport(f"{where} is not a list of at most {MAX_ITEMS} items")
    if arguments[-1] is Ellipsis:
        return tuple(_read(arguments[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    if len(value) != len(arguments):
        raise BadReport(f"{where} does not have {len(arguments)} items")
    pairs = zip(arguments, value, strict=True)
    return tuple(_read(hint, v, f"{where}[{i}]") for i, (hint, v) in enumerate(pairs))


def _read_dict(arguments: tuple[Any, ...], value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > MAX_ITEMS:
        raise BadReport(f"{where} is not an object of at most {MAX_ITEMS} fields")
    return {
        _read(str, k, f"{where}'s key"): _read(arguments[1], v, f"{where}.{k}")
        for k, v in value.items()
    }


def _read_scalar(hint: Any, value: Any, where: str) -> Any:
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        if not isinstance(value, str) or value not in list(hint):
            raise BadReport(f"{where} is {value!r:.60}, which is none of {', '.join(hint)}")
        return hint(value)
    if hint is float and type(value) in (int, float):
        return _finite(value, where)
    if type(value) is not hint:
        raise BadReport(f"{where} is a {type(value).__name__}, not a {hint.__name__}")
    if hint is str:
        return _storable(value, where)
    if hint is int and abs(value) > _MAX_INTEGER:
        raise BadReport(f"{where} is too large a number")
    return value


def _finite(value: float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise BadReport(f"{where} is too large a number") from None
    if not math.isfinite(number):
        raise BadReport(f"{where} is not finite")
    return number


def _storable(text: str, where: str) -> str:
    if len(text) > MAX_TEXT:
        raise BadReport(f"{where} is longer than {MAX_TEXT} characters")
    return _OBEYED.sub("\N{REPLACEMENT CHARACTER}", text.encode("utf-8", "replace").decode())
