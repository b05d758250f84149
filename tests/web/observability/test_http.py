"""One line in the log for each request, about which submission it was, and nothing secret in it."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest
from django.test import Client

from tests.web.conftest import PASSWORD
from tests.web.samples import make_submission
from web.accounts.models import User
from wire.logs import configuration


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is logged meanwhile, as a process in production writes it."""
    monkeypatch.setenv("BACKPASS_LOG_FORMAT", "json")
    settings = configuration()["formatters"]["line"]
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(settings.pop("()")(**settings))
    root = logging.getLogger()
    root.addHandler(handler)
    yield handler.stream
    root.removeHandler(handler)


def test_a_request_about_a_submission_names_it_and_the_route(
    log: io.StringIO, as_alice: Client, alice: User
) -> None:
    submission = make_submission(alice)
    as_alice.get(submission.get_absolute_url())
    (line,) = [line for line in log.getvalue().splitlines() if '"request"' in line]
    assert f'"submission": "{submission.pk}"' in line
    assert '"route": "submissions/<uuid:pk>/"' in line
    assert '"status": 200' in line
    assert '"milliseconds": ' in line


def test_the_next_request_does_not_inherit_the_submission(
    log: io.StringIO, as_alice: Client, alice: User
) -> None:
    as_alice.get(make_submission(alice).get_absolute_url())
    as_alice.get("/problems/rms-norm/leaderboard/")
    last = log.getvalue().splitlines()[-1]
    assert "leaderboard" in last
    assert '"submission"' not in last


def test_machines_that_ask_all_the_time_do_not_fill_the_log(
    log: io.StringIO, as_alice: Client, alice: User
) -> None:
    submission = make_submission(alice)
    for address in ("/healthz", "/readyz", f"{submission.get_absolute_url()}status/"):
        assert as_alice.get(address).status_code == 200
    assert log.getvalue() == ""


def test_no_password_token_session_or_source_gets_into_the_log(
    log: io.StringIO, client: Client, alice: User
) -> None:
    fields = {"login": "alice", "password": PASSWORD}
    client.post("/accounts/login/?next=/%3Ftoken=very-secret", fields)
    session = client.cookies["sessionid"].value
    client.post("/accounts/login/", {"login": "alice", "password": "wrong-" + PASSWORD})
    client.get("/accounts/password/reset/key/1-very-secret/")
    client.get("/metrics", headers={"Authorization": "Bearer very-secret"})
    source = "very_secret_source = 1"
    answer = client.post(
        "/problems/rms-norm/submit/", {"source": source, "language": "pytorch", "mode": "submit"}
    )
    assert answer.status_code == 302
    written = log.getvalue()
    assert "taken: " in written
    for secret in ("very-secret", "very_secret", PASSWORD, session):
        assert secret not in written
