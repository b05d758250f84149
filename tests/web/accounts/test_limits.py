"""Signing up and logging in are limited by address, as far as proxies are to be believed."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.web.conftest import PASSWORD
from web.accounts.models import User

SIGN_UPS = 10
LOG_INS = 30


def sign_up(client: Client, number: int, **address: Any) -> Any:
    data = {"username": f"user-{number}", "password1": PASSWORD, "password2": PASSWORD}
    return client.post(reverse("account_signup"), data, **address)


def log_in(client: Client, name: str, password: str = PASSWORD, **address: Any) -> Any:
    return client.post(reverse("account_login"), {"login": name, "password": password}, **address)


@pytest.mark.django_db
def test_so_many_accounts_a_minute_are_made_from_one_address() -> None:
    for number in range(SIGN_UPS):
        assert sign_up(Client(), number).status_code == 302
    refused = sign_up(Client(), 99)
    assert (refused.status_code, refused["Retry-After"]) == (429, "60")
    assert "Wait 60 seconds" in refused.content.decode()
    assert User.objects.count() == SIGN_UPS
    assert sign_up(Client(), 99, REMOTE_ADDR="192.0.2.7").status_code == 302


@pytest.mark.django_db
def test_an_invented_forwarded_address_gets_nobody_further() -> None:
    for number in range(SIGN_UPS):
        sign_up(Client(), number, headers={"x-forwarded-for": f"203.0.113.{number}"})
    refused = sign_up(Client(), 99, headers={"x-forwarded-for": "203.0.113.99"})
    assert refused.status_code == 429


@pytest.mark.django_db
def test_behind_a_proxy_its_word_counts_and_not_the_clients(settings: Any) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    for number in range(SIGN_UPS):
        forwarded = f"203.0.113.{number}, 198.51.100.1"
        assert sign_up(Client(), number, headers={"x-forwarded-for": forwarded}).status_code == 302
    same = {"x-forwarded-for": "203.0.113.99, 198.51.100.1"}
    other = {"x-forwarded-for": "203.0.113.99, 198.51.100.2"}
    assert sign_up(Client(), 98, headers=same).status_code == 429
    assert sign_up(Client(), 99, headers=other).status_code == 302


def test_so_many_log_ins_a_minute_come_from_one_address(alice: User) -> None:
    for _ in range(LOG_INS):
        assert log_in(Client(), "alice").status_code == 302
    refused = log_in(Client(), "alice")
    assert (refused.status_code, refused["Retry-After"]) == (429, "60")
    assert log_in(Client(), "alice", REMOTE_ADDR="192.0.2.7").status_code == 302


def test_guessing_one_persons_password_from_many_addresses_is_stopped_with_what_to_do(
    alice: User,
) -> None:
    for number in range(5):
        log_in(Client(), "alice", "wrong", REMOTE_ADDR=f"192.0.2.{number}")
    client = Client()
    page = log_in(client, "alice", REMOTE_ADDR="192.0.2.99").content.decode()
    assert "Wait five minutes" in page
    assert "_auth_user_id" not in client.session
