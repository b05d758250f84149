"""Containers and what is around them: which runtime, whose they are, and that none is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from sandbox import layout
from sandbox.choose import best_sandbox
from sandbox.docker import DockerSandbox, Settings
from sandbox.docker_container import (
    FOLDER,
    OWNER,
    Place,
    files_and_binds,
    masked,
    request,
    skeleton,
)
from sandbox.docker_engine import Engine
from sandbox.docker_folder import write_files
from sandbox.spec import Isolation, SandboxUnavailable
from tests.engine import PrivateEngine
from tests.sandbox.support import client, python_job, run
from tests.serve.site import wait_for

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
WAITS = python_job("import time; print('x', flush=True); time.sleep(600)")


@pytest.fixture
def engine(docker_settings: Settings) -> Iterator[docker.DockerClient]:
    with closing(client(docker_settings)) as asked:
        yield asked


def ours(engine: docker.DockerClient, settings: Settings) -> list[str]:
    label = f"{FOLDER}={settings.folder}"
    return [found["Id"] for found in engine.api.containers(all=True, filters={"label": label})]


JUDGE = """
import sys, time
from pathlib import Path
from sandbox.docker import DockerSandbox, Settings
from tests.sandbox.test_docker import WAITS
address, folder = sys.argv[1:]
sandbox = DockerSandbox(Settings(engine=address or None, folder=Path(folder)))
running = sandbox.start(WAITS)
running.read(1, time.monotonic() + 60)
print("it runs", flush=True)
sys.stdin.read()
"""


@contextmanager
def judge(settings: Settings) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a running job, until its standard input is closed."""
    command = [sys.executable, "-c", JUDGE, settings.engine or "", str(settings.folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "it runs\n"
        yield process


def test_a_judge_that_ends_in_the_middle_of_a_job_leaves_nothing(
    docker_settings: Settings, engine: docker.DockerClient
):
    with judge(docker_settings):
        assert len(ours(engine, docker_settings)) == 1
    assert not ours(engine, docker_settings)
    assert not list(docker_settings.folder.iterdir())


def test_what_a_killed_judge_leaves_is_gone_after_the_next_start(
    docker_settings: Settings, engine: docker.DockerClient
):
    with judge(docker_settings) as process:
        [left] = ours(engine, docker_settings)
        [folder] = docker_settings.folder.iterdir()
        # As if it had been killed between two questions to the engine: this one is never started.
        running = engine.api.inspect_container(left)
        labels = running["Config"]["Labels"]
        orphan = engine.api.create_container(running["Image"], ["x"], labels=labels)["Id"]
        process.kill()
    # The job ends by itself, because nobody holds its pipe any more.
    wait_for(lambda: left not in ours(engine, docker_settings), "the job's end")
    assert ours(engine, docker_settings) == [orphan]
    assert folder.is_dir()
    with DockerSandbox(docker_settings) as sandbox:
        assert run(sandbox, python_job("print('honest')")).output == "honest\n"
        assert not ours(engine, docker_settings)
        assert not folder.exists()
    assert not list(docker_settings.folder.iterdir())


def test_a_sweep_spares_the_jobs_of_living_judges(
    docker_settings: Settings, engine: docker.DockerClient
):
    with DockerSandbox(docker_settings) as first, first.start(WAITS):
        [job] = ours(engine, docker_settings)
        with DockerSandbox(docker_settings) as second:
            assert run(second, python_job("print('honest')")).output == "honest\n"
            assert second.sweep() == []
        assert ours(engine, docker_settings) == [job]


def test_a_container_that_vanishes_is_a_job_that_ended(
    docker_settings: Settings, engine: docker.DockerClient
):
    with DockerSandbox(docker_settings) as sandbox, sandbox.start(WAITS) as running:
        engine.containers.get(ours(engine, docker_settings)[0]).remove(force=True)
        assert running.kill().signal == signal.SIGKILL


def test_an_engine_that_is_not_there_is_said_so(tmp_path: Path):
    sandbox = DockerSandbox(Settings(engine=f"unix://{tmp_path}/no.sock", folder=tmp_path / "run"))
    with pytest.raises(SandboxUnavailable, match="does not answer"):
        sandbox.start(WAITS)


def test_an_image_is_never_fetched(docker_settings: Settings):
    settings = replace(docker_settings, image="nobody/has-this:1", bind_trees=False)
    with pytest.raises(SandboxUnavailable, match="never fetched"):
        DockerSandbox(settings).start(WAITS)


def test_a_first_process_that_fails_is_quoted(
    docker_settings: Settings, engine: docker.DockerClient
):
    """An image with the interpreter at another path, as when the runner's own is not used."""
    settings = replace(docker_settings, image=empty_image(docker_settings), bind_trees=False)
    with DockerSandbox(settings) as sandbox, pytest.raises(SandboxUnavailable, match="python"):
        sandbox.start(python_job("", trees=()))
    assert not ours(engine, docker_settings)


def empty_image(settings: Settings) -> str:
    with closing(Engine(settings.engine)) as asked:
        return asked.image(None, skeleton())


def test_trees_may_be_in_the_image(
    docker_settings: Settings, engine: docker.DockerClient, tmp_path: Path
):
    """An image made of this machine's own files: the interpreter with what it is linked against."""
    archive = tmp_path / "image.tar"
    program, library = str(layout.interpreter()), sysconfig.get_path("stdlib")
    files = {program, library, *linked_files(program, *Path(library).glob("lib-dynload/*.so"))}
    without = ("test", "site-packages", "dist-packages", "__pycache__", "*.a")
    subprocess.run(
        [
            *("tar", "--create", "--file", archive, "--dereference"),
            *(f"--exclude={name}" for name in without),
            *(path.lstrip("/") for path in sorted(files)),
        ],
        cwd="/",
        check=True,
        capture_output=True,
    )
    name = "backpass-test-python"
    engine.api.import_image_from_file(str(archive), repository=name, tag="1")
    source = "import os, ctypes; print(os.path.exists('/usr/share'), os.getcwd())"
    job = replace(python_job(""), argv=(program, "-c", source))
    try:
        settings = replace(docker_settings, image=f"{name}:1", bind_trees=False)
        with DockerSandbox(settings) as sandbox:
            assert run(sandbox, job).output == "False /tmp\n"
    finally:
        engine.images.remove(f"{name}:1")


def linked_files(*programs: str | Path) -> set[str]:
    """The libraries that `programs` need, by every name they have."""
    listed = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    lines = [line for line in listed.splitlines() if not line.endswith(":")]
    words = {word for line in lines for word in line.split() if word.startswith("/")}
    return words | {str(Path(word).resolve()) for word in words}


def test_the_folder_may_have_another_name_on_the_engines_machine(
    docker_settings: Settings, engine: docker.DockerClient, tmp_path: Path
):
    """As for a runner in a container: a volume here, whose name is all that is said."""
    volume = engine.volumes.create("backpass-test-folder")
    mounted = tmp_path / "mounted"
    mounted.symlink_to(volume.attrs["Mountpoint"])
    try:
        settings = replace(docker_settings, folder=mounted / "run", host_folder=volume.name)
        with pytest.raises(SandboxUnavailable), DockerSandbox(settings) as sandbox:
            sandbox.start(WAITS)  # the volume is another folder than `run` below it
        settings = replace(settings, folder=mounted)
        with DockerSandbox(settings) as sandbox:
            assert run(sandbox, python_job("print('honest')")).output == "honest\n"
    finally:
        volume.remove()


@pytest.fixture
def listing_gvisor(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Settings]:
    """An engine that lists runsc; behind the name is runc, or a program that fails."""
    log = tmp_path / "called"
    program = tmp_path / "runsc"
    body = 'exec runc "$@"' if request.param else "exit 1"
    program.write_text(f"#!/bin/sh\necho $* >> {log}\n{body}\n")
    program.chmod(0o755)
    with PrivateEngine(options=(f"--add-runtime=runsc={program}",)) as engine:
        yield Settings(engine=engine.address, folder=tmp_path / "run")
        assert "create" in log.read_text()


@pytest.mark.parametrize("listing_gvisor", [True], indirect=True)
def test_gvisor_is_used_when_the_engine_lists_it(listing_gvisor: Settings):
    with DockerSandbox(listing_gvisor) as sandbox:
        assert run(sandbox, python_job("print('honest')")).output == "honest\n"
        assert (sandbox.runtime, sandbox.isolation) == ("runsc", Isolation.GVISOR)
        assert "gVisor stands between" in sandbox.level


@pytest.mark.parametrize("listing_gvisor", [False], indirect=True)
def test_a_gvisor_in_which_jobs_do_not_run_is_not_used_and_the_level_says_so(
    listing_gvisor: Settings,
):
    with DockerSandbox(listing_gvisor) as sandbox:
        assert run(sandbox, python_job("print('honest')")).output == "honest\n"
        assert (sandbox.runtime, sandbox.isolation) == ("runc", Isolation.CONTAINER)
        assert "--host-uds=open" in sandbox.level


def test_containers_are_chosen_when_the_environment_asks_for_them(
    docker_settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BACKPASS_SANDBOX", "docker")
    monkeypatch.setenv("BACKPASS_DOCKER_DIR", str(docker_settings.folder))
    if docker_settings.engine:
        monkeypatch.setenv("DOCKER_HOST", docker_settings.engine)
    chosen = best_sandbox()
    assert isinstance(chosen, DockerSandbox)
    chosen.close()


def test_without_an_engine_who_asks_for_containers_gets_nothing_less(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("BACKPASS_SANDBOX", "docker")
    monkeypatch.setenv("BACKPASS_DOCKER_DIR", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(SandboxUnavailable, match="Docker"):
        best_sandbox()


def test_the_engine_is_asked_for_exactly_the_named_devices(
    docker_settings: Settings, engine: docker.DockerClient, tmp_path: Path
):
    settings = replace(docker_settings, devices=("GPU-1234",))
    files, _ = files_and_binds(WAITS, settings)
    write_files(tmp_path, files)
    labels = {FOLDER: str(docker_settings.folder), OWNER: "test"}
    image = empty_image(docker_settings)
    place = Place(engine.api.api_version, image, "runc", str(tmp_path), labels)
    made = engine.api.create_container_from_config(request(WAITS, settings, place, []))["Id"]
    try:
        asked = engine.api.inspect_container(made)["HostConfig"]["DeviceRequests"]
    finally:
        engine.api.remove_container(made)
    assert [(one["DeviceIDs"], one["Count"]) for one in asked] == [(["GPU-1234"], 0)]
    assert not set(masked(settings)) & {"/sys/bus", "/sys/module"}  # what drivers look at
    assert {"/sys/bus", "/sys/module"} <= set(masked(docker_settings))
