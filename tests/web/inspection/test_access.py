"""What is drawn of an access map, from runs whose tiles are counted by hand; and its pages."""

from __future__ import annotations

import json
import re

import pytest
from django.http import Http404, QueryDict
from django.test import Client

from problems.registry import all_problems
from problems.spec import Problem
from tests.web.inspection.samples import inspection, looked_into, maps
from tests.web.inspection.test_views import page_of
from tests.web.test_permissions import breaches_of_policy
from web.accounts.models import User
from web.catalogue.pages import reference_solutions
from web.inspection.access import Picture, picked, picture
from web.inspection.references import reference_maps
from wire.access_maps import AccessMaps, TileMap


def drawn(parameters: str = "") -> Picture:
    return picture(picked(maps(), QueryDict(parameters)))


def shades(one: Picture) -> dict[str, tuple[int, str]]:
    return {shade.words: (shade.tiles, shade.path) for shade in one.shades if shade.tiles}


def test_all_programs_are_drawn_first_and_tiles_of_two_are_darker() -> None:
    one = drawn()
    assert shades(one) == {"1": (3, "M0 2h2v1h-2zM3 43h1v1h-1z"), "2": (4, "M0 0h4v1h-4z")}
    assert (one.touched, one.tiles, one.most) == (7, 44 * 4, 2)
    assert one.now == "M3 43h1v1h-1z"


def test_up_to_a_program_those_after_it_are_not_counted() -> None:
    one = drawn("program=0")
    assert shades(one) == {"1": (4, "M0 0h4v1h-4z")}
    assert one.now == "M0 0h4v1h-4z"


def test_a_program_alone_has_only_its_own_tiles() -> None:
    assert shades(drawn("program=1&view=only")) == {"1": (6, "M0 0h4v1h-4zM0 2h2v1h-2z")}
    assert shades(drawn("program=3&view=only")) == {}


def test_runs_of_tiles_are_broken_at_the_end_of_a_row() -> None:
    tiles = TileMap("x_ptr", "load", (4, 4), (), (0, 2, 4))
    one = picture(picked(maps(maps=(tiles,)), QueryDict()))
    assert one.shades[0].path == "M2 0h2v1h-2zM0 1h2v1h-2z"


def test_runs_that_are_alike_below_each_other_are_one_rectangle() -> None:
    tiles = TileMap("x_ptr", "load", (4, 4), (), (0, 0, 8, 0, 9, 2, 0, 13, 2))
    one = picture(picked(maps(maps=(tiles,)), QueryDict()))
    assert one.shades[0].path == "M0 0h4v2h-4zM1 2h2v2h-2z"


def test_what_an_address_does_not_say_or_gets_wrong_is_the_first() -> None:
    for parameters in ("", "tensor=none&op=none", "program=-1&view=all"):
        assert picked(maps(), QueryDict(parameters)).map.tensor == "x_ptr"
    assert picked(maps(), QueryDict("program=99999")).program == 5
    assert picked(maps(), QueryDict("tensor=out_ptr&op=load")).map.op == "store"
    with pytest.raises(Http404):
        picked(maps(), QueryDict("launch=1"))
    with pytest.raises(Http404):
        picked(maps(maps=()), QueryDict())


def test_the_page_of_a_submission_draws_it_and_leads_to_the_lines(
    as_alice: Client, alice: User
) -> None:
    submission = looked_into(alice, inspection(maps=maps()))
    assert f"/submissions/{submission.pk}/inside/map/" in page_of(as_alice, submission, "")
    page = page_of(as_alice, submission, "inside/map/?program=4")
    assert 'd="M0 0h4v1h-4z"' in page
    assert 'Program <span class="mono">(1, 1, 0)</span>' in page
    assert f'href="/submissions/{submission.pk}/inside/#L5"' in page
    found = re.search(r'id="map-data" type="application/json">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    assert (data["programs"], data["tiles"], data["tile"]) == (6, [44, 4], [3, 1])


@pytest.mark.parametrize("found", [None, maps(maps=())], ids=["none", "of nothing"])
def test_without_maps_no_page_and_no_link(
    as_alice: Client, alice: User, found: AccessMaps | None
) -> None:
    submission = looked_into(alice, inspection(maps=found))
    assert "inside/map/" not in page_of(as_alice, submission, "")
    assert as_alice.get(f"/submissions/{submission.pk}/inside/map/").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("problem", all_problems(), ids=lambda p: p.slug)
def test_every_launch_of_every_reference_has_a_page(problem: Problem, client: Client) -> None:
    for solution in reference_solutions(problem.slug):
        found = reference_maps(solution)
        if found is None:
            assert not solution.path.endswith("triton.py")
            continue
        file = solution.path.rsplit("/", 1)[1].removesuffix(".py")
        assert all(launch.mapped == launch.programs for launch in found.launches)
        for number in range(len(found.launches)):
            page = client.get(f"/problems/{problem.url_slug}/solutions/{file}/map/?launch={number}")
            assert page.status_code == 200
            assert breaches_of_policy(page) == []
