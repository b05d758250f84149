"""The addresses that containers and load balancers ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError

from web import health

WELL = {"database": "ok", "migrations": "ok", "cache": "ok", "broker": "ok"}


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    health.forget_answers()
    yield
    health.forget_answers()


def fail(error: Exception) -> Callable[..., None]:
    def raise_it(*_: object, **__: object) -> None:
        raise error

    return raise_it


def test_it_lives_whatever_else_does_not(client: Client) -> None:
    # No fixture gives this test a database: asking it would fail.
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_it_is_ready_when_everything_answers(client: Client) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json()) == (200, {"status": "ok", **WELL})
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
def test_a_database_that_is_away_is_named_and_its_address_is_not(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "cursor", fail(DatabaseError("postgres://u:secret@db")))
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["database"] == "failed"
    assert "secret" not in response.content.decode() + caplog.text


@pytest.mark.django_db
def test_a_database_of_an_older_version_is_not_ready(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT MAX(name) FROM django_migrations WHERE app = 'boards'")
        cursor.execute("DELETE FROM django_migrations WHERE name = %s", cursor.fetchone())
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "not ready", **WELL, "migrations": "failed"}


@pytest.mark.django_db
def test_a_cache_that_is_away_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "get", fail(RedisConnectionError("redis://:secret@cache")))
    assert client.get("/readyz").json() == {"status": "not ready", **WELL, "cache": "failed"}


@pytest.mark.django_db
@pytest.mark.usefixtures("broken_broker")
def test_a_broker_that_is_away_is_named(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "not ready", **WELL, "broker": "failed"}


@pytest.mark.django_db
def test_asked_often_the_servers_behind_are_asked_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def well() -> bool:
        asked.append(1)
        return True

    monkeypatch.setattr(health, "KEPT_SECONDS", 1e9)
    monkeypatch.setattr(health, "CHECKS", {"database": well})
    for _ in range(5):
        assert client.get("/readyz").json() == {"status": "ok", "database": "ok"}
    assert asked == [1]
