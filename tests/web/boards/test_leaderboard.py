"""The leaderboard page: ranks, ties, the own row, pages, a constant number of queries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.web.samples import make_submission
from web.accounts.models import User
from web.boards.drawing import Row
from web.boards.models import Standing
from wire.inspection import MODEL

URL = reverse("leaderboard", args=["rms-norm"])
ASKED = itertools.count()
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def stand(user: User, score: float | None = None, *, minutes: int = 0, **changes: Any) -> Standing:
    language = "triton" if score is None or "model_version" in changes else "pytorch"
    submission = make_submission(user, language=language)
    values: dict[str, Any] = {
        "problem": "rms_norm",
        "hardware": submission.hardware,
        "problem_version": 1,
        "language": language,
        "score": score,
        "speedup": None if score is None else 2.0,
        "timings": [{"name": "llama-3-8b", "median": 0.00123, "speedup": 2.0, "efficiency": 0.5}],
        "achieved_at": NOON + timedelta(minutes=minutes),
    }
    return Standing.objects.create(user=user, submission=submission, **(values | changes))


def users(count: int) -> list[User]:
    return User.objects.bulk_create([User(username=f"user{n}") for n in range(count)])


def rows(client: Client, **query: Any) -> Sequence[Row]:
    # Another address each time: of a page that was drawn before there is no context to look into.
    response = client.get(URL, query | {"asked": next(ASKED)})
    assert response.status_code == 200
    shown: Sequence[Row] = response.context["rows"]
    return shown


def ranks(client: Client, **query: Any) -> list[tuple[str, int]]:
    return [(row.standing.user.username, row.rank) for row in rows(client, **query)]


def test_the_higher_score_stands_higher_and_ties_share_a_rank(visitor: Client, db: None) -> None:
    for user, score in zip(users(4), (0.2, 0.9, 0.5, 0.9), strict=True):
        stand(user, score, minutes=-user.pk)
    assert [rank for _, rank in ranks(visitor)] == [1, 1, 3, 4]
    assert [name for name, _ in ranks(visitor)] == ["user3", "user1", "user2", "user0"]


def modelled(user: User, score: float, **changes: Any) -> Standing:
    timings = [
        {"name": "llama-3-8b", "modelled": 0.00123, "roofline": 0.00045, "efficiency": score}
    ]
    values = {"score": score, "speedup": None, "model_version": MODEL, "timings": timings}
    return stand(user, **(values | changes))


def test_modelled_scores_rank_and_what_has_none_follows(visitor: Client, db: None) -> None:
    a, b, c, d, e = users(5)
    stand(a, minutes=20)
    modelled(b, 0.4)
    modelled(c, 0.9, model_version=MODEL - 1, minutes=10)
    modelled(d, 0.6)
    modelled(e, 0.6)
    assert ranks(visitor, hardware="interpreter") == [
        ("user3", 1),
        ("user4", 1),
        ("user1", 3),
        ("user2", 4),
        ("user0", 5),
    ]
    page = visitor.get(URL, {"hardware": "interpreter"}).content.decode()
    for told in (
        "not measured",
        "H100",
        "60.0 %",
        "1.23 ms",
        "450 µs",
        "logic checked",
        "older model",
    ):
        assert told in page
    assert "90.0 %" not in page


def test_the_own_modelled_rank_is_that_of_the_board(as_alice: Client, alice: User) -> None:
    for number, user in enumerate(users(60)):
        modelled(user, 0.5 + number / 1000)
    stand(alice, minutes=5)
    response = as_alice.get(URL, {"hardware": "interpreter"})
    assert response.context["own"].rank == 61
    modelled_own = Standing.objects.get(user=alice)
    modelled_own.score, modelled_own.model_version = 0.5585, MODEL
    modelled_own.save()
    assert as_alice.get(URL, {"hardware": "interpreter"}).context["own"].rank == 2


def test_in_the_interpreter_the_first_to_solve_stands_first(visitor: Client, db: None) -> None:
    for user, minutes in zip(users(3), (30, 10, 20), strict=True):
        stand(user, minutes=minutes)
    assert ranks(visitor, hardware="interpreter") == [("user1", 1), ("user2", 2), ("user0", 3)]
    page = visitor.get(URL, {"hardware": "interpreter"}).content.decode()
    assert "logic checked" in page


def test_the_boards_are_separate(visitor: Client, db: None) -> None:
    a, b = users(2)
    stand(a, 0.5)
    stand(b)
    stand(b, 0.9, problem="swiglu")
    assert ranks(visitor) == [("user0", 1)]
    assert ranks(visitor, hardware="cpu") == [("user0", 1)]
    assert ranks(visitor, hardware="interpreter") == [("user1", 1)]


def test_standings_of_an_older_version_are_not_compared(visitor: Client, db: None) -> None:
    a, b = users(2)
    stand(a, 0.9, problem_version=0)
    stand(b, 0.1)
    assert ranks(visitor) == [("user1", 1)]


def test_a_row_has_user_language_score_time_speed_up_and_date(visitor: Client, alice: User) -> None:
    stand(alice, 0.5)
    page = visitor.get(URL).content.decode()
    for told in ("alice", "1.23 ms", "2.00×", "2026"):
        assert told in page
    (row,) = rows(visitor)
    assert row.cells[0] is not None
    assert row.cells[1:] == (None,) * (len(row.cells) - 1)


def test_the_own_row_is_marked(as_alice: Client, alice: User, bob: User) -> None:
    stand(alice, 0.5)
    stand(bob, 0.6)
    assert ['class="own"' in row.html for row in rows(as_alice)] == [False, True]
    response = as_alice.get(URL)
    assert response.context["own"].rank == 2
    assert response.context["own_on_page"]


def test_no_row_is_marked_for_a_visitor(visitor: Client, bob: User) -> None:
    stand(bob, 0.6)
    response = visitor.get(URL)
    assert response.context["own"] is None
    assert 'class="own"' not in response.content.decode()


def test_the_own_rank_is_shown_from_another_page(as_alice: Client, alice: User) -> None:
    for number, user in enumerate(users(60)):
        stand(user, 0.5 + number / 1000)
    stand(alice, 0.5005)
    response = as_alice.get(URL)
    assert len(response.context["rows"]) == 50
    assert not response.context["own_on_page"]
    assert response.context["own"].rank == 60
    assert "alice" in response.content.decode().split("<main")[1]
    (own,) = [row for row in rows(as_alice, page=2) if 'class="own"' in row.html]
    assert own.rank == 60


def test_ranks_go_on_over_the_pages(visitor: Client, db: None) -> None:
    for number, user in enumerate(users(55)):
        stand(user, 0.1 + number / 1000)
    assert [rank for _, rank in ranks(visitor, page=2)] == [51, 52, 53, 54, 55]


@pytest.mark.parametrize("hardware", ["cpu", "interpreter"])
@pytest.mark.parametrize("count", [60, 300])
def test_the_number_of_queries_is_the_same_for_few_and_many(
    as_alice: Client,
    visitor: Client,
    alice: User,
    django_assert_num_queries: Any,
    count: int,
    hardware: str,
) -> None:
    put = modelled if hardware == "interpreter" else stand
    for number, user in enumerate(users(count)):
        put(user, 0.5 + number / 1000)
    put(alice, 0.4)
    query = {"hardware": hardware}
    # version, number of rows, the page of rows, the first one's rank
    with django_assert_num_queries(4):
        visitor.get(URL, query)
    with django_assert_num_queries(1):
        visitor.get(URL, query)
    # session, user, version, own standings, own rank
    with django_assert_num_queries(5):
        as_alice.get(URL, query)
    # ... and the page of rows, the first one's rank; the own row is found among them
    with django_assert_num_queries(5):
        as_alice.get(URL, query | {"page": 1 + count // 50})


def test_an_empty_board_says_so(visitor: Client, db: None) -> None:
    assert visitor.get(URL).status_code == 200
    assert rows(visitor) == []


def test_hardware_the_site_does_not_have_is_not_found(visitor: Client, db: None) -> None:
    assert visitor.get(URL, {"hardware": "h200"}).status_code == 404


def test_a_user_name_is_shown_as_text(visitor: Client, db: None) -> None:
    stand(User.objects.create(username="<script>alert(1)</script>"), 0.5)
    assert "<script>alert" not in visitor.get(URL).content.decode()
