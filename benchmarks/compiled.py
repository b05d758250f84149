"""What the reference solutions compile to, for their pages: python -m benchmarks.compiled [PROBLEM ...]

Writes kernels/<problem>/compiled.json: for each file in Triton the hash of its source and its figures on
a benchmark shape, without the texts. Only files that changed since are compiled, unless with `--all`.
With `--check` nothing is written, and the exit code is 1 if something is out of date.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from problems import all_problems, get_problem
from runner.inspection.inspect import inspect
from sandbox.choose import best_sandbox

KERNELS = Path(__file__).resolve().parents[1] / "kernels"


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
        if options.all or kept(slug).get(file.name, {}).get("sha256") != sha256(file)
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


def kept(slug: str) -> dict[str, Any]:
    """What is recorded of a problem's files, by file name."""
    path = KERNELS / slug / "compiled.json"
    recorded: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return recorded


def record(file: Path) -> None:
    """Compile one file and put its figures in the place of the earlier ones."""
    slug = file.parent.name
    found = inspect(get_problem(slug), file.read_text(encoding="utf-8"), best_sandbox())
    if not found.kernels:
        sys.exit(f"{file}: {' '.join(found.remarks)}")
    there = {path.name for path in files_of(slug)}
    records = {name: entry for name, entry in kept(slug).items() if name in there}
    records[file.name] = {
        "sha256": sha256(file),
        "triton": version("triton"),
        "figures": found.without_texts().to_json(),
    }
    text = json.dumps(records, indent=1, sort_keys=True, allow_nan=False)
    (KERNELS / slug / "compiled.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
