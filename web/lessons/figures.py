"""Draws the lessons' figures: `python -m web.lessons.figures` writes web/templates/lessons/figures/.

They stand in the page itself, so that web/static/lessons.css gives them the colours of the reader's
scheme: shapes and texts have classes, and no colour or style of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parent.parent / "templates" / "lessons" / "figures"
WIDTH = 480


def svg(height: int, label: str, *shapes: Iterable[str]) -> str:
    """A drawing of `WIDTH` × `height`; `label` says to those who do not see it what it shows."""
    lines = [line for group in shapes for line in group]
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
    return "\n".join([head, *lines, "</svg>", ""])


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>'


def text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(words)}</text>'


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """A line with a head at its end. Heads are drawn, since two figures must not share a marker's id."""
    angle = math.atan2(y2 - y1, x2 - x1)
    back = [
        (x2 - 8 * math.cos(angle + turn), y2 - 8 * math.sin(angle + turn)) for turn in (-0.4, 0.4)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(x2, y2), *back])
    line = f'<path class="arrow" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>'
    return f'{line}<polygon class="head" points="{points}"/>'


def rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="rule" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>'


def grid(
    x: float, y: float, rows: int, columns: int, side: float, kind: Callable[[int, int], str]
) -> Iterable[str]:
    """Cells of `side`; `kind` gives the class of the one in a row and column."""
    for row in range(rows):
        for column in range(columns):
            yield rect(x + column * side, y + row * side, side, side, kind(row, column))


def jacobians() -> str:
    """The patterns of three Jacobians."""

    def diagonal(row: int, column: int) -> str:
        return "full" if row == column % 6 else "cell"

    side, top = 12, 40
    gated, soft = 124, 296
    return svg(
        180,
        "Three Jacobians of a row of six: a diagonal; two diagonals side by side; a full matrix that is "
        "a diagonal minus a column times a row.",
        [text(0, 20, "element-wise")],
        grid(0, top, 6, 6, side, diagonal),
        [text(0, 138, "x̄ = f′(x) ⊙ ȳ", "mono"), text(0, 160, "a stream", "quiet")],
        [text(gated, 20, "gated")],
        grid(gated, top, 6, 12, side, diagonal),
        [rule(gated + 6 * side, top - 5, gated + 6 * side, top + 6 * side + 5)],
        [text(gated, 138, "ḡ and ū from one ȳ", "mono"), text(gated, 160, "a stream", "quiet")],
        [text(soft, 20, "softmax")],
        grid(soft, top, 6, 6, side, diagonal),
        [text(soft + 83, top + 40, "−", "middle")],
        grid(soft + 94, top, 6, 1, side, lambda *_: "half"),
        grid(soft + 109, top, 1, 6, side, lambda *_: "half"),
        [text(soft, 138, "x̄ = y ⊙ (ȳ − y·ȳ)", "mono"), text(soft, 160, "one sum a row", "quiet")],
    )


def broadcast() -> str:
    """One row copied to many; many rows added into one."""
    side, rows, columns = 22, 4, 6
    wide = side * columns
    left, right, lower = 20, 300, 84
    centre_left, centre_right = left + wide / 2, right + wide / 2
    below = lower + rows * side
    return svg(
        below + 28,
        "Left: one row b with arrows to each of four rows of y. Right: four rows of the gradient of y "
        "with arrows into one row, the gradient of b.",
        [text(left, 18, "forward: b is copied")],
        grid(left, 30, 1, columns, side, lambda *_: "full"),
        grid(left, lower, rows, columns, side, lambda *_: "half"),
        [
            arrow(left + side * (c + 0.5), 54, left + side * (c + 0.5), lower - 3)
            for c in range(columns)
        ],
        [text(centre_left, below + 20, "y: M rows, each on its own", "quiet middle")],
        [text(right, 18, "backward: ȳ is added up")],
        grid(right, 30, rows, columns, side, lambda *_: "half"),
        grid(right, below - side, 1, columns, side, lambda *_: "full"),
        [
            arrow(
                right + side * (c + 0.5),
                32 + rows * side,
                right + side * (c + 0.5),
                below - side - 3,
            )
            for c in range(columns)
        ],
        [text(centre_right, below + 20, "b̄: M terms in every element", "quiet middle")],
    )


def programs() -> str:
    """The sum over rows of four programs: by atomics, by partial buffers."""
    return svg(
        262,
        "Left: four programs, each with an arrow to the same row dw. Right: four programs, each with an "
        "arrow to a row of its own in a buffer; a second kernel adds the four rows into dw.",
        _programs(0, "atomics"),
        [arrow(25 + 50 * p, 74, 70 + 20 * p, 204) for p in range(4)],
        grid(20, 208, 1, 8, 20, lambda *_: "warm"),
        [text(100, 252, "dw: the order of arrival", "quiet middle")],
        _programs(270, "partial buffers"),
        [rect(290, 104 + 16 * p, 160, 14, "half") for p in range(4)],
        [arrow(295 + 50 * p, 74, 310 + 40 * p, 102 + 16 * p) for p in range(4)],
        [arrow(370, 168, 370, 204), text(380, 190, "second kernel", "quiet")],
        grid(290, 208, 1, 8, 20, lambda *_: "full"),
        [text(370, 252, "dw: always the same order", "quiet middle")],
    )


def _programs(left: float, name: str) -> Iterable[str]:
    yield text(left, 18, name)
    for number in range(4):
        yield rect(left + 4 + 50 * number, 32, 42, 40, "box")
        yield text(left + 25 + 50 * number, 57, f"p{number}", "mono middle")


