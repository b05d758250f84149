"""Whether somebody may post once more, and if not, how long they wait.

Three kinds of limits (setting BACKPASS_LIMITS): of a user, of an address without an account, and of an
address whoever posts from it. An address is the one that allauth sees, so that proxies are believed
exactly as far as TRUSTED_PROXY_COUNT says; of an IPv6 address the network (/64) counts.
"""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from functools import cache

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from limits import RateLimitItem, parse_many
from limits.strategies import FixedWindowRateLimiter

from web.limits.storage import DatabaseStorage

_IPV6_PREFIX = 64


@dataclass(frozen=True)
class Exceeded:
    """A limit that is spent: `amount` in `seconds`; there is room again in `wait` seconds."""

    kind: str
    amount: int
    seconds: int
    wait: int


def client_network(request: HttpRequest) -> str:
    """The address of whoever asks, as far as it is limited by."""
    # As text: on the way through proxies it was never more.
    text: str = get_adapter(request).get_client_ip(request)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text[:64]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))
    return str(address)


def count_post(*, user: int | None, network: str) -> Exceeded | None:
    """Count a post; the limit that forbids it, the one with the longest wait, or None.

    `user` is a primary key, None without an account; by an empty `network` nothing is limited.
    Call it in a transaction and roll that back when a limit is exceeded: then the post is not counted.
    """
    kinds = [("user", f"user {user}")] if user is not None else [("visitor", network)]
    kinds.append(("address", network))
    limiter = FixedWindowRateLimiter(DatabaseStorage())
    exceeded = [
        _exceeded(limiter, kind, item, who)
        for kind, who in kinds
        for item in items(settings.BACKPASS_LIMITS[kind])
        if who and not limiter.hit(item, kind, who)
    ]
    return max(exceeded, key=lambda limit: limit.wait, default=None)


@cache
def items(limits: str) -> tuple[RateLimitItem, ...]:
    """The limits in a setting such as "10/minute;100/hour"; none in an empty one.

    Raises:
        ValueError: it does not read so.
    """
    return tuple(parse_many(limits)) if limits.strip() else ()


def _exceeded(
    limiter: FixedWindowRateLimiter, kind: str, item: RateLimitItem, who: str
) -> Exceeded:
    ends_at = limiter.get_window_stats(item, kind, who).reset_time
    wait = max(1, math.ceil(ends_at - timezone.now().timestamp()))
    return Exceeded(kind, item.amount, item.get_expiry(), wait)


def span(seconds: int) -> str:
    """A time in words, rounded up: "12 seconds", "1 minute", "3 hours"."""
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length or seconds == length:
            number = math.ceil(seconds / length)
            return f"{number} {unit}{'s' if number > 1 else ''}"
    return f"{seconds} second{'s' if seconds != 1 else ''}"
