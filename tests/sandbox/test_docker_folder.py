from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

from sandbox.docker_folder import Folder, listen, write_files


def test_a_folder_is_abandoned_when_its_process_has_died_and_not_before(tmp_path: Path):
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writable, Folder(tmp_path).owner.encode())
        signal.pause()
    owner = os.read(readable, 100).decode()
    os.close(readable)
    os.close(writable)
    mine = Folder(tmp_path)
    assert mine.is_alive(owner)
    assert mine.abandoned() == []
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert mine.abandoned() == [owner]
    mine.remove(mine.abandoned())
    assert [path.name for path in tmp_path.iterdir()] == [mine.owner]
    mine.close()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_just_being_made_is_spared_and_an_old_one_is_not(tmp_path: Path):
    mine = Folder(tmp_path)
    (tmp_path / ".new-fresh").mkdir()
    old = tmp_path / ".new-old"
    old.mkdir()
    os.utime(old, (0, 0))
    assert mine.abandoned() == [".new-old"]
    assert not mine.is_alive("never-was")
    mine.close()


def test_files_are_readable_by_everybody_whatever_the_umask(tmp_path: Path):
    before = os.umask(0o077)
    try:
        write_files(tmp_path / "x", {"/job/folder/file": b"data"})
    finally:
        os.umask(before)
    file = tmp_path / "x/job/folder/file"
    assert file.read_bytes() == b"data"
    assert file.stat().st_mode & 0o777 == 0o644
    assert file.parent.stat().st_mode & 0o777 == 0o755


def test_a_socket_may_have_a_path_longer_than_an_address(tmp_path: Path):
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    with listen(deep / "judge") as listener:
        folder = os.open(deep, os.O_PATH)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as caller:
            caller.connect(f"/proc/self/fd/{folder}/judge")
            accepted, _ = listener.accept()
            accepted.close()
        os.close(folder)
