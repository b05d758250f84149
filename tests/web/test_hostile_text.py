"""Whatever a submission managed to put into its report, every page shows it as text."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from django.test import Client

from tests.web.addresses import TABLE
from tests.web.samples import active_attempt, event, make_submission, report_for
from web.accounts.models import User
from web.submissions.events import record_event
from web.submissions.models import EarlierVerdict, Submission
from web.submissions.queries import report_of
from wire.verdict import Report, Verdict

HTML = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>"
    "'\"><b id=\"x\" onclick='y'>{{ 7|add:99000 }}{% now %}"
)
OBEYED = "\x1b[31m\x07\x9b2J\u202e\u2066"
HOSTILE = HTML + OBEYED
# The judge's own words about what was judged: read_report compares them with the submission.
FIXED = {"problem", "hardware", "language", "mode", "verdict", "headline"}


def hostile(hint: Any) -> Any:
    """A value of the type in which all text is hostile."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return hostile(next(a for a in arguments if a is not type(None)))
    if origin is tuple:
        return [hostile(a) for a in arguments if a is not Ellipsis]
    if origin is dict:
        return {HOSTILE: hostile(arguments[1])}
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return {field.name: hostile(hints[field.name]) for field in fields(hint)}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return next(iter(hint)).value
    return {str: HOSTILE, int: 1, float: 0.5, bool: False}[hint]


def texts(value: Any) -> list[str]:
    """All text in it, however deep."""
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in (*texts(k), *texts(v))]
    if isinstance(value, list):
        return [t for v in value for t in texts(v)]
    return [value] if isinstance(value, str) else []


def hostile_report(submission: Submission, verdict: Verdict) -> dict[str, Any]:
    report: dict[str, Any] = hostile(Report)
    report |= {name: getattr(submission, name) for name in FIXED - {"verdict", "headline"}}
    report |= {"verdict": verdict.value, "headline": HOSTILE, "schema": 1}
    report |= {"problem_version": submission.problem_version}
    return report


@pytest.fixture(params=[Verdict.WRONG_GRADIENT, Verdict.ACCEPTED, Verdict.RUNTIME_ERROR])
def submission(request: pytest.FixtureRequest, alice: User) -> Submission:
    submission = make_submission(alice)
    Submission.objects.filter(pk=submission.pk).update(source=f"{HTML}\n{HTML}")
    attempt = active_attempt(submission)
    record_event(event(attempt, "started", 0, {"runner": HOSTILE}))
    report = hostile_report(submission, request.param)
    assert len(texts(report)) > 30
    assert record_event(event(attempt, "verdict", 1, report))
    submission.refresh_from_db()
    assert submission.verdict == request.param
    EarlierVerdict.objects.create(
        submission=submission,
        verdict="accepted",
        headline=HTML,
        problem_version=1,
        judged_at=submission.created_at,
    )
    return submission


def test_no_page_takes_it_for_html(
    as_alice: Client, as_stella: Client, submission: Submission
) -> None:
    shown = 0
    for row in TABLE:
        for pattern in row.addresses:
            address = pattern.replace("{user}", str(submission.pk))
            address = address.replace("{submissions.submission}", str(submission.pk))
            if "{" in address:
                continue
            for client in (as_alice, as_stella):
                page = client.get(address).content.decode()
                shown += "alert(1)" in page
                for taken in ("<script>alert", "<img src=x", "<b id=", "onclick='y'>", ">99007"):
                    assert taken not in page, address
    # Its page, its status, the editor, for its owner and for staff; the admin's page of it.
    assert shown >= 6


def test_nothing_that_a_terminal_or_a_page_obeys_is_stored(submission: Submission) -> None:
    stored = texts(submission.report)
    assert any("alert(1)" in text for text in stored)
    assert not any(
        sign in text
        for text in stored
        for sign in OBEYED
        if not sign.isprintable() or sign > "\u2000"
    )
    assert "\x1b" not in submission.headline
    assert report_of(submission) is not None


def test_a_report_without_attack_is_not_touched(alice: User) -> None:
    submission = make_submission(alice)
    told = "Zeile 1\n\tZeile 2: ∂L/∂x ≠ 0, π ≈ 3.14 – naïve 日本語 👍\r\n"
    report = report_for(submission, output=told)
    record_event(event(active_attempt(submission), "verdict", 1, report.to_json()))
    submission.refresh_from_db()
    assert submission.report is not None
    assert submission.report["output"] == told
