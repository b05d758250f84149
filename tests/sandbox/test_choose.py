from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import choose, landlock_kernel
from sandbox.spec import Isolation, Sandbox, SandboxUnavailable
from tests.sandbox.ordinary_user import OrdinaryUser
from tests.sandbox.support import NAMESPACED, REAL, python_for_everybody, python_job, run
from wire.isolation import LEVELS

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
LANDLOCK = landlock_kernel.why_not()
needs_landlock = pytest.mark.skipif(LANDLOCK is not None, reason=str(LANDLOCK))


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with OrdinaryUser() as started:
        yield started


def ask(user: OrdinaryUser, forbidden: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """What `python -m sandbox` answers to an ordinary user whose kernel forbids something."""
    settings = [f"{name}={value}" for name, value in environment.items()]
    command = ["env", *settings, python_for_everybody(), "-m", "sandbox", *arguments]
    process = user.start("forbid.py", forbidden, *command)
    words, _ = process.communicate()
    return process.returncode, words


def test_the_chosen_sandbox_isolates():
    chosen = choose.best_sandbox()
    assert chosen.name in NAMESPACED
    assert run(chosen, python_job("import os; print(os.getuid())")).output == "1000\n"


def test_namespaces_are_chosen_without_bubblewrap(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    choice = choose.choose()
    assert choice.sandbox.name == "namespaces"
    assert choice.refusals == ("bubblewrap: bubblewrap (bwrap) is not installed",)


@needs_landlock
def test_landlock_is_chosen_where_an_ordinary_user_may_not_make_namespaces(user: OrdinaryUser):
    code, words = ask(user, "namespaces")
    first, *others = words.splitlines()
    assert (code, first.partition(":")[0]) == (0, "landlock")
    assert any("not bubblewrap: " in line for line in others)
    assert any("not namespaces: " in line for line in others)
    assert "with no network" in first
    code, words = ask(user, "namespaces", "--json")
    assert json.loads(words)["isolation"] == Isolation.LANDLOCK


@pytest.mark.parametrize("without", ["landlock", "landlock-off"])
def test_where_nothing_isolates_an_ordinary_user_is_told_what_to_do(
    user: OrdinaryUser, without: str
):
    code, words = ask(user, f"namespaces,{without}")
    assert code == 1
    for name in REAL:
        assert f"- {name}: " in words
    assert "Landlock" in words
    assert choose.UNSAFE_FLAG in words


def test_what_was_asked_for_is_not_replaced_by_something_weaker(user: OrdinaryUser):
    code, words = ask(user, "namespaces", BACKPASS_SANDBOX="namespaces")
    assert code == 1
    assert "- namespaces: " in words
    assert "landlock" not in words


@needs_landlock
def test_landlock_can_be_asked_for(user: OrdinaryUser):
    code, words = ask(user, "nothing", BACKPASS_SANDBOX="landlock")
    assert (code, words.partition(":")[0]) == (0, "landlock")


def test_a_name_that_is_no_sandbox_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(choose.VARIABLE, "chroot")
    with pytest.raises(SandboxUnavailable, match="auto, docker, bubblewrap, namespaces, landlock"):
        choose.best_sandbox(unsafe=True)


def test_none_is_accepted_only_on_request(monkeypatch: pytest.MonkeyPatch):
    def refuse(sandbox: Sandbox) -> str:
        return f"{sandbox.name} was refused"

    monkeypatch.setattr(choose, "why_not", refuse)
    with pytest.raises(SandboxUnavailable, match="landlock was refused"):
        choose.best_sandbox()
    unsafe = choose.best_sandbox(unsafe=True)
    assert unsafe.name == "none"
    assert "NOT ISOLATED" in unsafe.level


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_command_names_the_sandbox_of_this_machine(arguments: list[str]):
    result = subprocess.run(
        [sys.executable, "-m", "sandbox", *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != choose.VARIABLE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0
    if arguments:
        assert json.loads(result.stdout)["name"] in REAL
    else:
        assert result.stdout.partition(":")[0] in REAL


def test_the_command_says_what_a_kernel_without_user_namespaces_forbids():
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec"
    result = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", f"{forbid} {sys.executable} -m sandbox"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == (0 if LANDLOCK is None else 1), result.stderr
    assert "sysctl user.max_user_namespaces" in result.stdout


def test_every_level_that_a_sandbox_can_have_is_described_for_the_web():
    assert [level.name for level in LEVELS] == [level.value for level in Isolation]
