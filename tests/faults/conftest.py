"""One site on Redis and PostgreSQL for the tests of a module, empty before each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.ledger import Ledger
from tests.faults.site import Site
from tests.servers import PostgresServer, RedisServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def whole_site(
    postgres: PostgresServer, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site"), postgres.url, redis_server.url) as site:
        yield site


@pytest.fixture
def site(whole_site: Site) -> Iterator[Site]:
    """The site with web, results worker and clock, without runner, messages and submissions."""
    whole_site.reset()
    yield whole_site
    whole_site.reset()


@pytest.fixture
def ledger(site: Site) -> Ledger:
    return Ledger(site)
