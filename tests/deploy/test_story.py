"""A site in production, through a browser: it judges, and restarts and restores lose nothing."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import PATIENCE_MS, choose, follow, press, sign_up, write
from tests.deploy.installation import ONCE, RUNNING, Installation
from tests.serve.site import ROOT

FIRST = (ROOT / "kernels/rms_norm/triton.py").read_text(encoding="utf-8")
FIRST_BOARD = "/problems/rms-norm/leaderboard/?hardware=interpreter"
SECOND = (ROOT / "kernels/relu_squared/triton.py").read_text(encoding="utf-8")
SECOND_BOARD = "/problems/relu-squared/leaderboard/?hardware=interpreter"
PYTORCH = (ROOT / "kernels/relu_squared/pytorch.py").read_text(encoding="utf-8")


def test_nothing_is_lost_by_restarts_or_by_a_restore(
    installation: Installation, visitor: tuple[Page, list[str]], tmp_path: Path
):
    page, complaints = visitor
    name = sign_up(page)
    _send(page, "/problems/rms-norm/", "Triton", FIRST, "submit")
    follow(page)
    expect(page.locator("#console .verdict")).to_contain_text("Accepted")
    _stands_on(page, FIRST_BOARD, name)

    installation.compose("stop", "runner")
    _send(page, "/problems/relu-squared/", "Triton", SECOND, "submit")
    expect(page.locator("#console .status")).to_be_visible()
    assert complaints == []
    page.goto("about:blank")  # it would complain of a server that is away
    _restart_each(installation)

    page.goto("/submissions/")
    expect(page.get_by_role("link", name=name)).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(2)
    for row, source in ((0, SECOND), (1, FIRST)):
        page.goto("/submissions/")
        page.locator("tbody tr").nth(row).get_by_role("link").first.click()
        verdict = page.locator(".verdict").first
        expect(verdict).to_contain_text("Accepted", timeout=PATIENCE_MS)
        shown = page.locator("pre.source").inner_text()
        assert shown.split() == source.split()
    for board in (FIRST_BOARD, SECOND_BOARD):
        _stands_on(page, board, name)
    # The other hardware of the same runner; only timing would need a machine at rest.
    _send(page, "/problems/relu-squared/", "PyTorch", PYTORCH, "run")
    follow(page)
    expect(page.locator("#console .verdict")).to_contain_text("public cases only")

    _back_up_lose_and_restore(installation, tmp_path / "backup")
    for board in (FIRST_BOARD, SECOND_BOARD):
        _stands_on(page, board, name)


def _restart_each(installation: Installation) -> None:
    """The runner, too, which was stopped."""
    for service in RUNNING:
        installation.compose("restart", service)
    installation.compose("start", ONCE)
    installation.wait_until_healthy()


def _back_up_lose_and_restore(installation: Installation, backup: Path) -> None:
    installation.run("sh", "deploy/backup.sh", str(backup))
    assert backup.stat().st_mode & 0o077 == 0
    assert "DELETE 2" in installation.run(*_sql("DELETE FROM boards_standing"))
    installation.run("sh", "deploy/restore.sh", str(backup))
    installation.wait_until_healthy()


def _send(page: Page, problem: str, language: str, source: str, mode: str) -> None:
    page.goto(problem)
    choose(page, language)
    write(page, source)
    press(page, mode)


def _stands_on(page: Page, board: str, name: str) -> None:
    page.goto(board)
    own = page.locator("tr.own")
    expect(own).to_have_count(1)
    expect(own).to_contain_text(name)


def _sql(statement: str) -> tuple[str, ...]:
    command = "docker compose exec -T postgres psql --username=backpass backpass -v ON_ERROR_STOP=1"
    return (*command.split(), "-c", statement)
