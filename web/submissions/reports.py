"""Reading a runner's report. Its shape is the dataclasses of wire.verdict; nothing else is let in."""

from __future__ import annotations

from typing import Any

from web.submissions.models import Submission
from wire.reading import Bounds, Unreadable, read
from wire.verdict import SCHEMA, HeatMap, Report

MAX_TEXT = 200_000
MAX_ITEMS = 10_000
MAX_HEADLINE = 500
_BOUNDS = Bounds(text=MAX_TEXT, items=MAX_ITEMS)


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
    peak = report.peak
    if peak and min(peak.bandwidth, peak.vector_flops, peak.matrix_flops) <= 0:
        raise BadReport("a peak of the machine is not positive")
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
    try:
        report = read(Report, data, "report", _BOUNDS)
    except Unreadable as error:
        raise BadReport(str(error)) from None
    if report.schema != SCHEMA:
        raise BadReport(f"schema is {report.schema} and {SCHEMA} is understood")
    return report
