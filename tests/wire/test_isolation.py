from __future__ import annotations

import pytest

from wire.isolation import LEVELS, isolation


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_every_level_says_in_one_line_what_it_does_not_promise(level):
    assert isolation(level.name) == level
    assert level.not_promised.startswith("does not promise ")
    assert level.not_promised.endswith(".")
    assert level.line == f"isolation: {level.name} — {level.not_promised}"
    assert "\n" not in level.line


def test_levels_are_ranked_from_the_strongest_to_none():
    assert [level.rank for level in LEVELS] == list(range(len(LEVELS)))
    assert LEVELS[-1].name == "none"


@pytest.mark.parametrize(("name", "level"), [("bubblewrap", "namespaces"), ("docker", "container")])
def test_a_runner_that_names_its_sandbox_is_understood(name: str, level: str):
    assert isolation(name).name == level


@pytest.mark.parametrize("name", ["", "firecracker"])
def test_what_is_not_known_promises_nothing(name: str):
    unknown = isolation(name)
    assert unknown.rank > LEVELS[-1].rank
    assert "nothing is promised" in unknown.line
