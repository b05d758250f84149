"""What the containers of the compose file may do, asked of the engine and from within."""

from __future__ import annotations

import pytest

from tests.deploy.installation import RUNNING, SERVICES, VERSION, Installation

OURS = tuple(name for name in SERVICES if name not in ("postgres", "redis"))
SITE = ("web", "results", "scheduler")
_CONNECT = """
import socket, sys
try:
    socket.create_connection(({host!r}, {port}), timeout=5).close()
except OSError as error:
    sys.exit(f"no way: {{error!r}}")
"""


def _reach(installation: Installation, service: str, host: str, port: int) -> bool:
    code, output = installation.python(service, _CONNECT.format(host=host, port=port))
    assert code == 0 or "no way" in output, output
    return code == 0


def test_every_service_is_up_and_healthy(installation: Installation):
    installation.wait_until_healthy()


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_starts_without_privileges(installation: Installation, service: str):
    facts = installation.facts(service)
    assert facts["Config"]["User"] not in ("", "0", "root", "0:0")
    host = facts["HostConfig"]
    assert host["ReadonlyRootfs"] is True
    assert host["Privileged"] is False
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["Memory"] > 0
    assert host["PidsLimit"] > 0
    assert host["NetworkMode"] != "host"
    assert host["PidMode"] != "host"


@pytest.mark.parametrize("service", RUNNING)
def test_its_processes_have_none_either(installation: Installation, service: str):
    code, status = installation.inside(service, "cat", "/proc/1/status")
    assert code == 0
    lines = dict(line.split(":", 1) for line in status.splitlines())
    assert "0" not in lines["Uid"].split()
    for kind in ("CapEff", "CapPrm", "CapBnd"):
        assert int(lines[kind], 16) == 0
    assert lines["NoNewPrivs"].strip() == "1"
    code, _ = installation.inside(service, "sh", "-c", ": > /opt/mine || : > /mine")
    assert code != 0


@pytest.mark.parametrize("service", RUNNING)
def test_it_comes_back_by_itself_and_says_how_it_is(installation: Installation, service: str):
    facts = installation.facts(service)
    assert facts["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
    assert facts["Config"]["Healthcheck"]["Test"][0] in ("CMD", "CMD-SHELL")


@pytest.mark.parametrize("service", SERVICES)
def test_only_the_runner_sees_the_engine(installation: Installation, service: str):
    mounts = installation.facts(service)["Mounts"]
    sockets = [mount for mount in mounts if mount["Source"].endswith(".sock")]
    assert len(sockets) == (1 if service == "runner" else 0)


@pytest.mark.parametrize("service", SITE)
def test_no_engine_answers_inside_the_site(installation: Installation, service: str):
    code, _ = installation.inside(service, "test", "-e", "/var/run/docker.sock")
    assert code == 1
    code, _ = installation.inside("runner", "test", "-S", "/var/run/docker.sock")
    assert code == 0


@pytest.mark.parametrize("service", SERVICES)
def test_only_the_web_server_listens_outside_and_only_for_its_proxy(
    installation: Installation, service: str
):
    ports = installation.facts(service)["NetworkSettings"]["Ports"].values()
    bindings = [binding["HostIp"] for port in ports for binding in port or ()]
    assert bindings == (["127.0.0.1"] if service == "web" else [])


def test_a_runner_reaches_the_broker_and_never_the_database(installation: Installation):
    assert _reach(installation, "runner", "redis", 6379)
    for address in ("postgres", *installation.address("postgres")):
        assert _reach(installation, "results", address, 5432)
        assert not _reach(installation, "runner", address, 5432)


@pytest.mark.parametrize("service", [name for name in SERVICES if name != "web"])
def test_what_needs_no_internet_has_no_way_out(installation: Installation, service: str):
    networks = installation.networks(service)
    assert networks
    assert all(network["Internal"] for network in networks)


def test_a_runner_knows_no_secret_of_the_site(installation: Installation):
    given = installation.variables("runner")
    assert not {"SECRET_KEY", "DATABASE_URL", "POSTGRES_PASSWORD", "REDIS_PASSWORD"} & set(given)
    assert given["REDIS_URL"] != installation.variables("web")["REDIS_URL"]


@pytest.mark.parametrize("order", ["FLUSHALL", "KEYS *", "CONFIG GET *", "ACL LIST", "SHUTDOWN"])
def test_a_runner_cannot_command_the_broker(installation: Installation, order: str):
    code, output = installation.python(
        "runner",
        "import os, redis\n"
        "broker = redis.Redis.from_url(os.environ['REDIS_URL'])\n"
        "assert broker.ping()\n"
        f"broker.execute_command(*{order.split()!r})",
    )
    assert code != 0
    assert "NoPermissionError" in output


def test_the_broker_knows_nobody_without_a_password(installation: Installation):
    _, output = installation.inside("redis", "redis-cli", "ping")
    assert "NOAUTH" in output


def test_the_broker_writes_down_what_it_takes(installation: Installation):
    code, listed = installation.inside("redis", "ls", "/data/appendonlydir")
    assert code == 0
    assert ".aof" in listed


def test_no_password_is_in_a_command_line(installation: Installation):
    for service in SERVICES:
        facts = installation.facts(service)
        words = " ".join([*(facts["Config"]["Cmd"] or ()), *facts["Args"]])
        for name, value in installation.variables(service).items():
            if "PASSWORD" in name or name == "SECRET_KEY":
                assert value not in words


def test_the_image_says_its_version(installation: Installation):
    assert installation.image_labels()["org.opencontainers.image.version"] == VERSION


@pytest.mark.parametrize("service", OURS)
def test_all_of_ours_run_the_same_image(installation: Installation, service: str):
    assert installation.facts(service)["Image"] == installation.facts("web")["Image"]
