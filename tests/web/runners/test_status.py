"""The status page: runners, lines, waits; for everybody, live, in a fixed number of queries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.web.runners.announcing import announce, listen
from tests.web.samples import active_attempt, event, make_submission, verdict_event
from web.accounts.models import User
from web.runners.status import site_state
from web.submissions.events import record_event
from web.submissions.models import Attempt, Submission
from wire.pace import LEASE_SECONDS

URL = reverse("status")
HTMX = {"hx-request": "true"}


def page(client: Client) -> str:
    return client.get(URL).content.decode()


def test_it_shows_what_a_runner_says_and_what_its_isolation_does_not_promise(
    visitor: Client,
) -> None:
    announce(gpu="NVIDIA H200", driver="570.86")
    shown = page(visitor)
    for words in (
        "judge@one",
        "CPU, Triton interpreter",
        "A Processor at 2 GHz",
        "NVIDIA H200, driver 570.86",
        "torch 2.13.0",
        "Backpass 0.1.0",
        "namespaces: does not promise to withstand a flaw in the kernel",
        "idle",
        "just now",
    ):
        assert words in shown
    assert shown.count("1 up") == 2


def test_text_from_a_runner_is_text(visitor: Client) -> None:
    announce("<script>alert(1)</script>", machine="<b>", isolation="<i>")
    shown = page(visitor)
    assert "<script>alert" not in shown
    assert "&lt;b&gt;" in shown
    assert "&lt;i&gt;: is not known here" in shown


def test_a_runner_with_a_job_is_busy_until_the_verdict(visitor: Client, alice: User) -> None:
    announce()
    submission = make_submission(alice)
    record_event(event(active_attempt(submission), "started", 0, {"runner": "judge@one:4711"}))
    assert "busy" in page(visitor)
    record_event(verdict_event(submission))
    assert "busy" not in page(visitor)


def test_away_and_stopped_runners_are_told_from_those_that_are_up(visitor: Client) -> None:
    listen(since=1000)
    announce("gone", ago=LEASE_SECONDS + 5)
    announce("stopped")
    announce("stopped", leaving=True)
    announce("long gone", ago=2 * 24 * 3600)
    shown = page(visitor)
    assert ">away<" in shown
    assert ">stopped<" in shown
    assert "long gone" not in shown
    assert shown.count("None is up; what is sent waits") == 2


def test_before_anything_is_known_no_alarm_is_raised(visitor: Client) -> None:
    shown = page(visitor)
    assert "None is up" not in shown
    assert shown.count("Not yet known") == 2
    assert "No runner has announced itself" in shown


def test_lines_waits_and_the_last_verdict_are_those_of_the_hardware(alice: User) -> None:
    now = timezone.now()
    for waited in (2, 4, 90):
        submission = make_submission(alice)
        record_event(event(active_attempt(submission), "started", 0))
        record_event(verdict_event(submission))
        Submission.objects.filter(pk=submission.pk).update(
            created_at=now - timedelta(seconds=100), finished_at=now - timedelta(seconds=waited)
        )
        started = now - timedelta(seconds=100 - waited)
        Attempt.objects.filter(submission=submission).update(started_at=started)
    make_submission(alice)
    make_submission(alice)
    record_event(event(active_attempt(make_submission(alice)), "started", 0))
    cpu, interpreter = site_state().hardware
    assert (cpu.waiting, cpu.judging) == (2, 1)
    assert cpu.last_verdict == now - timedelta(seconds=2)
    assert cpu.wait
    # Of 2, 4 and 90 seconds and of the one that began at once the median is 3.
    assert 2.5 < cpu.wait.total_seconds() < 3.5
    assert (interpreter.waiting, interpreter.wait, interpreter.last_verdict) == (0, None, None)


def test_waits_of_more_than_an_hour_ago_do_not_count(alice: User) -> None:
    submission = make_submission(alice)
    record_event(event(active_attempt(submission), "started", 0))
    Attempt.objects.update(started_at=timezone.now() - timedelta(minutes=61))
    assert site_state().hardware[0].wait is None


def test_to_htmx_only_the_part_that_changes_and_nothing_while_nothing_does(
    visitor: Client,
) -> None:
    announce()
    part = visitor.get(URL, headers=HTMX)
    shown = part.content.decode()
    assert "<html" not in shown
    seen = part.context["site"].fingerprint
    assert f"?seen={seen}" in shown
    announce()  # a beat
    assert visitor.get(URL, {"seen": seen}, headers=HTMX).status_code == 204
    announce(versions={"torch": "3"})
    assert visitor.get(URL, {"seen": seen}, headers=HTMX).status_code == 200


def test_it_is_never_cached_and_linked_from_every_page(visitor: Client) -> None:
    assert "no-store" in visitor.get(URL)["Cache-Control"]
    assert f'href="{URL}"' in visitor.get("/").content.decode()


def test_it_costs_the_same_queries_however_much_there_is(
    visitor: Client, alice: User, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(6):
        page(visitor)
    for number in range(10):
        announce(f"r{number}")
        make_submission(alice)
        record_event(event(active_attempt(make_submission(alice)), "started", 0))
    with django_assert_num_queries(6):
        page(visitor)
