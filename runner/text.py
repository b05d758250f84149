"""A report as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from wire.verdict import CaseReport, GradientReport, HeatMap, Report, Timing

_SHADES = " ░▒▓█"


def render(report: Report) -> str:
    """The whole report, the verdict first."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.verdict.label.upper()}  {report.headline}"
    if report.diagnosis:
        yield f"looks like: {report.diagnosis}"
    yield f"{report.problem} v{report.problem_version} on {report.hardware}, {report.language}"
    if report.error is not None:
        yield ""
        yield report.error.traceback
    if report.cases:
        yield ""
        yield f"cases ({len(report.cases)} of {report.cases_total})"
    for case in report.cases:
        yield from _case(case)
    if report.timings:
        yield ""
        yield "timing                       median       IQR   baseline  speed-up  roofline"
        yield from (_timing(t) for t in report.timings)
    if report.not_ranked_because:
        yield f"not ranked: {report.not_ranked_because}"
    if report.deterministic is not None:
        yield "deterministic: " + (
            "yes" if report.deterministic else "no, bits differ between calls"
        )
    if report.output:
        yield ""
        yield "printed by the submission:"
        yield report.output.rstrip()


def _case(case: CaseReport) -> Iterator[str]:
    mark = "ok   " if case.passed else "WRONG"
    shape = " × ".join(f"{k}={v}" for k, v in case.dims.items())
    where = f"seed {case.seed}" if case.public else "hidden"
    yield f"  {mark}  {case.name} ({shape}, {where})"
    if case.message:
        yield f"         {case.message}"
    for gradient in case.gradients:
        if not gradient.passed:
            yield from _gradient(gradient)


def _gradient(gradient: GradientReport) -> Iterator[str]:
    yield f"         {gradient.name}: {gradient.wrong_count:,} of {gradient.total:,} elements are off"
    for measure in gradient.measures:
        if not measure.passed:
            error = "not finite" if measure.error is None else f"{measure.error:.3g}"
            yield f"           {measure.name}: {error}, allowed {measure.allowed:.3g}"
    if gradient.first_wrong is not None:
        first = gradient.first_wrong
        yield f"           first at {list(first.index)}: expected {first.expected}, got {first.got}"
    if gradient.heat_map is not None:
        yield from _heat_map(gradient.heat_map)


def _heat_map(heat: HeatMap) -> Iterator[str]:
    for row in range(heat.rows):
        shares = heat.wrong_share[row * heat.columns : (row + 1) * heat.columns]
        yield "           |" + "".join(_SHADES[-int(-s * 4 // 1)] for s in shares) + "|"


def _timing(timing: Timing) -> str:
    low, high = timing.quartiles
    busy = f"  busy machine ({timing.slowdown:.2f}×)" if timing.disturbed else ""
    return (
        f"  {timing.name:<22} {timing.median * 1e3:9.3f} ms {(high - low) * 1e3:6.3f} ms"
        f" {timing.baseline * 1e3:7.3f} ms {timing.speedup:8.2f}× {timing.efficiency:8.1%}{busy}"
    )
