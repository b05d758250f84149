"""A site in production, through a browser: it judges, and restarts and restores lose nothing."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.steps import PATIENCE_MS, choose, follow, press, sign_up, write
from tests.deploy.installation import RUNNING, Installation
from tests.serve.site import ROOT, wait_for

TRITON = (ROOT / "kernels/rms_norm/triton.py").read_text(encoding="utf-8")
PYTORCH = (ROOT / "kernels/relu_squared/pytorch.py").read_text(encoding="utf-8")
TRITON_BOARD = "/problems/rms-norm/leaderboard/?hardware=interpreter"
PYTORCH_BOARD = "/problems/relu-squared/leaderboard/?hardware=cpu"


def test_nothing_is_lost_by_restarts_or_by_a_restore(
    installation: Installation, visitor: tuple[Page, list[str]], tmp_path: Path
):
    page, complaints = visitor
    name = sign_up(page)
    _submit(page, "/problems/rms-norm/", "Triton", TRITON)
    follow(page)
    expect(page.locator("#console .verdict")).to_contain_text("Accepted")
    _stands_on(page, TRITON_BOARD, name)

    installation.compose("stop", "runner")
    _submit(page, "/problems/relu-squared/", "PyTorch", PYTORCH)
    expect(page.locator("#console .status")).to_be_visible()
    assert complaints == []
    page.goto("about:blank")  # it would complain of a server that is away

    for service in RUNNING:
        installation.compose("restart", service)
    installation.compose("start", "migrate")
    installation.wait_until_healthy()

    page.goto("/submissions/")
    expect(page.get_by_role("link", name=name)).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(2)
    for row, source in ((0, PYTORCH), (1, TRITON)):
        page.goto("/submissions/")
        page.locator("tbody tr").nth(row).get_by_role("link").first.click()
        verdict = page.locator(".verdict").first
        expect(verdict).to_contain_text("Accepted", timeout=PATIENCE_MS)
        assert page.locator("pre.source").inner_text().strip() == source.strip()
    _stands_on(page, TRITON_BOARD, name)
    _stands_on(page, PYTORCH_BOARD, name)

    backup = tmp_path / "backup"
    installation.run("sh", "deploy/backup.sh", str(backup))
    assert backup.stat().st_mode & 0o077 == 0
    installation.run(*_sql("DELETE FROM boards_standing"))
    page.goto(TRITON_BOARD)
    expect(page.locator("tr.own")).to_have_count(0)
    installation.run("sh", "deploy/restore.sh", str(backup))
    installation.wait_until_healthy()
    wait_for(lambda: page.goto("/healthz"), "the site after the restore")
    _stands_on(page, TRITON_BOARD, name)
    _stands_on(page, PYTORCH_BOARD, name)


def _submit(page: Page, problem: str, language: str, source: str) -> None:
    page.goto(problem)
    choose(page, language)
    write(page, source)
    press(page, "submit")


def _stands_on(page: Page, board: str, name: str) -> None:
    page.goto(board)
    own = page.locator("tr.own")
    expect(own).to_have_count(1)
    expect(own).to_contain_text(name)


def _sql(statement: str) -> tuple[str, ...]:
    command = "docker compose exec -T postgres psql --username=backpass backpass -v ON_ERROR_STOP=1"
    return (*command.split(), "-c", statement)
