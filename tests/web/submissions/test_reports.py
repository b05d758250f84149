"""Reading reports: the types of wire.verdict, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.web.samples import make_submission, report_for, timing, wrong_gradient_for
from web.submissions.models import Submission
from web.submissions.reports import BadReport, parse_report, read_report


@pytest.fixture
def submission() -> Submission:
    return Submission(
        problem="rms_norm", problem_version=1, language="pytorch", hardware="cpu", mode="submit"
    )


def as_sent(report: Any) -> dict[str, Any]:
    """What arrives: through JSON, as the queue does."""
    data: dict[str, Any] = json.loads(json.dumps(report.to_json()))
    return data


@pytest.mark.parametrize("make", [report_for, wrong_gradient_for])
def test_a_report_comes_back_as_it_was_sent(submission: Submission, make: Any) -> None:
    report = make(submission)
    assert read_report(as_sent(report), submission) == report


def test_whole_numbers_stand_for_floats(submission: Submission) -> None:
    data = as_sent(report_for(submission)) | {"score": 1}
    score = read_report(data, submission).score
    assert (score, type(score)) == (1.0, float)


def test_optional_fields_may_be_absent(submission: Submission) -> None:
    data = as_sent(report_for(submission))
    del data["environment"], data["output"]
    assert read_report(data, submission).output == ""


def change(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """`data` with the value at a path such as "cases.0.name" replaced; "" in place of nothing."""
    *parents, last = path.split(".")
    node: Any = data
    for name in parents:
        node = node[int(name) if name.isdigit() else name]
    node[int(last) if last.isdigit() else last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("verdict", "splendid", "verdict"),
        ("verdict", ["accepted"], "verdict"),
        ("headline", 7, "headline"),
        ("headline", "x" * 501, "headline is longer"),
        ("score", "0.5", "score"),
        ("score", float("nan"), "not finite"),
        ("score", float("inf"), "not finite"),
        ("score", 10**400, "too large"),
        ("score", 0, "not positive"),
        ("score", -1.0, "not positive"),
        ("score", True, "score is a bool"),
        ("ranked", 1, "ranked"),
        ("schema", 2, "schema"),
        ("surprise", 1, "unknown field 'surprise'"),
        ("cases", {}, "cases is not a list"),
        ("cases", "cases", "cases is not a list"),
        ("cases", [None] * 10_001, "at most 10000"),
        ("cases.0", None, "cases[0] is not an object"),
        ("cases.0.dims", {"M": 1.5}, "cases[0].dims.M"),
        ("cases.0.dims", [1], "dims is not an object"),
        ("cases.0.seed", 2**64, "too large"),
        ("cases_total", 1.0, "cases_total is a float"),
        ("timings.0.median", 0.0, "median is not positive"),
        ("timings.0.median", -1.0, "median is not positive"),
        ("timings.0.median", None, "median is a NoneType"),
        ("timings.0.quartiles", [1.0], "does not have 2 items"),
        ("output", "x" * 200_001, "longer than"),
        ("environment", {"torch": 2}, "environment.torch"),
        ("problem", "swiglu", "the submission's is 'rms_norm'"),
        ("problem_version", 2, "problem_version is 2"),
        ("hardware", "h200", "hardware"),
        ("language", "triton", "language"),
        ("mode", "run", "mode"),
    ],
)
def test_anything_else_is_refused_with_its_place(
    submission: Submission, path: str, value: Any, told: str
) -> None:
    data = change(as_sent(report_for(submission)), path, value)
    with pytest.raises(BadReport) as error:
        read_report(data, submission)
    assert told in str(error.value)


@pytest.mark.parametrize("data", [None, [], "report", 7])
def test_what_is_no_object_is_refused(submission: Submission, data: Any) -> None:
    with pytest.raises(BadReport):
        read_report(data, submission)


@pytest.mark.parametrize("name", ["verdict", "headline", "problem"])
def test_a_field_without_default_must_be_there(submission: Submission, name: str) -> None:
    data = as_sent(report_for(submission))
    del data[name]
    with pytest.raises(BadReport, match=name):
        read_report(data, submission)


@pytest.mark.parametrize(
    "sizes",
    [
        {"rows": 0},
        {"columns": 0},
        {"columns": 5},
        {"rows": -1, "columns": -4},
        {"extent": [0, 4]},
        {"wrong_share": []},
    ],
)
def test_a_heat_map_that_does_not_fit_its_cells_is_refused(
    submission: Submission, sizes: dict[str, Any]
) -> None:
    data = as_sent(wrong_gradient_for(submission))
    data["cases"][0]["gradients"][0]["heat_map"] |= sizes
    with pytest.raises(BadReport, match="heat map"):
        read_report(data, submission)


def test_text_that_no_database_takes_is_made_storable(submission: Submission) -> None:
    data = as_sent(report_for(submission)) | {"output": "a\0b\ud800c"}
    assert read_report(data, submission).output == "a\N{REPLACEMENT CHARACTER}b?c"


def test_a_deeply_nested_report_is_refused(submission: Submission) -> None:
    nested: Any = {}
    for _ in range(500):
        nested = {"M": nested}
    data = change(as_sent(report_for(submission)), "cases.0.dims", nested)
    with pytest.raises(BadReport):
        read_report(data, submission)


@pytest.mark.django_db
def test_what_is_stored_can_be_read_again() -> None:
    submission = make_submission(visitor="v")
    report = replace(report_for(submission), timings=(timing(), timing("other")))
    submission.report = report.to_json()
    submission.save()
    submission.refresh_from_db()
    assert parse_report(submission.report) == report