def rounding() -> str:
    """Bounds of the relative error of a sum of 4096 positive terms, on a logarithmic axis."""
    terms, parts = 4096, 64
    steps = (
        ("one after the other", terms),
        (f"{parts} parts of {terms // parts}", terms // parts + parts),
        ("a tree", math.log2(terms)),
    )
    left, right, low, high = 150, 400, -7.0, 1.5

    def at(value: float) -> float:
        return left + (right - left) * (math.log10(value) - low) / (high - low)

    shapes = [text(0, 18, "bound of the relative error, 4096 terms")]
    for power in range(-7, 2, 2):
        shapes.append(rule(at(10.0**power), 34, at(10.0**power), 206))
        shapes.append(text(at(10.0**power), 224, f"1e{power:+d}", "mono quiet middle"))
    for row, (kind, unit, words) in enumerate(
        (("warm", 2.0**-8, "bfloat16"), ("half", 2.0**-24, "float32"))
    ):
        for line, (order, count) in enumerate(steps):
            y = 42 + row * 86 + line * 25
            shapes.append(text(left - 8, y + 13, order, "end"))
            shapes.append(rect(left, y, at(count * unit) - left, 17, kind))
            if line == 0:
                shapes.append(text(right + 12, y + 38, words))
    return svg(232, _rounding_label(steps), shapes)


def _rounding_label(steps: Iterable[tuple[str, float]]) -> str:
    said = "; ".join(
        f"{order}: {count * 2.0**-8:.2g} in bfloat16, {count * 2.0**-24:.2g} in float32"
        for order, count in steps
    )
    return f"Bars of the bound of the relative error by order of addition. {said}."


def traffic() -> str:
    """Tensors that a SwiGLU's forward writes and its backward moves, saving or recomputing."""
    rows = (
        ("save σ and silu", ("y", "σ", "silu"), ("ȳ", "g", "u", "σ", "silu"), ("ḡ", "ū")),
        ("recompute", ("y",), ("ȳ", "g", "u"), ("ḡ", "ū")),
    )
    shapes = [
        text(0, 18, "forward writes", "quiet"),
        text(170, 18, "backward reads, then writes", "quiet"),
    ]
    for number, (name, written, read, results) in enumerate(rows):
        y = 34 + 84 * number
        shapes.append(text(0, y + 14, name))
        shapes.extend(_tensors(0, y + 24, written, "cell"))
        shapes.extend(_tensors(170, y + 24, read, "half"))
        shapes.extend(_tensors(170 + 44 * len(read), y + 24, results, "box"))
    return svg(
        196,
        "Saving: forward writes y, sigma and silu; backward reads five tensors and writes two. "
        "Recomputing: forward writes y; backward reads three and writes two.",
        shapes,
    )


def _tensors(x: float, y: float, names: Iterable[str], kind: str) -> Iterable[str]:
    for number, name in enumerate(names):
        yield rect(x + 44 * number, y, 40, 30, "warm" if name in ("σ", "silu") else kind)
        yield text(x + 44 * number + 20, y + 20, name, "mono middle")


def attention() -> str:
    """One tile of the matrix of probabilities, and what its gradients are made of."""
    side, cells, x, y = 22, 7, 150, 66
    row, column = 4, 2
    wide = side * cells
    own_y, own_x = y + side * row, x + side * column

    def kind(r: int, c: int) -> str:
        return "full" if (r, c) == (row, column) else "cell" if c <= r else "gone"

    return svg(
        300,
        "A triangular grid of tiles with one of them marked. To its left the blocks of Q, of the "
        "gradient of O, of the log-sum-exp and of delta in its row; above it the blocks of K and V in "
        "its column; its gradients go to dQ at the right and to dK and dV below.",
        grid(x, y, cells, cells, side, kind),
        [rect(x, y, wide, wide, "frame")],
        [text(x + wide - 6, y + 17, "P, never stored", "quiet end")],
        [
            rect(left, y, width, wide, "cell")
            for left, width in ((8, 34), (48, 34), (90, 10), (108, 10))
        ],
        [
            rect(left, own_y, width, side, "half")
            for left, width in ((8, 34), (48, 34), (90, 10), (108, 10))
        ],
        [text(25, y - 8, "Q", "middle"), text(65, y - 8, "Ō", "middle")],
        [text(95, y - 8, "ℓ", "middle"), text(113, y - 8, "δ", "middle")],
        [rect(x, top, wide, 14, "cell") for top in (10, 30)],
        [rect(own_x, top, side, 14, "half") for top in (10, 30)],
        [text(x + wide + 12, 22, "Kᵀ"), text(x + wide + 12, 42, "Vᵀ")],
        [rect(x, top, wide, 14, "cell") for top in (256, 276)],
        [rect(own_x, top, side, 14, "half") for top in (256, 276)],
        [
            text(x + wide + 12, 268, "K̄ᵀ, kept on the chip"),
            text(x + wide + 12, 288, "V̄ᵀ, kept on the chip"),
        ],
        [rect(372, y, 34, wide, "cell"), rect(372, own_y, 34, side, "warm")],
        [
            text(389, y - 8, "Q̄", "middle"),
            text(414, own_y + 10, "added by"),
            text(414, own_y + 26, "all tiles"),
        ],
        [arrow(own_x + side / 2, own_y + side + 2, own_x + side / 2, 252)],
        [arrow(own_x + side + 2, own_y + side / 2, 368, own_y + side / 2)],
    )


FIGURES: dict[str, Callable[[], str]] = {
    drawn.__name__: drawn
    for drawn in (jacobians, broadcast, programs, rounding, traffic, attention)
}

if __name__ == "__main__":
    for name, draw in FIGURES.items():
        (TEMPLATES / f"{name}.svg").write_text(draw(), encoding="utf-8")
