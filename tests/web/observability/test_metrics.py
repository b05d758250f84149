"""`/metrics`: who may read it, and what it says after things happened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from tests.web.samples import active_attempt, event, make_submission, report_for, verdict_event
from web.accounts.models import User
from web.observability import tally
from web.observability.collector import COUNTERS, HISTOGRAMS
from web.observability.models import Tally
from web.submissions.events import record_event
from web.submissions.lifecycle import give_up_attempt
from web.submissions.models import Attempt, Submission
from web.submissions.rejudge import request_rejudge
from wire.verdict import Verdict

TOKEN = "a-token-of-some-length"
Commits = Callable[[], Any]


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


def read(client: Client) -> dict[tuple[str, ...], float]:
    """Every sample by its name and its labels' values, sorted by the labels' names."""
    response = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    samples = {}
    for family in text_string_to_metric_families(response.content.decode()):
        assert family.documentation
        for sample in family.samples:
            labels = (value for _, value in sorted(sample.labels.items()))
            samples[(sample.name, *labels)] = sample.value
    return samples


@pytest.mark.django_db
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN])
def test_without_the_token_nothing_is_told(client: Client, header: str) -> None:
    response = client.get("/metrics", headers={"Authorization": header} if header else {})
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert b"backpass_" not in response.content


@pytest.mark.django_db
def test_where_no_token_is_set_there_are_no_metrics(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    for header in ("", "Bearer ", "Bearer"):
        assert client.get("/metrics", headers={"Authorization": header}).status_code == 404


def test_queues_are_told_by_hardware(client: Client, alice: User) -> None:
    old, _, running = (make_submission(alice) for _ in range(3))
    record_event(event(active_attempt(running), "started", 0))
    an_hour = timezone.now() - timedelta(hours=1)
    Submission.objects.filter(pk=old.pk).update(created_at=an_hour)
    samples = read(client)
    assert samples["backpass_submissions_unfinished", "cpu", "queued"] == 2
    assert samples["backpass_submissions_unfinished", "cpu", "running"] == 1
    assert samples["backpass_submissions_unfinished", "interpreter", "queued"] == 0
    assert samples["backpass_queue_oldest_seconds", "cpu"] >= 3600
    assert samples["backpass_queue_oldest_seconds", "interpreter"] == 0


def test_a_judged_submission_leaves_its_wait_its_phases_and_its_verdict(
    client: Client, alice: User, commits: Commits
) -> None:
    submission = make_submission(alice)
    attempt = active_attempt(submission)
    Submission.objects.filter(pk=submission.pk).update(
        created_at=timezone.now() - timedelta(seconds=42)
    )
    with commits():
        record_event(event(attempt, "started", 0))
        for number, phase in enumerate(("compiling", "cases", "cases", "timing"), start=1):
            data = {"phase": phase, "done": 1, "total": 2}
            record_event(event(attempt, "progress", number, data))
            # As if it had begun three seconds ago.
            Attempt.objects.update(phase_since=timezone.now() - timedelta(seconds=3))
        record_event(verdict_event(submission))
        record_event(verdict_event_again(attempt, submission))
    samples = read(client)
    wait = "backpass_wait_seconds"
    assert samples[f"{wait}_count", "cpu"] == 1
    assert samples[f"{wait}_bucket", "cpu", "30.0"] == 0
    assert samples[f"{wait}_bucket", "cpu", "60.0"] == 1
    assert 42 <= samples[f"{wait}_sum", "cpu"] < 60
    judge = "backpass_judge_seconds"
    for phase in ("starting", "compiling", "cases", "timing"):
        assert samples[f"{judge}_count", "cpu", phase] == 1
    for phase in ("compiling", "cases", "timing"):
        assert samples[f"{judge}_sum", "cpu", phase] >= 3
    # Labels by name: hardware, mode, rejudge, verdict.
    assert samples["backpass_verdicts_total", "cpu", "submit", "no", "accepted"] == 1


def verdict_event_again(attempt: Attempt, submission: Submission) -> Any:
    return event(attempt, "verdict", 99, report_for(submission).to_json())


def test_failures_lost_attempts_and_rejudges_are_told(
    client: Client, alice: User, commits: Commits
) -> None:
    first, second = make_submission(alice), make_submission(alice, language="triton")
    broken = report_for(first, verdict=Verdict.JUDGE_FAILURE, failure="sandbox", score=None)
    with commits():
        record_event(verdict_event(first, broken))
        attempt = active_attempt(second)
        attempt.submission = second
        give_up_attempt(second, attempt, "its runner was silent")
        request_rejudge(Submission.objects.all(), by=None)
    samples = read(client)
    assert samples["backpass_judge_failures_total", "cpu", "sandbox"] == 1
    assert samples["backpass_attempts_lost_total", "interpreter"] == 1
    assert samples["backpass_rejudges_open", "cpu", "waiting"] == 1
    assert ("backpass_wait_seconds_count", "cpu") not in samples


def test_what_is_rolled_back_is_not_counted(alice: User, commits: Commits) -> None:
    from django.db import transaction

    with commits():
        try:
            with transaction.atomic():
                record_event(verdict_event(make_submission(alice)))
                raise RuntimeError
        except RuntimeError:
            pass
    assert not Tally.objects.exists()


@pytest.mark.django_db
def test_whatever_is_counted_is_declared_and_read(client: Client, commits: Commits) -> None:
    with commits():
        for name, (_, labels) in COUNTERS.items():
            tally.count(name, dict.fromkeys(labels, "x"))
        for name, (_, labels) in HISTOGRAMS.items():
            tally.observe(name, dict.fromkeys(labels, "x"), 1e9)
    samples = read(client)
    for name, (_, labels) in COUNTERS.items():
        assert samples[(f"backpass_{name}_total", *["x"] * len(labels))] == 1
    for name, (_, labels) in HISTOGRAMS.items():
        named = sorted([(label, "x") for label in labels] + [("le", "+Inf")])
        assert samples[(f"backpass_{name}_bucket", *(value for _, value in named))] == 1
        assert samples[(f"backpass_{name}_count", *["x"] * len(labels))] == 1


@pytest.mark.parametrize("count", [1, 60])
def test_reading_costs_the_same_queries_for_few_and_many(
    client: Client, alice: User, django_assert_num_queries: Any, commits: Commits, count: int
) -> None:
    with commits():
        for _ in range(count):
            record_event(verdict_event(make_submission(alice)))
    with django_assert_num_queries(3):
        assert len(read(client)) > 5


@pytest.mark.django_db
def test_requests_are_told_by_route_and_never_by_address(client: Client) -> None:
    client.get("/problems/rms-norm/leaderboard/?page=77777")
    client.get("/no-such-address-77777/")
    client.generic("BREW77777", "/")
    samples = read(client)
    assert samples[
        "backpass_http_request_seconds_count", "GET", "problems/<slug:slug>/leaderboard/", "200"
    ]
    assert samples["backpass_http_request_seconds_count", "GET", "none", "404"]
    assert samples["backpass_http_request_seconds_count", "other", "", "405"]
    assert "77777" not in str(samples)
