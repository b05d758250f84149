"""Sites on machines that forbid the stronger kinds of isolation, or all of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sandbox import landlock_kernel
from tests.serve.site import ROOT, Site, wait_for
from tests.serve.visitor import Visitor

RIGHT = (ROOT / "kernels" / "relu_squared" / "pytorch.py").read_text(encoding="utf-8")
FORBID = (sys.executable, "-m", "tests.sandbox.forbid")
# Root of a namespace with one user: like an ordinary user its jobs can be nobody else.
ORDINARY = ("unshare", "-Ur")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def report(site: Site, submission: str) -> dict[str, str]:
    """The environment in which a submission was judged, once it was and if it was accepted."""

    def judged() -> list[tuple[str, str]]:
        query = "SELECT verdict, report FROM submissions_submission WHERE id = ? AND state = 'done'"
        return site.rows(query, [submission.replace("-", "")])

    verdict, found = wait_for(judged, "a verdict", 180)[0]
    assert verdict == "accepted"
    environment: dict[str, str] = json.loads(found)["environment"]
    return environment


def judged_in(site: Site) -> str:
    submission = Visitor(site.address()).run("relu-squared", "pytorch", RIGHT)
    return report(site, submission)["isolation"]


@pytest.mark.sandbox
def test_where_namespaces_are_forbidden_landlock_isolates_and_one_line_says_what_that_is_worth(
    data,
):
    missing = landlock_kernel.why_not()
    if missing:
        pytest.skip(missing)
    with Site(data, below=(*ORDINARY, *FORBID, "namespaces")) as site:
        assert judged_in(site) == "landlock"
        (line,) = [line for line in site.output if line.startswith("Isolation: ")]
        assert "landlock" in line
        assert "It does not promise to hide that a file or a process exists" in line


def test_without_any_isolation_the_site_can_be_read_and_nothing_is_judged(data):
    with Site(data, below=(*FORBID, "namespaces,landlock")) as site:
        visitor = Visitor(site.address())
        said = site.wait_until_it_says("No submission will be run")
        assert "Landlock" in said
        assert "UNSAFE_NO_SANDBOX=1" in said
        submission = visitor.run("relu-squared", "pytorch", RIGHT)
        assert site.find("worker", "judge.cpu") is None
        query = "SELECT state, source FROM submissions_submission WHERE id = ?"
        assert site.rows(query, [submission.replace("-", "")]) == [("queued", RIGHT)]


@pytest.mark.sandbox
def test_with_the_unsafe_flag_submissions_are_judged_without_isolation(data):
    with Site(data, "--unsafe-no-sandbox", below=(*FORBID, "namespaces,landlock")) as site:
        assert judged_in(site) == "none"
        assert "WITHOUT isolation" in site.said
