from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.layout import inside, steps, visible_trees
from tests.sandbox.support import python_job


@pytest.mark.parametrize("name", ["", "/x", "../x", "a/../../x", "a\0b", "."])
def test_a_file_can_only_lie_below_the_job(name: str):
    with pytest.raises(ValueError, match="not a path below /job"):
        inside(name)


@pytest.mark.parametrize("name", ["x", "a/b.py", "./a"])
def test_a_plain_path_is_taken(name: str):
    assert Path("/job", inside(name)).is_relative_to("/job")


@pytest.mark.parametrize(
    "path", ["/", "relative", "/proc", "/proc/self", "/sys", "/dev/shm", "/etc", "/run", "/job"]
)
def test_a_tree_that_shows_too_much_is_refused(path: str):
    with pytest.raises(ValueError, match="folder"):
        visible_trees([Path(path)])


def test_trees_within_others_or_the_system_are_not_bound_twice(tmp_path: Path):
    (tmp_path / "inner").mkdir()
    trees = [tmp_path / "inner", tmp_path, Path("/usr/lib")]
    assert visible_trees(trees) == [tmp_path]


def test_every_folder_is_made_before_what_lies_in_it(tmp_path: Path):
    job = python_job("", files={"a/b/c": b""}, trees=(tmp_path,))
    seen = {"/"}
    for _, _, target in steps(job, lambda name, data: 0):
        assert str(Path(target).parent) in seen
        seen.add(target)
    assert {"/job/a/b/c", str(tmp_path)} <= seen
