"""Alice has an account, Bob is a stranger to her, Stella is staff. Messages go to a broker in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from kombu import Connection, Queue

from web.accounts.models import User
from web.catalogue import queries
from web.celery import CONNECT_OPTIONS, app
from wire.messages import judge_queue

# Before anything connects: Celery keeps its first connections for good.
app.conf.update(broker_url="memory://", broker_transport_options={"polling_interval": 0.01})

HARDWARE = ("cpu", "interpreter")
PASSWORD = "correct-horse-battery"


@pytest.fixture(autouse=True)
def _site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "KEPT_SECONDS", 0.0)  # each test counts what it made itself
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.BACKPASS_HARDWARE = list(HARDWARE)


@pytest.fixture(autouse=True)
def sent_jobs() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Takes the jobs that lie in the runners' queues."""

    def take() -> list[dict[str, Any]]:
        jobs = []
        with app.connection_for_read() as connection:
            for hardware in HARDWARE:
                queue: Any = Queue(judge_queue(hardware), channel=connection.default_channel)
                queue.declare()
                while message := queue.get(no_ack=True):
                    (job,), _options, _callbacks = message.payload
                    assert message.headers["task"] == "runner.judge"
                    assert job["hardware"] == hardware
                    jobs.append(job)
        return jobs

    take()
    yield take
    take()


@pytest.fixture
def commits(django_capture_on_commit_callbacks: Any) -> Callable[[], Any]:
    """`with commits():` runs, at its end, what waits for the commit."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob", password=PASSWORD)


@pytest.fixture
def stella(db: None) -> User:
    return User.objects.create_superuser("stella", password=PASSWORD)


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def as_alice(alice: User) -> Client:
    return logged_in(alice)


@pytest.fixture
def as_bob(bob: User) -> Client:
    return logged_in(bob)


@pytest.fixture
def as_stella(stella: User) -> Client:
    return logged_in(stella)


@pytest.fixture
def visitor(db: None) -> Client:
    return Client()


@pytest.fixture
def broken_broker() -> Iterator[None]:
    """A Redis that is not there: nothing listens on port 1."""

    def connect(*_args: Any, **_options: Any) -> Connection:
        return Connection("redis://127.0.0.1:1/0", transport_options=CONNECT_OPTIONS)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "_pool", None)
        patch.setattr(app.amqp, "_producer_pool", None)
        patch.setattr(app, "connection_for_write", connect)
        patch.setattr(app, "connection_for_read", connect)
        yield
