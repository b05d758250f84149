"""A real site with its real judge: the runner announces itself, nobody stands behind another's pile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serve.site import ROOT, Site, wait_for
from tests.serve.visitor import Visitor

RIGHT = (ROOT / "kernels" / "relu_squared" / "pytorch.py").read_text(encoding="utf-8")
PILE = 5


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKPASS_MAX_UNFINISHED", "50")
        with Site(tmp_path_factory.mktemp("site") / "data") as site:
            site.address()
            yield site


def test_the_status_page_shows_the_runner_that_announced_itself(site: Site) -> None:
    visitor = Visitor(site.address())
    wait_for(lambda: "1 up" in visitor.read("/status/"), "a runner on the status page")
    page = visitor.read("/status/")
    ((name, versions),) = site.rows("SELECT name, versions FROM runners_runner")
    assert name.startswith("judge@")
    assert name in page
    assert "torch" in versions
    assert "does not promise" in page
    assert page.count("1 up") == 2
    assert "idle" in page or "busy" in page


def test_anothers_first_run_does_not_wait_behind_a_pile(site: Site) -> None:
    many, one = Visitor(site.address()), Visitor(site.address())
    for number in range(PILE):
        many.run("relu-squared", "pytorch", f"{RIGHT}# {number}\n")
    first = one.run("relu-squared", "pytorch", f"{RIGHT}# the other's\n").replace("-", "")

    def all_verdicts() -> list[str]:
        rows = site.rows(
            "SELECT id FROM submissions_submission WHERE verdict != '' ORDER BY finished_at"
        )
        return [row[0] for row in rows] if len(rows) == PILE + 1 else []

    order = wait_for(all_verdicts, "all verdicts", 300)
    posted_at = "SELECT created_at FROM submissions_submission WHERE id = ?"
    judged_before_it_came = site.rows(
        f"SELECT count(*) FROM submissions_submission WHERE finished_at < ({posted_at})", [first]
    )[0][0]
    # Before it: what was on its way already, which is two jobs for one runner.
    assert order.index(first) <= judged_before_it_came + 2
    accepted = site.rows("SELECT count(*) FROM submissions_submission WHERE verdict = 'accepted'")
    assert accepted == [(PILE + 1,)]
