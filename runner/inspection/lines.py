"""Which line of the submitted file each line of a compiled form comes from.

Every stage writes that down in its own way; here the marks are read and taken out of the text, so that
what remains is what a person wants to read. Where a library function of Triton was inlined, the line is
the one in the submitted file that called it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wire.inspection import Stage

_LOC_DEFINITION = re.compile(r"^#(loc\d*) = loc\((.*)\)$")
_LOC_USE = re.compile(r"\s*loc\((?:#(loc\d*)|([^()]*(?:\([^()]*\))*[^()]*))\)\s*$")
_LOC_PARAMETER = re.compile(r" loc\(#?[^()]*(?:\([^()]*\))?\)")
_PLACE = re.compile(r'"([^"]*)":(\d+):\d+')
_REFERENCE = re.compile(r"#(loc\d*)")


def _is_users(path: str, file: str) -> bool:
    return path.rsplit("/", 1)[-1] == file


def mlir(text: str, file: str) -> Stage:
    """TTIR and TTGIR: `loc(#loc12)` after an operation, `#loc12 = loc("file":33:24)` at the end."""
    definitions: dict[str, str] = {}
    for line in text.splitlines():
        if found := _LOC_DEFINITION.match(line):
            definitions[found[1]] = found[2]

    def line_of(name: str, depth: int = 0) -> int:
        body = definitions.get(name, "")
        # "callsite(#inner at #outer)": the inner place first, then where it was called.
        for place in _PLACE.finditer(body):
            if _is_users(place[1], file):
                return int(place[2])
        if depth > 50:
            return 0
        references = _REFERENCE.findall(body)
        return next((n for r in references if (n := line_of(r, depth + 1))), 0)

    kept, numbers = [], []
    for line in text.splitlines():
        if _LOC_DEFINITION.match(line):
            continue
        found = _LOC_USE.search(line)
        number = line_of(found[1]) if found and found[1] else 0
        bare = line[: found.start()] if found else line
        kept.append(_LOC_PARAMETER.sub("", bare))
        numbers.append(number)
    return _stage(kept, numbers)


_METADATA = re.compile(r"^!(\d+) = (?:distinct )?!(\w+)\((.*)\)$")
_FIELD = re.compile(r"(\w+): (?:!(\d+)|(\d+)|\"([^\"]*)\")")
_DEBUG_USE = re.compile(r", !dbg !(\d+)")


def llvm(text: str, file: str) -> Stage:
    """LLVM IR: `!dbg !9` after an instruction, `!9 = !DILocation(line: 33, scope: !4, ...)` below."""
    nodes: dict[str, tuple[str, dict[str, str]]] = {}
    for line in text.splitlines():
        if found := _METADATA.match(line):
            fields = {m[1]: m[2] or m[3] or m[4] or "" for m in _FIELD.finditer(found[3])}
            nodes[found[1]] = (found[2], fields)

    def file_of(scope: str, depth: int = 0) -> str:
        kind, fields = nodes.get(scope, ("", {}))
        if kind == "DIFile":
            return fields.get("filename", "")
        above = fields.get("file") or fields.get("scope")
        return file_of(above, depth + 1) if above and depth < 50 else ""

    def line_of(node: str, depth: int = 0) -> int:
        kind, fields = nodes.get(node, ("", {}))
        if kind != "DILocation" or depth > 50:
            return 0
        if _is_users(file_of(fields.get("scope", "")), file):
            return int(fields.get("line", "0"))
        return line_of(fields.get("inlinedAt", ""), depth + 1)

    kept, numbers = [], []
    for line in text.splitlines():
        if line.startswith(("!", "source_filename")):
            continue
        found = _DEBUG_USE.search(line)
        numbers.append(line_of(found[1]) if found else 0)
        kept.append(_DEBUG_USE.sub("", line))
    return _stage(kept, numbers)


_PTX_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(.*)$")
_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"')
_PTX_INLINED = re.compile(r"@\[ ([^:\s]+):(\d+):\d+")
_PTX_CALLED = re.compile(r"^\s*\.loc\s+(\d+ \d+ \d+),.*inlined_at (\d+ \d+ \d+)")


def ptx(text: str, file: str) -> Stage:
    """PTX: `.loc 1 33 24` before the instructions it is about, `.file 1 "..."` somewhere.

    Where a function was inlined Triton says in a comment, nvcc by `inlined_at 1 30 3`: a place that may
    be inlined itself, which an earlier `.loc` of that place says.
    """
    files = {m[1]: m[2] for line in text.splitlines() if (m := _PTX_FILE.match(line))}
    callers: dict[str, str] = {}

    def called_from(place: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        while (place := callers.get(place, "")) and len(found) < 50:
            number, line, _ = place.split()
            found.append((files.get(number, ""), int(line)))
        return found

    kept, numbers, current = [], [], 0
    for line in text.splitlines():
        if found := _PTX_LOC.match(line):
            places = [(files.get(found[1], ""), int(found[2]))]
            places += [(m[1], int(m[2])) for m in _PTX_INLINED.finditer(found[3])]
            if called := _PTX_CALLED.match(line):
                callers[called[1]] = called[2]
                places += called_from(called[1])
            current = next((n for path, n in places if _is_users(path, file)), 0)
            continue
        if ".section\t.debug" in line:
            break
        is_code = line.startswith("\t") and not line.lstrip().startswith((".", "//"))
        kept.append(line)
        numbers.append(current if is_code else 0)
    return _stage(kept, numbers)


_SASS_FILE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)')
_SASS_CODE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/")


def sass(text: str, file: str) -> Stage:
    """Machine code: comments before an instruction name its line, and the lines it was inlined at."""
    kept: list[str] = []
    numbers: list[int] = []
    places: list[tuple[str, int]] = []
    current = 0
    began = False
    for line in text.splitlines():
        if found := _SASS_FILE.match(line):
            places.append((found[1], int(found[2])))
            continue
        if places:
            current = next((n for path, n in places if _is_users(path, file)), 0)
            places = []
        is_code = bool(_SASS_CODE.match(line))
        began = began or is_code
        if not began and not line.lstrip().startswith(".global"):
            continue
        kept.append(line)
        numbers.append(current if is_code else 0)
    return _stage(kept, numbers)


READERS: dict[str, Callable[[str, str], Stage]] = {
    "ttir": mlir,
    "ttgir": mlir,
    "llir": llvm,
    "ptx": ptx,
    "sass": sass,
}


def _stage(kept: list[str], numbers: list[int]) -> Stage:
    while kept and not kept[-1].strip():
        kept.pop()
        numbers.pop()
    return Stage(text="\n".join(kept) + "\n", lines=tuple(numbers))
