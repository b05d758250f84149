"""The catalogue's figures are counted once in a while, not for every reader."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.web.samples import make_submission, report_for, verdict_event
from web.accounts.models import User
from web.catalogue import queries
from web.catalogue.queries import Figures, figures
from web.submissions.events import record_event


def solve(user: User) -> None:
    submission = make_submission(user)
    record_event(verdict_event(submission, report_for(submission)))


@pytest.fixture
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "KEPT_SECONDS", 3600.0)
    monkeypatch.setattr(queries._Kept, "at", float("-inf"))


@pytest.mark.usefixtures("_kept")
def test_what_was_counted_is_kept(
    alice: User, bob: User, django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
):
    solve(alice)
    with django_assert_num_queries(2):
        first = figures()
    solve(bob)
    with django_assert_num_queries(0):
        assert figures() == first == {"rms_norm": Figures(1.0, 1)}
    monkeypatch.setattr(queries, "KEPT_SECONDS", 0.0)
    assert figures() == {"rms_norm": Figures(1.0, 2)}


@pytest.mark.usefixtures("_kept")
def test_while_one_counts_the_others_get_what_there_was(monkeypatch: pytest.MonkeyPatch):
    old, new = {"softmax": Figures(0.5, 1)}, {"softmax": Figures(0.75, 2)}
    monkeypatch.setattr(queries, "count_figures", lambda: old)
    assert figures() == old

    counting, go_on = threading.Event(), threading.Event()

    def slow_count() -> dict[str, Figures]:
        counting.set()
        assert go_on.wait(60)
        return new

    monkeypatch.setattr(queries, "count_figures", slow_count)
    monkeypatch.setattr(queries, "KEPT_SECONDS", 0.0)
    counter = threading.Thread(target=figures)
    counter.start()
    assert counting.wait(60)
    assert figures() == old
    go_on.set()
    counter.join(60)
    monkeypatch.setattr(queries, "KEPT_SECONDS", 3600.0)
    assert figures() == new
