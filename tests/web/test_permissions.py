"""Who may open what: every address of the site, for everybody there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from tests.web.conftest import logged_in
from tests.web.samples import make_submission
from web.accounts.models import User
from web.submissions.models import Submission

SOMEBODY = ("anonymous", "visitor", "stranger", "owner", "staff")

# What each of SOMEBODY gets. `{user}` and `{visitor}` are a user's and a visitor's submission.
PUBLIC = (200, 200, 200, 200, 200)
OF_THE_USER = (404, 404, 404, 200, 200)
OF_THE_VISITOR = (404, 200, 404, 404, 200)
PAGES = {
    "/": PUBLIC,
    "/problems/rms-norm/": PUBLIC,
    "/problems/rms-norm/solutions/": PUBLIC,
    "/problems/rms-norm/leaderboard/": PUBLIC,
    "/problems/rms-norm/submit/": (302, 302, 302, 302, 302),
    "/submissions/": PUBLIC,
    "/submissions/{user}/": OF_THE_USER,
    "/submissions/{user}/status/": OF_THE_USER,
    "/submissions/{visitor}/": OF_THE_VISITOR,
    "/submissions/{visitor}/status/": OF_THE_VISITOR,
    "/problems/rms-norm/?submission={user}": OF_THE_USER,
    "/problems/rms-norm/?submission={visitor}": OF_THE_VISITOR,
    "/submissions/00000000-0000-4000-8000-000000000000/": (404, 404, 404, 404, 404),
    "/submissions/00000000-0000-4000-8000-000000000000/status/": (404, 404, 404, 404, 404),
    "/healthz": PUBLIC,
}
OUR_NAMES = {
    "catalogue",
    "problem",
    "solutions",
    "leaderboard",
    "submit",
    "my_submissions",
    "submission",
    "submission_status",
    "healthz",
}


@dataclass(frozen=True)
class World:
    """Everybody's client, and the two submissions that are not for everybody."""

    clients: dict[str, Client]
    user: Submission
    visitor: Submission

    def address(self, pattern: str) -> str:
        return pattern.format(user=self.user.pk, visitor=self.visitor.pk)


@pytest.fixture
def world(alice: User, bob: User, stella: User) -> World:
    with_runs = Client()
    with_runs.post(
        reverse("submit", args=["rms-norm"]),
        {"source": "secret = 1", "language": "triton", "mode": "run"},
    )
    clients = {
        "anonymous": Client(),
        "visitor": with_runs,
        "stranger": logged_in(bob),
        "owner": logged_in(alice),
        "staff": logged_in(stella),
    }
    return World(clients, make_submission(alice), Submission.objects.get(user=None))


@pytest.mark.parametrize("pattern", PAGES)
def test_everybody_gets_what_is_theirs(world: World, pattern: str) -> None:
    address = world.address(pattern)
    got = tuple(world.clients[who].get(address).status_code for who in SOMEBODY)
    assert got == PAGES[pattern]


def test_no_refusal_gives_a_source_away(world: World) -> None:
    for pattern in PAGES:
        for who in ("anonymous", "stranger"):
            answer = world.clients[who].get(world.address(pattern)).content.decode()
            assert "secret = 1" not in answer
            assert world.user.source not in answer


@pytest.mark.parametrize("pattern", [p for p in PAGES if "submit/" not in p])
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_pages_are_only_read(world: World, pattern: str, method: str) -> None:
    response = getattr(world.clients["owner"], method)(world.address(pattern))
    assert response.status_code == 405


@pytest.mark.parametrize("who", ["anonymous", "visitor", "stranger", "owner"])
@pytest.mark.parametrize(
    "page", ["/admin/", "/admin/submissions/submission/", "/admin/boards/standing/"]
)
def test_the_admin_is_for_staff(world: World, who: str, page: str) -> None:
    response = world.clients[who].get(page)
    assert response.status_code == 302
    assert "/admin/login/" in response["Location"]


def test_staff_looks_at_submissions_but_changes_none(world: World) -> None:
    staff = world.clients["staff"]
    page = f"/admin/submissions/submission/{world.user.pk}/change/"
    assert staff.get("/admin/submissions/submission/").status_code == 200
    assert staff.get("/admin/boards/standing/").status_code == 200
    assert staff.get(page).status_code == 200
    assert staff.post(page, {"verdict": "accepted"}).status_code == 403
    assert staff.get("/admin/submissions/submission/add/").status_code == 403


def named_patterns(resolver: Any) -> Iterator[str]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver) and not entry.app_name:
            yield from named_patterns(entry)
        elif isinstance(entry, URLPattern) and entry.name:
            yield entry.name


def test_every_address_of_ours_is_in_the_table() -> None:
    ours = {name for name in named_patterns(get_resolver()) if not name.startswith("account_")}
    assert ours == OUR_NAMES


@pytest.mark.parametrize(
    "name", ["account_login", "account_signup", "account_logout", "account_reset_password"]
)
def test_account_pages_open(world: World, name: str) -> None:
    assert world.clients["anonymous"].get(reverse(name)).status_code in (200, 302)
    assert world.clients["owner"].get(reverse(name)).status_code in (200, 302)
