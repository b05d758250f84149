"""What holds inside a sandbox that has a file system of its own, asked from inside."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from sandbox.spec import Sandbox
from tests.sandbox.support import SMALL, python_job, run

pytestmark = pytest.mark.sandbox

LOOK = """
import json, os, resource, socket
def descriptors():
    found = []
    for number in range(256):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:
            continue
    return found
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(json.dumps({
    "status": status,
    "processes": [name for name in os.listdir("/proc") if name.isdigit()],
    "descriptors": descriptors(),
    "ids": [os.getresuid(), os.getresgid(), os.getgroups()],
    "session": [os.getsid(0) != 0, os.path.exists("/dev/tty")],
    "host": socket.gethostname(),
    "networks": open("/proc/net/dev").read().count(":"),
    "limits": [resource.getrlimit(getattr(resource, "RLIMIT_" + name))
        for name in ("CORE", "AS", "NOFILE", "FSIZE")],
    "root": sorted(os.listdir("/")),
    "etc": sorted(os.listdir("/etc")),
    "mounts": open("/proc/self/mountinfo").read().splitlines(),
}))
"""


@pytest.fixture
def seen(contained: Sandbox) -> dict[str, Any]:
    outcome = run(contained, python_job(LOOK, arenas={"x": 4096}))
    assert not outcome.printed
    found: dict[str, Any] = json.loads(outcome.output)
    return found | {"in_docker": contained.name == "docker"}


def test_it_has_no_capability_and_cannot_gain_one(seen: dict[str, Any]):
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(seen["status"][name], 16) == 0, name
    assert seen["status"]["NoNewPrivs"] == "1"
    assert seen["status"]["Seccomp"] == "2"


def test_it_is_an_ordinary_user(seen: dict[str, Any]):
    users, group_ids, groups = seen["ids"]
    # In a container there is no other user behind the one inside.
    user = 65534 if seen["in_docker"] else 1000
    assert users == group_ids == [user] * 3
    if os.geteuid() == 0:
        assert set(groups) <= ({user} if seen["in_docker"] else set())


def test_only_its_own_processes_exist(seen: dict[str, Any]):
    assert len(seen["processes"]) == 2
    assert "1" in seen["processes"]


def test_only_streams_and_arenas_are_open(seen: dict[str, Any]):
    *streams, arena = seen["descriptors"]
    assert [link.partition(":")[0] for link in streams] == ["pipe"] * 3
    assert arena.startswith("/memfd:x")


def test_it_has_a_host_name_of_its_own_and_no_network_but_a_dead_loopback(seen: dict[str, Any]):
    assert seen["host"] == "sandbox"
    assert seen["networks"] == 1


def test_limits_are_set(seen: dict[str, Any]):
    assert seen["limits"] == [
        [0, 0],
        [SMALL.address_space] * 2,
        [SMALL.open_files] * 2,
        [SMALL.file_size] * 2,
    ]


# What an engine mounts writable, for root alone or without room.
ROOTS_OWN = {"/dev", "/dev/pts", "/dev/mqueue", "/sys/fs/cgroup"}


def test_every_mount_but_the_temporary_ones_is_read_only(seen: dict[str, Any]):
    writable = set()
    for line in seen["mounts"]:
        fields = line.split()
        hides_something = fields[3] == "/null"  # what an engine hides shows /dev/null instead
        if "rw" in fields[5].split(",") and not hides_something:
            writable.add(fields[4])
        # An engine has no option for it: no_new_privs, tested above, makes setuid files harmless.
        assert "nosuid" in fields[5] or seen["in_docker"], line
    assert writable - {"/proc", "/tmp", "/dev/shm"} <= (
        ROOTS_OWN
        if seen["in_docker"]
        else {f"/dev/{name}" for name in ("null", "full", "random", "urandom")}
    )


def test_of_etc_only_what_linking_needs_is_there(seen: dict[str, Any]):
    allowed = {"alternatives", "group", "passwd", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"}
    if seen["in_docker"]:
        allowed |= {"hostname", "hosts", "mtab", "resolv.conf"}
    assert set(seen["etc"]) <= allowed


def test_the_root_holds_nothing_of_the_host_but_the_system_and_the_interpreter(
    seen: dict[str, Any],
):
    assert not {"home", "var", "run", "mnt", "srv", "work", "boot"} & set(seen["root"])
