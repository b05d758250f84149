"""Numbers as people read them."""

from __future__ import annotations

from django import template

from problems.spec import Language

register = template.Library()

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SI = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@register.filter
def seconds(value: float | None) -> str:
    """A time in seconds with three significant digits: 0.00123 is "1.23 ms"."""
    if value is None:
        return "–"
    for unit, name in _TIMES:
        if value >= unit:
            return f"{value / unit:#.3g}".rstrip(".") + f" {name}"
    return f"{value * 1e9:.0f} ns"


@register.filter
def si(value: float | None, unit: str = "") -> str:
    """A count with an SI prefix: 16777216 and "B" is "16.8 MB"."""
    if value is None:
        return "–"
    for factor, prefix in _SI:
        if abs(value) >= factor:
            return f"{value / factor:#.3g}".rstrip(".") + f" {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


@register.filter
def percent(value: float | None) -> str:
    """A share as a percentage of three figures: 0.4321 is "43.2 %", 0.41 "41.0 %", 1 "100 %"."""
    return "–" if value is None else f"{100 * value:#.3g}".rstrip(".") + " %"


@register.filter
def language(value: str) -> str:
    """A language as people write it: "pytorch" is "PyTorch"."""
    return Language(value).label


@register.filter
def times(value: float | None) -> str:
    """A ratio: 1.5 is "1.50×"."""
    return "–" if value is None else f"{value:.2f}×"


@register.filter
def scientific(value: float | None) -> str:
    """An error: 0.00123 is "1.2e-03"; None, an error that is not finite, says so."""
    return "not finite" if value is None else f"{value:.1e}"


@register.filter
def rate(value: float) -> str:
    """FLOPs a second: 6.69e13 is "66.9 TFLOP/s"."""
    return si(value, "FLOP/s")


@register.filter
def figures(value: float) -> str:
    """Three significant digits, of whatever size: 0.0158 and 2670."""
    return f"{float(f'{value:.3g}'):,.10g}".replace(",", "\N{THIN SPACE}")


@register.filter
def svg(value: float) -> str:
    """A length in a drawing, as SVG reads it in every language."""
    return f"{value:g}"


@register.filter
def add_half(value: float, twice: int) -> str:
    """A length in a drawing with half of `twice` added: the corner of a square from its middle."""
    return f"{value + twice / 2:g}"


@register.filter
def at(mapping: dict[str, object], key: str) -> object:
    """`mapping[key]`, or None."""
    return mapping.get(key)
