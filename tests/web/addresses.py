"""Every address of the site, and what everybody gets from it. A new address needs a line here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLResolver, get_resolver

# A visitor has no account, but ran something; a stranger and an owner have accounts; staff may open the
# admin, where they have no permission; a superuser has all.
EVERYBODY = ("anonymous", "visitor", "other visitor", "stranger", "owner", "staff", "superuser")

Statuses = tuple[int, int, int, int, int, int, int]


def alike(status: int) -> Statuses:
    return (status, status, status, status, status, status, status)


PUBLIC = alike(200)
MISSING = alike(404)
OF_THE_USER: Statuses = (404, 404, 404, 404, 200, 200, 200)
OF_THE_VISITOR: Statuses = (404, 200, 404, 404, 404, 200, 200)
WITH_ACCOUNT: Statuses = (302, 302, 302, 200, 200, 200, 200)
WITHOUT_ACCOUNT: Statuses = (200, 200, 200, 302, 302, 302, 302)
AWAY = alike(302)
STAFF: Statuses = (302, 302, 302, 302, 302, 200, 200)
SUPERUSER: Statuses = (302, 302, 302, 302, 302, 403, 200)
NOBODY: Statuses = (302, 302, 302, 302, 302, 403, 403)


@dataclass(frozen=True)
class Row:
    """A route and what a GET of each of its `addresses` gives to EVERYBODY.

    In an address `{user}` and `{visitor}` are submissions of the owner and of the visitor, `{app.model}`
    is an object of that model. What is `read_only` answers 405 to every other method.
    """

    route: str
    addresses: dict[str, Statuses]
    read_only: bool = False


def page(route: str, addresses: dict[str, Statuses]) -> Row:
    return Row(route, addresses, read_only=True)


def form(route: str, statuses: Statuses, address: str = "") -> Row:
    return Row(route, {address or f"/{route}": statuses})


def managed(model: str, add: Statuses = NOBODY, delete: Statuses = SUPERUSER) -> Iterator[Row]:
    """The admin's pages for a model "app.model"."""
    base = f"admin/{model.replace('.', '/')}/"
    one = f"/{base}{{{model}}}/"
    yield form(base, SUPERUSER)
    yield form(f"{base}add/", add)
    yield form(f"{base}<path:object_id>/history/", SUPERUSER, f"{one}history/")
    yield form(f"{base}<path:object_id>/delete/", delete, f"{one}delete/")
    yield form(f"{base}<path:object_id>/change/", SUPERUSER, f"{one}change/")
    yield form(f"{base}<path:object_id>/", AWAY, one)


PROBLEM = "/problems/rms-norm/"
UNKNOWN = "00000000-0000-4000-8000-000000000000"

