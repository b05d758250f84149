"""Kombu's Redis transport, with a worker that goes on when Redis did not answer an acknowledgement.

A worker takes as many messages as it may have unacknowledged: one. When Redis is frozen at the moment
in which a message is acknowledged, Celery logs that and goes on, but kombu still counts the message, so
that the worker never takes another one, and nothing notices. Here such a message is over for the worker;
if Redis did not hear of it, it is delivered once more after the visibility timeout, which does no harm.
"""

from __future__ import annotations

from typing import Any

from kombu import transport as transports
from kombu.transport import TRANSPORT_ALIASES, redis, virtual


class QoS(redis.QoS):
    """Counts a message as acknowledged whether or not Redis could be told."""

    channel: Any

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)
        except self.channel.connection_errors:
            virtual.QoS.ack(self, delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        try:
            super().reject(delivery_tag, requeue=requeue)
        except self.channel.connection_errors:
            virtual.QoS.ack(self, delivery_tag)
            raise


class Channel(redis.Channel):
    """Kombu's, with the acknowledgements above."""

    QoS = QoS


class Transport(redis.Transport):
    """What `redis://` and `rediss://` name in a process that has called `use`."""

    Channel: Any = Channel


def use() -> None:
    """Make this the transport of every Redis connection that the process opens from now on."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
        transports._transport_cache.pop(scheme, None)  # type: ignore[attr-defined]  # by name, if asked
