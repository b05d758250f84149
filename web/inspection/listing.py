"""A source and one form it compiles to, row by row, each row with its counterparts in the other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from wire.inspection import Stage

# An address before an instruction, in columns far wider than it.
_ADDRESS = re.compile(r"^\s+(/\*[0-9a-f]{4,}\*/)\s+")
# So many colours tell neighbouring lines apart.
TINTS = 6


@dataclass(frozen=True)
class Row:
    """A row of either side.

    `number` counts from 1 on its own side; `line` is the line of the source it belongs to (0: to none),
    `tint` that line's colour. `to` is the row of the other side to go to; 0 where there is none, or
    where the row before says it already. Of a source line `count` says how many rows it became.
    """

    number: int
    text: str
    line: int = 0
    tint: int = 0
    to: int = 0
    count: int = 0
    is_hit: bool = False


@dataclass(frozen=True)
class Listing:
    """Both sides; `hits` are the numbers of the stage's rows that contain what was searched for."""

    source: tuple[Row, ...]
    stage: tuple[Row, ...]
    hits: tuple[int, ...] = ()


def listing(source: str, stage: Stage, query: str = "") -> Listing:
    """`query` is searched for in the stage's text; upper and lower case are the same."""
    lines = split(source)
    known = [line if line <= len(lines) else 0 for line in stage.lines]
    first: dict[int, int] = {}
    for number, line in enumerate(known, 1):
        first.setdefault(line, number)
    counts = Counter(known)
    tints = {line: rank % TINTS for rank, line in enumerate(sorted(set(known) - {0}))}
    rows = tuple(_stage_rows(split(stage.text), known, tints, query.casefold()))
    return Listing(
        source=tuple(
            Row(
                number=number,
                text=text,
                line=number if number in tints else 0,
                tint=tints.get(number, 0),
                to=first.get(number, 0),
                count=counts[number],
            )
            for number, text in enumerate(lines, 1)
        ),
        stage=rows,
        hits=tuple(row.number for row in rows if row.is_hit),
    )


def _stage_rows(
    texts: list[str], lines: list[int], tints: dict[int, int], query: str
) -> Iterator[Row]:
    before = 0
    for number, (text, line) in enumerate(zip(texts, lines, strict=True), 1):
        yield Row(
            number=number,
            text=_ADDRESS.sub(r"\1  ", text),
            line=line,
            tint=tints.get(line, 0),
            to=line if line != before else 0,
            is_hit=bool(query) and query in text.casefold(),
        )
        before = line


def split(text: str) -> list[str]:
    """The lines of `text`, at line feeds alone, as compilers count them."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
