"""The second order of a pair's board: by what is saved between forward and backward."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.web.samples import make_submission, report_for, timing, verdict_event
from web.accounts.models import User
from web.boards.models import Standing
from web.boards.services import restore_standing
from web.submissions.events import record_event
from web.submissions.models import Submission
from wire.verdict import SavedTensor, Saving

URL = reverse("leaderboard", args=["rms-norm-pair"])


def judge(
    user: User, saved: int, score: float | None = 0.5, language: str = "pytorch"
) -> Submission:
    submission = make_submission(user, problem="rms_norm_pair", language=language)
    tensors = (SavedTensor("bfloat16", (saved // 2,), saved),)
    saving = Saving("llama-3-8b", "Llama-3-8B", {"M": 8, "N": 64}, tensors, saved, 1000)
    report = report_for(
        submission,
        score=score,
        timings=() if score is None else (timing("llama-3-8b"),),
        savings=(saving,),
        saved_bytes=saved,
    )
    assert record_event(verdict_event(submission, report))
    return submission


def standing(order: str) -> Standing:
    return Standing.objects.get(order=order)


def names(client: Client, **query: Any) -> list[tuple[str, int]]:
    response = client.get(URL, query)
    assert response.status_code == 200
    return [(row.standing.user.username, row.rank) for row in response.context["rows"]]


def test_a_user_stands_by_time_and_by_saved_bytes_with_the_best_of_each(alice: User) -> None:
    fast = judge(alice, saved=2000, score=0.9)
    small = judge(alice, saved=900, score=0.3)
    judge(alice, saved=1500, score=0.4)
    assert standing("score").submission == fast
    assert standing("saved").submission == small
    assert standing("saved").saved_bytes == 900
    assert standing("saved").saved_times == pytest.approx(0.9)


def test_of_those_that_save_the_same_the_better_score_stands(alice: User) -> None:
    judge(alice, saved=900, score=0.3)
    better = judge(alice, saved=900, score=0.4)
    judge(alice, saved=900, score=0.2)
    assert standing("saved").submission == better


def test_numbers_of_other_lengths_are_ordered_as_numbers_when_a_place_is_lost(alice: User) -> None:
    judge(alice, saved=10_000)
    small = judge(alice, saved=9_000, score=0.1)
    Standing.objects.all().delete()
    restore_standing(alice.pk, "rms_norm_pair", "cpu")
    assert standing("saved").submission == small
    assert standing("score").submission != small


def test_the_board_has_both_orders_and_shows_bytes_and_their_multiple(
    visitor: Client, alice: User, db: None
) -> None:
    bob = User.objects.create_user("bob")
    carol = User.objects.create_user("carol")
    judge(alice, saved=2000, score=0.9)
    judge(bob, saved=1000, score=0.5)
    judge(carol, saved=1000, score=0.6)
    assert names(visitor) == [("alice", 1), ("carol", 2), ("bob", 3)]
    assert names(visitor, order="saved") == [("carol", 1), ("bob", 2), ("alice", 3)]
    page = visitor.get(URL, {"order": "saved"}).content.decode()
    assert "1.00 kB" in page
    assert "2.00×" in page
    assert 'aria-sort="ascending"' in page


@pytest.mark.parametrize(("order", "first"), [("score", "Score"), ("saved", "Saved")])
def test_what_a_board_is_ordered_by_stands_beside_the_names(
    visitor: Client, alice: User, order: str, first: str
) -> None:
    judge(alice, saved=2000, score=0.9)
    page = visitor.get(URL, {"order": order}).content.decode()
    heads = [re.sub("<[^>]*>", "", h) for h in re.findall(r"<th scope=\"col\".*?</th>", page)]
    assert heads.index(first) == heads.index("User") + 1
    assert heads.count("Saved") == heads.count("Score") == 1
    cells = [re.sub("<[^>]*>", "", c) for c in re.findall(r"<t[hd][ >].*?</t[hd]>", page)]
    row = cells[len(heads) :]
    assert len(row) == len(heads)
    assert "2.00 kB" in row[heads.index("Saved")]
    assert "90" in row[heads.index("Score")]


def test_other_boards_have_one_order(visitor: Client, db: None) -> None:
    other = reverse("leaderboard", args=["rms-norm"])
    assert visitor.get(other, {"order": "saved"}).status_code == 404
    assert visitor.get(URL, {"order": "nonsense"}).status_code == 404
    assert "Saved" not in visitor.get(other).content.decode()


def test_the_submissions_page_lists_what_was_saved(as_alice: Client, alice: User) -> None:
    submission = judge(alice, saved=1000)
    page = as_alice.get(submission.get_absolute_url()).content.decode()
    assert "Saved for backward" in page
    assert "bfloat16 (500,)" in page
