"""What was drawn of a board is shown again only while nothing on the board has changed."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.web.conftest import logged_in
from tests.web.samples import make_submission, report_for, verdict_event, wrong_gradient_for
from web.accounts.models import User
from web.boards.models import BoardVersion, Standing
from web.submissions.events import record_event
from web.submissions.models import Submission
from web.submissions.rejudge import request_rejudge, start_waiting

URL = reverse("leaderboard", args=["rms-norm"])


def judge(user: User, score: float) -> Submission:
    submission = make_submission(user)
    assert record_event(verdict_event(submission, report_for(submission, score=score)))
    return submission


def shown(client: Client) -> list[str]:
    """The names on the first page, in their order."""
    page = client.get(URL).content.decode()
    cells = page.split('class="who">')[1:]
    return [cell.split("<")[0].strip() for cell in cells]


@pytest.fixture
def readers(alice: User, bob: User) -> list[Client]:
    """Nobody in particular, who gets whole pages drawn for others, and both who stand there."""
    return [Client(), logged_in(alice), logged_in(bob)]


def test_whoever_has_just_improved_stands_there_at_once_for_everybody(
    readers: list[Client], alice: User, bob: User
) -> None:
    judge(alice, 0.3)
    judge(bob, 0.5)
    for reader in readers * 2:
        assert shown(reader) == ["bob", "alice"]
    judge(alice, 0.7)
    for reader in readers * 2:
        assert shown(reader) == ["alice", "bob"]


def test_a_rejudge_a_deletion_and_another_name_are_seen_at_once(
    readers: list[Client], alice: User, bob: User
) -> None:
    first = judge(alice, 0.9)
    judge(bob, 0.5)
    assert [shown(reader) for reader in readers] == [["alice", "bob"]] * 3
    request_rejudge(Submission.objects.filter(pk=first.pk), by=None)
    start_waiting()
    record_event(verdict_event(first, wrong_gradient_for(first)))
    assert [shown(reader) for reader in readers] == [["bob"]] * 3
    bob.username = "robert"
    bob.save()
    assert [shown(reader) for reader in readers] == [["robert"]] * 3
    Standing.objects.get().delete()
    assert [shown(reader) for reader in readers] == [[]] * 3
    judge(bob, 0.5)
    assert shown(readers[0]) == ["robert"]
    bob.delete()
    assert [shown(reader) for reader in readers[:2]] == [[]] * 2


def test_the_row_of_the_reader_is_marked_for_the_reader_alone(
    readers: list[Client], alice: User, bob: User
) -> None:
    judge(alice, 0.9)
    judge(bob, 0.5)
    for _ in range(2):
        pages = [reader.get(URL).content.decode() for reader in readers]
        assert [page.count('class="own"') for page in pages] == [0, 1, 1]
        assert [page.count("Log out") for page in pages] == [0, 1, 1]


def test_a_page_that_has_not_changed_is_not_sent_again(visitor: Client, alice: User) -> None:
    judge(alice, 0.3)
    first = visitor.get(URL)
    assert first["Cache-Control"] == "no-cache"
    assert "Cookie" in first["Vary"]
    again: Any = visitor.get(URL, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    judge(alice, 0.4)
    changed: Any = visitor.get(URL, headers={"If-None-Match": first["ETag"]})
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


def test_a_page_with_somebodys_name_on_it_is_kept_nowhere(
    as_alice: Client, visitor: Client, alice: User
) -> None:
    judge(alice, 0.3)
    response = as_alice.get(URL)
    assert "ETag" not in response
    assert "Cookie" in response["Vary"]
    assert 'class="own"' not in visitor.get(URL).content.decode()


def test_a_login_changes_no_board(alice: User) -> None:
    judge(alice, 0.3)
    before = list(BoardVersion.objects.values())
    logged_in(alice)
    assert list(BoardVersion.objects.values()) == before


def test_boards_change_one_by_one(alice: User) -> None:
    judge(alice, 0.3)
    (cpu,) = BoardVersion.objects.values_list("version", flat=True)
    submission = make_submission(alice, language="triton")
    record_event(verdict_event(submission))
    versions = dict(BoardVersion.objects.values_list("hardware", "version"))
    assert versions["cpu"] == cpu
    assert versions["interpreter"] != cpu
