"""Who may see and do what: every address of the site, for everybody there is, by every method."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.test import Client
from django.urls import reverse

from tests.web.addresses import EVERYBODY, TABLE, Row, Statuses, routes
from tests.web.conftest import PASSWORD, logged_in
from tests.web.inspection.samples import attempt_of, compiled, inspection, maps, message
from tests.web.samples import active_attempt, event, verdict_event, wrong_gradient_for
from web.accounts.models import User
from web.boards.models import Standing
from web.inspection.storing import record_inspection
from web.submissions.events import record_event
from web.submissions.models import EarlierVerdict, Rejudge, Submission

CHANGING = ("post", "put", "patch", "delete")
# By whom all of them are tried; the others try two. A superuser's forms do what they say, which is for
# other tests.
METHODS: dict[str, tuple[str, ...]] = {
    "anonymous": CHANGING,
    "stranger": CHANGING,
    "staff": CHANGING,
    "superuser": ("options",),
}
# Stands in everything of a submission that is not for everybody: source, headline, output, ...
OF_USER, OF_VISITOR = "secret_of_the_owner", "secret_of_the_visitor"
EMAIL = "owner@private.example"
MAY_SEE = {
    OF_USER: {"owner", "staff", "superuser"},
    OF_VISITOR: {"visitor", "staff", "superuser"},
    EMAIL: {"owner", "superuser"},
}


@dataclass
class World:
    """Everybody's client, the submissions that are not for everybody, and an object of each model."""

    clients: dict[str, Client]
    fields: dict[str, Any] = field(default_factory=dict)

    def address(self, pattern: str) -> str:
        for name, value in self.fields.items():
            pattern = pattern.replace(f"{{{name}}}", str(value))
        assert "{" not in pattern, pattern
        return pattern


def post(client: Client, secret: str, mode: str) -> None:
    fields = {"source": f"{secret} = 1", "language": "pytorch", "mode": mode}
    assert client.post(reverse("submit", args=["rms-norm"]), fields).status_code == 302


def judge(submission: Submission, secret: str) -> None:
    record_event(event(active_attempt(submission), "started", 0))
    record_event(verdict_event(submission, wrong_gradient_for(submission, secret)))
    submission.refresh_from_db()
    found = inspection(compiled(name=secret), maps=maps(kernel=secret))
    record_inspection(message(attempt_of(submission), found))
    EarlierVerdict.objects.create(
        submission=submission,
        verdict="accepted",
        headline=secret,
        problem_version=1,
        judged_at=submission.created_at,
    )


@pytest.fixture(autouse=True)
def _without_logs() -> Iterator[None]:
    """Thousands of refusals, each with a line of its own, cost more than the requests."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def world(alice: User, bob: User, stella: User, settings: Any) -> World:
    settings.METRICS_TOKEN = "some-token"
    settings.ACCOUNT_RATE_LIMITS = False  # all of them come from one address
    User.objects.filter(pk=alice.pk).update(email=EMAIL)
    clerk = User.objects.create_user("clerk", password=PASSWORD, is_staff=True)
    clients = {
        "anonymous": Client(),
        "visitor": Client(),
        "other visitor": Client(),
        "stranger": logged_in(bob),
        "owner": logged_in(alice),
        "staff": logged_in(clerk),
        "superuser": logged_in(stella),
    }
    post(clients["other visitor"], "other", "run")
    post(clients["stranger"], "other", "submit")
    post(clients["visitor"], OF_VISITOR, "run")
    post(clients["owner"], OF_USER, "submit")
    of_visitor = Submission.objects.get(source__contains=OF_VISITOR)
    of_user = Submission.objects.get(source__contains=OF_USER)
    judge(of_user, OF_USER)
    judge(of_visitor, OF_VISITOR)
    world = World(clients)
    world.fields |= {
        "user": of_user.pk,
        "visitor": of_visitor.pk,
        "submission type": ContentType.objects.get_for_model(Submission).pk,
    } | objects(alice, of_user)
    return world


def objects(user: User, submission: Submission) -> dict[str, Any]:
    """The key of an object of each model that the admin shows."""
    made = (
        Group.objects.create(name="some group"),
        user,
        user.emailaddress_set.create(email=EMAIL),  # type: ignore[attr-defined]  # made by a relation
        submission,
        Standing.objects.create(
            user=user,
            submission=submission,
            problem="rms_norm",
            hardware="cpu",
            problem_version=1,
            language="pytorch",
            score=0.5,
            achieved_at=submission.created_at,
        ),
        Rejudge.objects.create(
            submission=submission, hardware="cpu", batch="00000000-0000-4000-8000-000000000001"
        ),
        apps.get_model("runners.Runner").objects.create(**RUNNER),
    )
    return {thing._meta.label_lower: thing.pk for thing in made}


RUNNER: dict[str, Any] = {
    "name": "some runner",
    "hardware": ["cpu"],
    "first_heard": datetime(2026, 1, 1, tzinfo=UTC),
    "last_heard": datetime(2026, 1, 1, tzinfo=UTC),
}


def test_every_address_is_in_the_table_and_nothing_else_is() -> None:
    listed = [row.route for row in TABLE]
    assert sorted(listed) == sorted(set(routes()))
    assert len(listed) == len(set(listed))


def each_address(world: World) -> Iterator[tuple[Row, str, Statuses]]:
    """Every address with what a GET gives; whatever is done to it is undone before the next one."""
    for row in TABLE:
        for pattern, expected in row.addresses.items():
            with transaction.atomic():
                yield row, world.address(pattern), expected
                transaction.set_rollback(True)


def test_everybody_gets_what_is_theirs_and_sees_nothing_else(world: World) -> None:
    wrong: dict[str, object] = {}
    for _, address, expected in each_address(world):
        responses = {who: world.clients[who].get(address) for who in EVERYBODY}
        got = tuple(response.status_code for response in responses.values())
        if got != expected:
            wrong[address] = got
        for who, response in responses.items():
            if seen := seen_of_others(response, who) + breaches_of_policy(response):
                wrong[f"{who}: {address}"] = seen
    assert wrong == {}


def test_whatever_method_is_used_nobody_sees_or_changes_what_is_not_theirs(world: World) -> None:
    wrong = {}
    for row, address, _ in each_address(world):
        before = everything()
        for who in EVERYBODY:
            for method in METHODS.get(who, ("post", "delete")):
                response = getattr(copy_of(world.clients[who]), method)(address)
                allowed = {405} if row.read_only else {200, 302, 400, 403, 404, 405, 422}
                if response.status_code not in allowed:
                    wrong[f"{who}: {method} {address}"] = str(response.status_code)
                for what in seen_of_others(response, who):
                    wrong[f"{who}: {method} {address}"] = f"sees {what}"
        if everything() != before:
            wrong[address] = "something was changed"
    assert wrong == {}


def test_nothing_is_posted_without_the_forms_token(world: World) -> None:
    wrong = {}
    for _, address, _ in each_address(world):
        for who, methods in (
            ("anonymous", ("post",)),
            ("owner", CHANGING),
            ("superuser", ("post",)),
        ):
            client = copy_of(world.clients[who], enforce_csrf_checks=True)
            for method in methods:
                status = getattr(client, method)(address).status_code
                if status != 403:
                    wrong[f"{who}: {method} {address}"] = status
    assert wrong == {}


def test_asking_for_the_head_alone_tells_no_more(world: World) -> None:
    wrong = {}
    for row, address, expected in each_address(world):
        for who, status in zip(EVERYBODY, expected, strict=True):
            if who in ("anonymous", "owner"):
                response = world.clients[who].head(address)
                if (response.status_code, response.content) != (status, b""):
                    wrong[f"{who}: {row.route}"] = response.status_code
    assert wrong == {}


def copy_of(client: Client, **options: Any) -> Client:
    """A client with the same cookies, so that a logout of one is no logout of the next test's."""
    copy = Client(**options)
    copy.cookies.load({name: morsel.value for name, morsel in client.cookies.items()})
    return copy


