"""A worker goes on when Redis was silent while a message was acknowledged."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kombu import Connection
from kombu.transport import TRANSPORT_ALIASES
from redis.exceptions import TimeoutError as RedisTimeout

from tests.servers import RedisServer
from wire import acks


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def channel(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for scheme in ("redis", "rediss"):
        monkeypatch.setitem(TRANSPORT_ALIASES, scheme, TRANSPORT_ALIASES[scheme])
    # Also where somebody asked for kombu's own before.
    Connection(server.url).get_transport_cls()
    acks.use()
    with Connection(server.url, transport_options={"socket_timeout": 1}) as connection:
        yield connection.default_channel


@pytest.mark.parametrize(
    "settle",
    [
        lambda message: message.ack(),
        lambda message: message.reject(),
        lambda message: message.reject(requeue=True),
    ],
    ids=["acknowledged", "rejected", "given back"],
)
def test_a_message_that_could_not_be_settled_takes_no_place(
    server: RedisServer, channel: Any, settle: Callable[[Any], None]
) -> None:
    channel.basic_qos(prefetch_count=1)
    channel.connection.client.Producer().publish("one", routing_key="q")
    message = channel.basic_get("q")
    assert not channel.qos.can_consume()
    server.signal(signal.SIGSTOP)
    try:
        with pytest.raises(RedisTimeout):
            settle(message)
    finally:
        server.signal(signal.SIGCONT)
    assert channel.qos.can_consume()
