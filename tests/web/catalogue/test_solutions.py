"""Reference kernels at the site."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from problems.registry import all_problems
from problems.spec import Problem
from web.catalogue.pages import KERNELS

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_every_file_is_shown_beside_the_notes(client: Client, problem: Problem) -> None:
    response = client.get(reverse("solutions", args=[problem.url_slug]))
    page = response.content.decode()
    folder = (KERNELS / problem.slug).iterdir()
    files = {path.name for path in folder if path.suffix in (".py", ".cu")} - {"__init__.py"}
    assert {s.path.split("/")[-1] for s in response.context["solutions"]} == files
    for solution in response.context["solutions"]:
        assert solution.path in page
        assert solution.code in page
        assert 'class="highlight"' in solution.code
    assert response.context["notes"]
    assert response.context["notes"] in page
    assert " style=" not in page


def test_another_way_of_doing_it_is_named_after_its_file(client: Client) -> None:
    solutions = client.get(reverse("solutions", args=["layer-norm"])).context["solutions"]
    assert [s.label for s in solutions] == ["PyTorch", "Triton", "Triton, atomics"]


def test_what_nobody_has_run_comes_last_and_says_so(client: Client) -> None:
    solutions = client.get(reverse("solutions", args=["rms-norm"])).context["solutions"]
    assert [s.label for s in solutions][1:] == ["Triton", "CUDA C++, compiled, never run"]
