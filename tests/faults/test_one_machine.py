"""The installation on one machine, with files for a broker and SQLite, killed in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.ledger import Ledger
from tests.faults.site import Site
from tests.serve.site import wait_for
from wire.messages import Phase


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path / "site") as site:
        site.start("web", "results", "clock")
        yield site


def test_every_piece_killed_while_submissions_are_judged_costs_only_attempts(site: Site) -> None:
    ledger = Ledger(site)
    site.hold("first", Phase.TIMING)
    site.start("first")
    held = ledger.post("user0")
    for number in range(1, 9):
        ledger.post(f"user{number}")
    ledger.wait_for_phase(held, Phase.TIMING)
    site.kill_all("first", "results", "clock")
    ledger.post("user9")
    queue = site.data / "broker" / "queue"
    (queue / "00000000000000000001_half.judge.cpu.msg").write_bytes(b'{"body": "W3')
    (queue / "00000000000000000001_half.results.msg").write_bytes(b"")
    site.start("results", "clock", "second")
    wait_for(lambda: ledger.attempts(held)[0] == "lost", "the end of the killed runner's lease")
    site.kill("results")
    site.kill("web")
    site.start("web", "results")
    ledger.post("user0")
    ledger.check()
    assert ledger.attempts(held) == ["lost", "done"]
