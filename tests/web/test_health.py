"""The address that load balancers ask."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection
from django.test import Client


@pytest.mark.django_db
def test_it_is_well_while_the_database_answers(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_it_says_so_when_the_database_does_not(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(connection, "cursor", fail)
    assert client.get("/healthz").status_code == 503
