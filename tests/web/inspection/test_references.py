"""What reference solutions compile to: recorded beside them, and shown only of the very same source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.safestring import SafeString

from benchmarks.compiled import COMPILED, MAPS, files_of, kept, sha256
from problems.registry import all_problems
from problems.spec import Problem
from tests.web.inspection.samples import inspection
from web.catalogue.pages import Solution
from web.inspection import references
from web.inspection.references import reference

WITH_KERNELS = [problem for problem in all_problems() if files_of(problem.slug)]


@pytest.mark.parametrize("name", [COMPILED, MAPS])
@pytest.mark.parametrize("problem", WITH_KERNELS, ids=lambda p: p.slug)
def test_what_is_recorded_is_of_todays_files(problem: Problem, name: str) -> None:
    recorded = {file: entry["sha256"] for file, entry in kept(problem.slug, name).items()}
    today = {file.name: sha256(file) for file in files_of(problem.slug)}
    assert recorded == today, "run python -m benchmarks.compiled"


@pytest.mark.django_db
def test_the_solutions_page_shows_it_beside_the_source(client: Client) -> None:
    page = client.get(reverse("solutions", args=["rms-norm"])).content.decode()
    assert "What it compiles to" in page
    assert "_sum_partials" in page
    assert "sm_120" in page


def solution(source: str) -> Solution:
    return Solution("kernels/some/triton.py", "Triton", SafeString(""), source)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(references, "KERNELS", tmp_path)
    reference.cache_clear()
    (tmp_path / "some").mkdir()
    return tmp_path / "some"


def test_figures_of_another_source_are_not_shown(folder: Path) -> None:
    (folder / "triton.py").write_text("as recorded\n")
    entry = {
        "sha256": sha256(folder / "triton.py"),
        "triton": "3.7.1",
        "figures": inspection().without_texts().to_json(),
    }
    (folder / "compiled.json").write_text(json.dumps({"triton.py": entry}))
    shown = reference(solution("as recorded\n"))
    assert shown is not None
    assert shown.inspection == inspection().without_texts()
    assert reference(solution("changed since\n")) is None


def test_a_problem_without_a_record_shows_none(folder: Path) -> None:
    assert reference(solution("whatever\n")) is None
