"""Starting a site: where it listens, and two starts at the same time."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.serve.site import Site, still_running, wait_for
from tests.serve.visitor import Visitor

# Every address of 127.0.0.0/8 is this machine's; a site for this machine alone listens on the first.
ANOTHER_OF_OURS = "127.0.0.2"
NOBODYS = "192.0.2.1"  # for documentation, RFC 5737


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def answers_at(host: str, site_address: str) -> bool:
    port = urlsplit(site_address).port
    assert port
    with socket.socket() as link:
        link.settimeout(30)
        return link.connect_ex((host, port)) == 0


@pytest.fixture(scope="module")
def open_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for every address of this machine."""
    data = tmp_path_factory.mktemp("open") / "data"
    with Site(data, "--no-judge", "--host", "0.0.0.0") as site:
        site.address()
        yield site


def test_a_site_can_listen_on_every_address(open_site):
    address = open_site.address()
    assert address.startswith("http://localhost:")
    assert '"ok"' in Visitor(address).read("/healthz")
    assert answers_at(ANOTHER_OF_OURS, address)
    assert "Other machines can reach the site" in open_site.said


def test_a_second_interrupt_ends_at_once_what_does_not_end(open_site):
    processes = open_site.processes()
    open_site.get("gunicorn").send_signal(
        signal.SIGSTOP
    )  # it cannot even notice that it should end
    open_site.process.send_signal(signal.SIGINT)
    open_site.wait_until_it_says("Stopping.")
    assert open_site.stop(signal.SIGINT) == 0
    assert "Stopped at once." in open_site.said
    assert still_running(processes) == []


def test_an_address_that_is_not_ours_is_refused_with_a_way_out(data):
    with Site(data, "--no-judge", "--host", NOBODYS) as site:
        assert site.wait() == 1
        assert f"cannot listen on {NOBODYS}" in site.said
        assert "make run HOST=" in site.said


def test_of_two_started_at_once_one_serves_this_machine_and_the_other_says_so(data):
    with Site(data, "--no-judge") as first, Site(data, "--no-judge") as second:
        sites = [first, second]

        def ended() -> list[Site]:
            return [site for site in sites if site.process.poll() is not None]

        (loser,) = wait_for(ended, "the end of one of them")
        (winner,) = [site for site in sites if site is not loser]
        assert loser.wait() == 1
        assert "already running" in loser.said
        address = winner.address()
        assert '"ok"' in Visitor(address).read("/healthz")
        assert not answers_at(ANOTHER_OF_OURS, address)
        assert "Other machines" not in winner.said
        processes = winner.processes()
        assert winner.stop() == 0
        assert still_running(processes) == []
