"""Rejudging from the admin: how many that would be is said first, and only a confirmed post does it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from tests.web.conftest import logged_in
from tests.web.samples import make_submission, verdict_event
from web.accounts.models import User
from web.submissions.events import record_event
from web.submissions.models import Rejudge, Submission

LIST = "/admin/submissions/submission/"
FORM = f"{LIST}rejudge/"


def judged(user: User, **changes: Any) -> Submission:
    submission = make_submission(user, **changes)
    record_event(verdict_event(submission))
    return submission


@pytest.fixture
def various(alice: User, bob: User) -> list[Submission]:
    """Judged ones: two of RMSNorm on the CPU, one in the interpreter, one of SwiGLU.

    Besides a run of RMSNorm, and one that is not judged.
    """
    make_submission(alice)
    judged(alice, mode="run")
    return [
        judged(alice),
        judged(bob),
        judged(alice, language="triton"),
        judged(alice, problem="swiglu"),
    ]


def hidden_fields(response: Any) -> dict[str, list[str]]:
    """The form of the confirmation page, as a browser would send it."""
    fields: dict[str, list[str]] = {}
    page = response.content.decode().split("<form", 2)[-1]
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page):
        fields.setdefault(name, []).append(value)
    return fields


def wanted() -> set[Any]:
    return set(Rejudge.objects.values_list("submission_id", flat=True))


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({"problem": "rms_norm"}, [0, 1, 2]),
        ({"hardware": "cpu"}, [0, 1, 3]),
        ({"problem": "rms_norm", "hardware": "cpu"}, [0, 1]),
        ({"problem": "swiglu", "hardware": "interpreter"}, []),
    ],
)
def test_a_problem_a_hardware_or_both(
    as_stella: Client, various: list[Submission], query: dict[str, str], numbers: list[int]
) -> None:
    response = as_stella.get(FORM, query)
    page = response.content.decode()
    if not numbers:
        assert "nothing to rejudge" in page
        return
    assert f"<strong>{len(numbers)} submission" in page
    assert wanted() == set()  # only looked at so far
    fields = hidden_fields(response)
    assert as_stella.post(FORM, fields).status_code == 302
    assert wanted() == {various[number].pk for number in numbers}
    as_stella.post(FORM, fields)  # the button pressed twice
    assert Rejudge.objects.count() == len(numbers)
    assert Rejudge.objects.first().requested_by.username == "stella"  # type: ignore[union-attr]  # it exists, or the test fails


def test_a_post_without_what_the_confirmation_page_adds_only_asks(
    as_stella: Client, various: list[Submission]
) -> None:
    response: Any = as_stella.post(FORM, {"problem": "rms_norm"})
    assert "<strong>3 submissions" in response.content.decode()
    assert wanted() == set()


def test_everything_at_once_is_never_meant(as_stella: Client, various: list[Submission]) -> None:
    for response in (as_stella.get(FORM, {"problem": ""}), as_stella.post(FORM, {})):
        assert "Choose a problem" in response.content.decode()
    assert wanted() == set()


def test_the_selected_ones(as_stella: Client, various: list[Submission]) -> None:
    chosen = [various[1], various[3]]
    action = {"action": "rejudge_selected", "_selected_action": [s.pk for s in chosen]}
    response = as_stella.post(LIST, action)
    assert "<strong>2 submissions" in response.content.decode()
    assert wanted() == set()
    as_stella.post(LIST, hidden_fields(response))
    assert wanted() == {s.pk for s in chosen}


def test_all_that_a_filter_leaves_however_many_pages(
    as_stella: Client, various: list[Submission]
) -> None:
    address = f"{LIST}?problem__exact=rms_norm"
    action = {
        "action": "rejudge_selected",
        "select_across": "1",
        "index": "0",
        "_selected_action": [various[0].pk],
    }
    response: Any = as_stella.post(address, action)
    page = response.content.decode()
    assert "<strong>4 submissions" in page  # a run as well: it was selected
    assert "1 is left out" in page
    as_stella.post(address, hidden_fields(response))
    assert Rejudge.objects.count() == 4


def test_what_the_site_no_longer_has_is_left_out(
    as_stella: Client, alice: User, settings: Any
) -> None:
    judged(alice, problem="forgotten")
    judged(alice, language="triton")
    settings.BACKPASS_HARDWARE = ["cpu"]
    action = {
        "action": "rejudge_selected",
        "_selected_action": list(Submission.objects.values_list("pk", flat=True)),
    }
    page = as_stella.post(LIST, action).content.decode()
    assert "nothing to rejudge" in page
    assert "2 are left out" in page


def test_staff_needs_the_permission(alice: User, various: list[Submission]) -> None:
    clerk = User.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.add(Permission.objects.get(codename="view_submission"))
    client = logged_in(clerk)
    assert client.get(FORM).status_code == 403
    assert "rejudge_selected" not in client.get(LIST).content.decode()
    client.post(LIST, {"action": "rejudge_selected", "_selected_action": [various[0].pk]})
    assert wanted() == set()
    clerk.user_permissions.add(Permission.objects.get(codename="add_rejudge"))
    assert logged_in(clerk).get(FORM, {"problem": "rms_norm"}).status_code == 200
    assert "rejudge_selected" in logged_in(clerk).get(LIST).content.decode()
