"""Rate limits: whose, how often, how long to wait; counted in the database by every process."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.test import RequestFactory
from django.utils import timezone

from web.limits.apps import LimitsConfig
from web.limits.models import Counter
from web.limits.rates import client_network, count_post, span
from web.limits.storage import DatabaseStorage, drop_spent


@pytest.fixture(autouse=True)
def _limits(settings: Any) -> None:
    settings.BACKPASS_LIMITS = {
        "user": "3/minute;5/hour",
        "visitor": "2/minute",
        "address": "4/minute",
    }


def later(**span: float) -> None:
    """Time goes by for all counters."""
    for counter in Counter.objects.all():
        counter.ends_at -= timedelta(**span)
        counter.save()


@pytest.mark.django_db
def test_a_user_may_post_so_often_and_then_waits() -> None:
    assert [count_post(user=1, network="192.0.2.1") for _ in range(3)] == [None] * 3
    limit = count_post(user=1, network="192.0.2.1")
    assert limit
    assert (limit.kind, limit.amount, limit.seconds) == ("user", 3, 60)
    assert 1 <= limit.wait <= 60
    assert count_post(user=2, network="192.0.2.2") is None


@pytest.mark.django_db
def test_after_the_wait_there_is_room_until_the_longer_limit_is_reached() -> None:
    for _ in range(3):
        count_post(user=1, network="")
    later(seconds=60)
    assert [count_post(user=1, network="") for _ in range(2)] == [None] * 2
    limit = count_post(user=1, network="")
    assert limit
    assert (limit.amount, limit.seconds) == (5, 3600)
    assert 3400 < limit.wait <= 3540


@pytest.mark.django_db
def test_without_an_account_the_address_is_limited_whatever_the_session() -> None:
    assert [count_post(user=None, network="192.0.2.1") for _ in range(2)] == [None] * 2
    limit = count_post(user=None, network="192.0.2.1")
    assert limit
    assert limit.kind == "visitor"
    assert count_post(user=None, network="192.0.2.7") is None


@pytest.mark.django_db
def test_many_accounts_on_one_address_share_its_limit() -> None:
    assert [count_post(user=n, network="192.0.2.1") for n in range(4)] == [None] * 4
    limit = count_post(user=9, network="192.0.2.1")
    assert limit
    assert limit.kind == "address"


@pytest.mark.django_db
def test_where_no_address_is_known_none_is_limited() -> None:
    assert [count_post(user=None, network="") for _ in range(9)] == [None] * 9


@pytest.mark.django_db
def test_an_empty_setting_is_no_limit(settings: Any) -> None:
    settings.BACKPASS_LIMITS = {"user": "", "visitor": " ", "address": ""}
    assert [count_post(user=1, network="192.0.2.1") for _ in range(50)] == [None] * 50
    assert not Counter.objects.exists()


@pytest.mark.django_db
def test_what_is_rolled_back_was_not_counted() -> None:
    for _ in range(20):
        with transaction.atomic():
            count_post(user=1, network="")
            transaction.set_rollback(True)
    assert count_post(user=1, network="") is None


@pytest.mark.django_db(transaction=True)
def test_posts_at_the_same_moment_do_not_pass_the_limit() -> None:
    barrier, answers = threading.Barrier(8), []

    def post() -> None:
        try:
            barrier.wait(timeout=30)
            with transaction.atomic():
                answers.append(count_post(user=1, network=""))
        finally:
            connection.close()

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert (len(answers), answers.count(None)) == (8, 3)


@pytest.mark.django_db
def test_counters_whose_time_is_over_are_dropped_and_no_others() -> None:
    count_post(user=1, network="192.0.2.1")
    later(seconds=60)
    count_post(user=2, network="192.0.2.2")
    assert drop_spent() == 2
    assert Counter.objects.count() == 4
    assert not Counter.objects.filter(ends_at__lte=timezone.now()).exists()


@pytest.mark.django_db
def test_the_storage_forgets_when_told() -> None:
    storage = DatabaseStorage()
    assert [storage.incr("a", 60), storage.incr("a", 60), storage.incr("b", 60, 5)] == [1, 2, 5]
    assert storage.check()
    storage.clear("a")
    assert (storage.get("a"), storage.get("b")) == (0, 5)
    assert storage.reset() == 1
    assert storage.get_expiry("b") <= timezone.now().timestamp()


@pytest.mark.parametrize("limits", ["often", "3 per fortnight-ish", "3/minute;"])
def test_a_setting_that_does_not_read_stops_the_start(settings: Any, limits: str) -> None:
    import web.limits

    settings.BACKPASS_LIMITS = {"user": limits}
    with pytest.raises(ImproperlyConfigured, match="BACKPASS_LIMIT_USER"):
        LimitsConfig("web.limits", web.limits).ready()


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, None, "192.0.2.9"),
        (
            0,
            "203.0.113.5",
            "192.0.2.9",
        ),  # nobody in front of the site: the header is the client's word
        (1, "203.0.113.5", "203.0.113.5"),
        (1, "198.51.100.1, 203.0.113.5", "203.0.113.5"),
        (2, "198.51.100.1, 203.0.113.5, 10.0.0.7", "203.0.113.5"),
    ],
)
def test_a_forwarded_address_is_believed_as_far_as_there_are_proxies(
    settings: Any, proxies: int, forwarded: str | None, expected: str
) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    request = RequestFactory(REMOTE_ADDR="192.0.2.9").get("/", headers=headers)
    assert client_network(request) == expected


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.9", "192.0.2.9"),
        ("192.0.2.9", "192.0.2.9"),
    ],
)
def test_of_an_ipv6_address_the_network_counts(address: str, network: str) -> None:
    assert client_network(RequestFactory(REMOTE_ADDR=address).get("/")) == network


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (12, "12 seconds"),
        (60, "1 minute"),
        (119, "119 seconds"),
        (121, "3 minutes"),
        (3600, "1 hour"),
        (3601, "61 minutes"),
        (7201, "3 hours"),
    ],
)
def test_a_wait_is_told_in_words_and_never_too_short(seconds: int, words: str) -> None:
    assert span(seconds) == words
