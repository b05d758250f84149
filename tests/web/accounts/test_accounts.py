"""Signing up, logging in and out."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.web.conftest import PASSWORD
from web.accounts.models import User

BACK = "/problems/rms-norm/"


def sign_up(client: Client, **fields: str) -> Any:
    data = {"username": "carol", "password1": PASSWORD, "password2": PASSWORD} | fields
    return client.post(reverse("account_signup"), data)


def test_a_name_and_a_password_are_enough(visitor: Client) -> None:
    assert sign_up(visitor).status_code == 302
    carol = User.objects.get(username="carol")
    assert carol.email == ""
    assert visitor.session["_auth_user_id"] == str(carol.pk)


def test_signing_up_leads_back_to_where_one_came_from(visitor: Client) -> None:
    page = visitor.get(reverse("account_signup"), {"next": BACK}).content.decode()
    assert f'name="next" value="{BACK}"' in page
    assert sign_up(visitor, next=BACK)["Location"] == BACK


def test_logging_in_leads_back_as_well(visitor: Client, alice: User) -> None:
    page = visitor.get(reverse("account_login"), {"next": BACK}).content.decode()
    assert f'name="next" value="{BACK}"' in page
    data = {"login": "alice", "password": PASSWORD, "next": BACK}
    assert visitor.post(reverse("account_login"), data)["Location"] == BACK


def test_the_way_from_login_to_sign_up_keeps_the_way_back(visitor: Client) -> None:
    page = visitor.get(reverse("account_login"), {"next": BACK}).content.decode()
    assert "/accounts/signup/?next=" in page


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:x"])
def test_nobody_is_led_to_another_site(visitor: Client, elsewhere: str) -> None:
    assert sign_up(visitor, next=elsewhere)["Location"] == "/"


def test_every_page_offers_a_way_back_to_itself(visitor: Client) -> None:
    page = visitor.get("/problems/rms-norm/leaderboard/?hardware=cpu").content.decode()
    assert "/accounts/login/?next=/problems/rms-norm/leaderboard/%3Fhardware%3Dcpu" in page


def test_after_a_refused_post_the_way_back_is_the_problem(visitor: Client) -> None:
    response = visitor.post(reverse("submit", args=["rms-norm"]), {"mode": "submit", "source": "x"})
    page = response.content.decode()
    assert f"/accounts/login/?next={BACK}" in page
    assert "submit/%3F" not in page


@pytest.mark.parametrize(
    "fields",
    [
        {"password2": "another-password-1"},
        {"password1": "12345678", "password2": "12345678"},
        {"username": ""},
        {"username": "al ice"},
    ],
)
def test_a_faulty_sign_up_is_told_and_makes_nobody(visitor: Client, fields: dict[str, str]) -> None:
    response = sign_up(visitor, **fields)
    assert response.status_code == 200
    assert response.context["form"].errors
    assert not User.objects.exists()


def test_a_taken_name_is_refused_whatever_its_case(visitor: Client, alice: User) -> None:
    assert sign_up(visitor, username="ALICE").context["form"].errors


def test_logging_out_takes_a_post(as_alice: Client) -> None:
    assert as_alice.get(reverse("account_logout")).status_code == 200
    assert "_auth_user_id" in as_alice.session
    as_alice.post(reverse("account_logout"))
    assert "_auth_user_id" not in as_alice.session


def test_guessing_passwords_is_slowed_down(visitor: Client, alice: User) -> None:
    for _ in range(5):
        visitor.post(reverse("account_login"), {"login": "alice", "password": "wrong"})
    response = visitor.post(reverse("account_login"), {"login": "alice", "password": PASSWORD})
    assert "_auth_user_id" not in visitor.session
    assert response.status_code in (200, 429)