TABLE: tuple[Row, ...] = (
    page("", {"/": PUBLIC}),
    page(
        "problems/<slug:slug>/",
        {
            PROBLEM: PUBLIC,
            "/problems/no-such-problem/": MISSING,
            f"{PROBLEM}?submission={{user}}": OF_THE_USER,
            f"{PROBLEM}?submission={{visitor}}": OF_THE_VISITOR,
            f"{PROBLEM}?submission={UNKNOWN}": MISSING,
            f"{PROBLEM}?submission=no-id": MISSING,
        },
    ),
    page(
        "problems/<slug:slug>/roofline/",
        {
            f"{PROBLEM}roofline/": PUBLIC,
            f"{PROBLEM}roofline/?on=cpu": PUBLIC,
            f"{PROBLEM}roofline/?on=abacus": MISSING,
        },
    ),
    page("problems/<slug:slug>/solutions/", {f"{PROBLEM}solutions/": PUBLIC}),
    page(
        "problems/<slug:slug>/leaderboard/",
        {
            f"{PROBLEM}leaderboard/": PUBLIC,
            f"{PROBLEM}leaderboard/?hardware=interpreter&page=7": PUBLIC,
            f"{PROBLEM}leaderboard/?hardware=abacus": MISSING,
        },
    ),
    page("lessons/", {"/lessons/": PUBLIC}),
    page("judging/", {"/judging/": PUBLIC}),
    page(
        "lessons/<slug:slug>/",
        {"/lessons/vjp/": PUBLIC, "/lessons/no-such-lesson/": MISSING},
    ),
    page(
        "lessons/<slug:slug>/code.py",
        {"/lessons/vjp/code.py": PUBLIC, "/lessons/no-such-lesson/code.py": MISSING},
    ),
    form("problems/<slug:slug>/submit/", AWAY, f"{PROBLEM}submit/"),
    page("submissions/", {"/submissions/": PUBLIC}),
    page(
        "submissions/<uuid:pk>/",
        {
            "/submissions/{user}/": OF_THE_USER,
            "/submissions/{visitor}/": OF_THE_VISITOR,
            f"/submissions/{UNKNOWN}/": MISSING,
        },
    ),
    page(
        "submissions/<uuid:pk>/status/",
        {
            "/submissions/{user}/status/": OF_THE_USER,
            "/submissions/{visitor}/status/": OF_THE_VISITOR,
            f"/submissions/{UNKNOWN}/status/": MISSING,
        },
    ),
    page(
        "submissions/<uuid:pk>/inside/",
        {
            "/submissions/{user}/inside/": OF_THE_USER,
            "/submissions/{visitor}/inside/?stage=sass&q=secret": OF_THE_VISITOR,
            "/submissions/{user}/inside/?kernel=no-such-kernel": MISSING,
            f"/submissions/{UNKNOWN}/inside/": MISSING,
        },
    ),
    page(
        "submissions/<uuid:pk>/inside/figures/",
        {
            "/submissions/{user}/inside/figures/": OF_THE_USER,
            "/submissions/{visitor}/inside/figures/": OF_THE_VISITOR,
            f"/submissions/{UNKNOWN}/inside/figures/": MISSING,
        },
    ),
    page(
        "submissions/<uuid:pk>/inside/compare/",
        {
            "/submissions/{user}/inside/compare/": MISSING,
            "/submissions/{user}/inside/compare/?with={user}": MISSING,
            "/submissions/{user}/inside/compare/?with={visitor}": MISSING,
        },
    ),
    page(
        "submissions/<uuid:pk>/inside/map/",
        {
            "/submissions/{user}/inside/map/": OF_THE_USER,
            "/submissions/{visitor}/inside/map/?program=0&view=only": OF_THE_VISITOR,
            "/submissions/{user}/inside/map/?launch=7": MISSING,
            f"/submissions/{UNKNOWN}/inside/map/": MISSING,
        },
    ),
    page(
        "problems/<slug:slug>/solutions/<slug:file>/map/",
        {
            f"{PROBLEM}solutions/triton/map/": PUBLIC,
            f"{PROBLEM}solutions/triton/map/?launch=99": MISSING,
            f"{PROBLEM}solutions/pytorch/map/": MISSING,
        },
    ),
    page("status/", {"/status/": PUBLIC}),
    page("problems/<slug:slug>/absent/", {f"{PROBLEM}absent/": PUBLIC}),
    page("healthz", {"/healthz": PUBLIC}),
    page("readyz", {"/readyz": PUBLIC}),
    page("metrics", {"/metrics": alike(401)}),
    # Accounts
    form("accounts/login/", WITHOUT_ACCOUNT),
    form("accounts/logout/", (302, 302, 302, 200, 200, 200, 200)),
    form("accounts/inactive/", PUBLIC),
    form("accounts/signup/", WITHOUT_ACCOUNT),
    form("accounts/reauthenticate/", WITH_ACCOUNT),
    form("accounts/reauthenticate/code/", AWAY),
    form("accounts/reauthenticate/code/confirm/", AWAY),
    form("accounts/email/", WITH_ACCOUNT),
    form("accounts/confirm-email/", PUBLIC),
    form("accounts/password/change/", WITH_ACCOUNT),
    form("accounts/password/set/", AWAY),
    form("accounts/password/reset/", PUBLIC),
    form("accounts/login/code/confirm/", AWAY),
    form(r"accounts/^confirm-email/(?P<key>[-:\w]+)/$", PUBLIC, "/accounts/confirm-email/wrong/"),
    form("accounts/password/reset/key/done/", PUBLIC),
    form(
        "accounts/^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        PUBLIC,
        "/accounts/password/reset/key/1-wrong/",
    ),
    form("accounts/password/reset/done/", PUBLIC),
    # The admin
    form("admin/", STAFF),
    form("admin/login/", (302, 302, 302, 403, 403, 302, 302)),
    form("admin/logout/", (302, 302, 302, 302, 302, 405, 405)),
    form("admin/password_change/", STAFF),
    form("admin/password_change/done/", STAFF),
    form("admin/autocomplete/", NOBODY),
    form("admin/jsi18n/", STAFF),
    form(
        "admin/r/<path:content_type_id>/<path:object_id>/",
        (302, 302, 302, 302, 302, 302, 302),
        "/admin/r/{submission type}/{user}/",
    ),
    form(
        "admin/^(?P<app_label>{apps})/$", (302, 302, 302, 302, 302, 404, 200), "/admin/submissions/"
    ),
    form("admin/(?P<url>.*)$", (302, 302, 302, 302, 302, 404, 404), "/admin/no-such-page/"),
    form(
        "admin/accounts/user/<id>/password/",
        SUPERUSER,
        "/admin/accounts/user/{accounts.user}/password/",
    ),
    form("admin/submissions/submission/rejudge/", SUPERUSER),
    *managed("auth.group", add=SUPERUSER),
    *managed("account.emailaddress", add=SUPERUSER),
    *managed("accounts.user", add=SUPERUSER),
    *managed("submissions.submission"),
    *managed("submissions.rejudge"),
    *managed("boards.standing"),
    *managed("runners.runner"),
)


def routes(resolver: Any = None, prefix: str = "") -> Iterator[str]:
    """The route of every address that Django knows; the apps in the admin's are not told."""
    for entry in (resolver or get_resolver()).url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from routes(entry, route)
        elif "(?P<app_label>" in route:
            yield "admin/^(?P<app_label>{apps})/$"
        else:
            yield route
