"""One submission, followed by its id through the logs of every process of a running site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.serve.site import Site, wait_for
from tests.serve.visitor import Visitor

MARKER = "a_name_that_only_this_source_has"
SOURCE = f"""
def backward(grad_output, x):
    {MARKER} = x.relu()
    return 2 * {MARKER} * grad_output
"""


def lines(log: Path) -> list[dict[str, Any]]:
    """The lines of one process; gunicorn's own, about its processes, are plain text."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def test_a_submission_is_followed_from_the_request_to_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BACKPASS_LOG_FORMAT", "json")
    with Site(tmp_path / "data") as site:
        visitor = Visitor(site.address())
        pk = visitor.run("relu-squared", "pytorch", SOURCE)
        query = "SELECT a.id FROM submissions_attempt a JOIN submissions_submission s "
        query += "ON s.id = a.submission_id WHERE s.state = 'done'"
        (row,) = wait_for(lambda: site.rows(query), f"a verdict{site.logs()}")
        attempt = str(row[0])
        attempt = "-".join(attempt[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

        def told() -> dict[str, list[str]]:
            logs = {
                name: site.data / "logs" / f"{name}.log" for name in ("web", "judge", "results")
            }
            return {
                name: [
                    line["event"]
                    for line in lines(log)
                    if (line.get("submission"), line.get("attempt", attempt)) == (pk, attempt)
                ]
                for name, log in logs.items()
            }

        wait_for(lambda: any("verdict" in e for e in told()["results"]), "the verdict's line")
        in_all = told()
    for process, words in (
        ("web", ("taken: ", "sent to judge.cpu", "request")),
        ("judge", ("judging begins: ", "judged: accepted")),
        ("results", ("a runner began: ", "verdict: accepted")),
    ):
        for word in words:
            assert any(event.startswith(word) for event in in_all[process]), (word, in_all)
    written = "".join(log.read_text() for log in (site.data / "logs").glob("*.log"))
    secrets = [cookie.value or "" for cookie in visitor.cookies]
    assert len(secrets) == 2
    secrets.append((site.data / "secret_key").read_text())
    for secret in (MARKER, *secrets):
        assert secret
        assert secret not in written