def seen_of_others(response: Any, who: str) -> list[str]:
    """The secrets in the response that whoever asked may not see."""
    told = b"".join(response) if response.streaming else response.content
    told += str(response.headers).encode()
    return [s for s, allowed in MAY_SEE.items() if who not in allowed and s.encode() in told]


def everything() -> list[Any]:
    """All rows that judging and its people live by."""
    tables = ("submissions", "boards", "accounts", "runners", "account", "auth")
    return [
        list(model._default_manager.order_by("pk").values())
        for label in tables
        for model in apps.get_app_config(label).get_models()
    ]


# --- What no page may contain

PLAIN = {"application/json", "text/template"}


class Inline(HTMLParser):
    """Collects what the content security policy would block, or what would be dangerous without it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_code = tag == "script" and not given.get("src") and given.get("type") not in PLAIN
        if (is_code or tag == "style") and not given.get("nonce"):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name == "style" or name.startswith("on"):
                self.found.append(f"{tag} {name}={value!r}")
            if (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"{tag} {name}={value!r}")


HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
RULES = (
    "default-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)


def breaches_of_policy(response: Any) -> list[str]:
    """Headers that are missing, and what on the page the policy forbids."""
    found = [name for name, value in HEADERS.items() if response.get(name) != value]
    policy = response.get("Content-Security-Policy", "")
    found += [rule for rule in RULES if rule not in policy]
    if "unsafe" in policy:
        found.append(policy)
    if response.get("Content-Type", "").startswith("text/html"):
        parser = Inline()
        parser.feed(response.content.decode())
        found += parser.found
    return found


# --- The admin


@pytest.mark.parametrize("who", ["anonymous", "visitor", "stranger", "owner"])
def test_the_admin_sends_others_to_the_sites_own_login(world: World, who: str) -> None:
    response = world.clients[who].get("/admin/submissions/submission/")
    assert response["Location"].startswith("/admin/login/")
    response = world.clients[who].get(response["Location"])
    if who in ("stranger", "owner"):
        assert response.status_code == 403
    else:
        # Where attempts to guess a password are counted.
        assert response["Location"].startswith("/accounts/login/")


def test_a_password_cannot_be_tried_at_the_admins_own_login(world: World, stella: User) -> None:
    client = Client()
    client.post("/admin/login/", {"username": "stella", "password": PASSWORD})
    assert "_auth_user_id" not in client.session


def test_even_a_superuser_changes_no_submission_by_hand(world: World) -> None:
    page = world.address("/admin/submissions/submission/{user}/change/")
    response = world.clients["superuser"].post(page, {"verdict": "accepted"})
    assert response.status_code == 403
    assert Submission.objects.get(pk=world.fields["user"]).verdict == "wrong_gradient"
