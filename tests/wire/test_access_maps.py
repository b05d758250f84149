"""Access maps come from beside hostile code: what means nothing, or is too much, is not read."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from wire.access_maps import (
    MOST_LAUNCHES,
    MOST_RUNS,
    AccessMaps,
    LaunchMap,
    TileMap,
    check,
)
from wire.inspection import Inspection
from wire.packing import PACKED_BYTES, pack, unpack
from wire.reading import Unreadable

TILES = TileMap("x_ptr", "load", (300, 70), (7,), (0, 0, 3, 0, 5, 1, 2, 2099, 1))
LAUNCH = LaunchMap("rows", (2, 3, 1), 3, (TILES,))
MAPS = AccessMaps("many_rows", {"M": 300}, (LAUNCH,))


def with_map(**changes: Any) -> AccessMaps:
    return with_launch(maps=(replace(TILES, **changes),))


def with_launch(**changes: Any) -> AccessMaps:
    return replace(MAPS, launches=(replace(LAUNCH, **changes),))


def inspection(maps: AccessMaps | None) -> Inspection:
    return Inspection("rms_norm", "", {}, (), maps=maps)


def test_a_tensor_is_a_matrix_in_at_most_64_tiles_a_side() -> None:
    assert (TILES.tile, TILES.tiles) == ((5, 2), (60, 35))
    deep = replace(TILES, shape=(2, 3, 4, 129))
    assert (deep.matrix, deep.tile, deep.tiles) == ((24, 129), (1, 3), (24, 43))
    assert replace(TILES, shape=()).tiles == (1, 1)


def test_programs_are_numbered_with_the_grids_first_dimension_fastest() -> None:
    launch = replace(LAUNCH, grid=(2, 3, 2))
    assert [launch.program(n) for n in (0, 1, 2, 6, 11)] == [
        *((0, 0, 0), (1, 0, 0), (0, 1, 0)),
        *((0, 0, 1), (1, 2, 1)),
    ]


def test_what_was_packed_is_unpacked() -> None:
    assert unpack(pack(inspection(MAPS))).maps == MAPS


def test_the_largest_maps_that_are_read_fit_into_a_message() -> None:
    # Scattered, so that they compress badly.
    each = MOST_RUNS // 16
    runs = sorted((n * 2654435761 % 4096 // 2 * 2, n * 40503 % 4096 // 2) for n in range(each))
    distinct = {(program, 2 * tile): None for program, tile in runs}
    flat = tuple(n for program, tile in distinct for n in (program, tile, 1))
    one = TileMap("x_ptr", "load", (64, 64), (), flat)
    launches = (LaunchMap("rows", (4096, 1, 1), 4096, (one,)),) * MOST_LAUNCHES
    sent = inspection(AccessMaps("case", {}, launches))
    packed = pack(sent)
    assert len(packed) < PACKED_BYTES // 4
    assert unpack(packed) == sent


def test_an_inspection_of_before_there_were_maps_is_read() -> None:
    data = inspection(None).to_json()
    del data["maps"]
    assert Inspection.from_json(data).maps is None


def test_without_texts_it_is_still_known_what_there_are_maps_of() -> None:
    kept = inspection(MAPS).without_texts().maps
    assert kept == with_map(runs=())
    check(kept)


@pytest.mark.parametrize(
    "maps",
    [
        with_map(op="peek"),
        with_map(shape=(300, 0)),
        with_map(shape=(1 << 30, 1 << 30)),
        with_map(shape=(1,) * 9),
        with_map(lines=(0,)),
        with_map(lines=tuple(range(1, 30))),
        with_map(runs=(0, 0)),
        with_map(runs=(0, 0, 0)),
        with_map(runs=(3, 0, 1)),
        with_map(runs=(-1, 0, 1)),
        with_map(runs=(0, -1, 1)),
        with_map(runs=(0, 2099, 2)),
        with_map(runs=(1, 0, 1, 0, 0, 1)),
        with_map(runs=(0, 0, 3, 0, 2, 1)),
        with_map(runs=(0, 0, 1) * (MOST_RUNS + 1)),
        with_launch(grid=(0, 1, 1)),
        with_launch(mapped=7),
        with_launch(grid=(1 << 30, 1, 1), mapped=1 << 20),
        with_launch(maps=(TILES, TILES)),
        with_launch(maps=tuple(replace(TILES, tensor=str(n), runs=()) for n in range(49))),
        replace(MAPS, launches=(LAUNCH,) * (MOST_LAUNCHES + 1)),
        replace(MAPS, left_out=-1),
    ],
    ids=lambda maps: "",
)
def test_what_means_nothing_is_not_read(maps: AccessMaps) -> None:
    with pytest.raises(Unreadable):
        Inspection.from_json(inspection(maps).to_json())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("launches", 0, "grid"), [1, 1]),
        (("launches", 0, "mapped"), True),
        (("launches", 0, "maps", 0, "runs"), "0"),
        (("launches", 0, "maps", 0, "runs", 1), 0.5),
        (("launches", 0, "maps", 0, "runs", 1), 1 << 70),
        (("launches", 0, "maps", 0, "tensor"), None),
        (("launches", 0, "maps", 0, "more"), 1),
        (("launches",), {}),
    ],
)
def test_a_field_of_another_type_is_not_read(path: tuple[Any, ...], value: Any) -> None:
    data = inspection(MAPS).to_json()
    data["maps"] = _lists(asdict(MAPS))
    place = data["maps"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(Unreadable):
        Inspection.from_json(data)


def _lists(value: Any) -> Any:
    """As JSON has it: what can be changed."""
    if isinstance(value, dict):
        return {k: _lists(v) for k, v in value.items()}
    return [_lists(v) for v in value] if isinstance(value, (list, tuple)) else value
