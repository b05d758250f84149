"""What the reference solutions compile to, for their pages: python -m benchmarks.compiled [PROBLEM ...]

Writes kernels/<problem>/compiled.json: for each file in Triton the hash of its source and its figures on
a benchmark shape, without the texts; and kernels/<problem>/maps.json: the same with what its programs
touch on a small case. Only files that changed since are compiled, unless with `--all`.
With `--check` nothing is written, and the exit code is 1 if something is out of date.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from problems import all_problems, get_problem
from runner.inspection.inspect import inspect
from sandbox.choose import best_sandbox
from wire.access_maps import AccessMaps

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
COMPILED, MAPS = "compiled.json", "maps.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiled", description=__doc__)
    parser.add_argument("problems", nargs="*", default=[problem.slug for problem in all_problems()])
    parser.add_argument("--all", action="store_true", help="also what has not changed")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    outdated = [
        file
        for slug in options.problems
        for file in files_of(slug)
        if options.all or not is_recorded(file)
    ]
    for file in outdated:
        print(f"{file.relative_to(KERNELS)} is out of date", flush=True)
        if not options.check:
            record(file)
    return int(options.check and bool(outdated))


def files_of(slug: str) -> list[Path]:
    """The solutions in Triton, by name."""
    return sorted((KERNELS / slug).glob("triton*.py"))


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def is_recorded(file: Path) -> bool:
    """Whether everything that is kept of the file is of its source of today."""
    found = (kept(file.parent.name, name).get(file.name, {}) for name in (COMPILED, MAPS))
    return all(entry.get("sha256") == sha256(file) for entry in found)


def kept(slug: str, name: str = COMPILED) -> dict[str, Any]:
    """What is recorded of a problem's files, by file name, in COMPILED or MAPS."""
    path = KERNELS / slug / name
    recorded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return recorded


def record(file: Path) -> None:
    """Compile one file and put its figures in the place of the earlier ones."""
    slug = file.parent.name
    source = file.read_text(encoding="utf-8")
    found = inspect(get_problem(slug), source, best_sandbox(), every_shape=True)
    if not found.kernels or found.maps is None:
        sys.exit(f"{file}: {' '.join(found.remarks)}")
    figures = replace(found.without_texts(), maps=None).to_json()
    _put(file, COMPILED, {"figures": figures}, indent=1)
    record_maps(file, found.maps)


def record_maps(file: Path, maps: AccessMaps) -> None:
    _put(file, MAPS, {"maps": asdict(maps)}, indent=None)


def _put(file: Path, name: str, entry: dict[str, Any], indent: int | None) -> None:
    """Keep `entry` of the file in the place of an earlier one; no entries of files that are gone."""
    slug = file.parent.name
    there = {path.name for path in files_of(slug)}
    records = {of: old for of, old in kept(slug, name).items() if of in there}
    records[file.name] = {"sha256": sha256(file), "triton": version("triton"), **entry}
    text = json.dumps(dict(sorted(records.items())), indent=indent, allow_nan=False)
    (KERNELS / slug / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
