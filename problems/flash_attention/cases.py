"""The cases of attention: sizes, documents, groups, memory layouts, and how sure the queries are."""

from __future__ import annotations

from dataclasses import replace

from problems.distributions import Values
from problems.flash_attention.sampling import Packing
from problems.layouts import Layout
from problems.spec import Case

_EVERYTHING = ("grad_output", "q", "k", "v", "out", "lse")


def _case(
    name: str,
    sizes: tuple[int, int, int, int, int],
    why: str,
    values: str = Values.NORMAL,
    layouts: dict[str, Layout] | None = None,
) -> Case:
    """`sizes`: S documents, T tokens, H key-value heads, G query heads for each, D elements a head."""
    return Case(name, dict(zip("STHGD", sizes, strict=True)), why, values, layouts or {})


_PUBLIC = (
    _case("power_of_two", (2, 64, 2, 2, 16), "Sizes that fill blocks exactly."),
    _case(
        "odd_sizes",
        (3, 77, 3, 3, 17),
        "No size is a multiple of a block; three documents, three query heads to a key-value head.",
    ),
    _case("one_element", (1, 1, 1, 1, 1), "One token sees itself alone: only v has a gradient."),
    _case(
        "long",
        (1, 200, 1, 2, 32),
        "More tokens than a block holds: probabilities are recomputed for each tile.",
    ),
    _case(
        "multi_query",
        (1, 5, 1, 96, 12),
        "All 96 query heads share one key-value head, so dk and dv sum over them.",
    ),
    _case(
        "ragged_documents",
        (4, 150, 2, 2, 20),
        "Packed documents of different lengths: no token sees another document.",
        values=Packing.RAGGED,
    ),
    _case(
        "padded",
        (2, 90, 2, 1, 24),
        "The last tokens belong to no document: their gradients are zero, not NaN.",
        values=Packing.PADDED,
    ),
    _case(
        "keys_and_values_sliced",
        (1, 33, 2, 2, 18),
        "k and v are slices of wider buffers, as a projection to both at once makes them.",
        layouts={"k": Layout.SLICED, "v": Layout.SLICED},
    ),
    _case(
        "upstream_expanded",
        (1, 40, 2, 2, 14),
        "The upstream gradient has stride 0 along the tokens, as the backward of a sum makes it.",
        layouts={"grad_output": Layout.EXPANDED},
    ),
)

_HIDDEN = (
    _case("two_tokens", (1, 2, 2, 2, 40), "The second token is the first with a choice."),
    _case("wide_heads", (1, 70, 1, 1, 130), "A head of more than 128 elements."),
    _case("one_group", (1, 140, 3, 1, 16), "As many key-value heads as query heads."),
    _case(
        "empty_documents",
        (6, 80, 1, 2, 15),
        "The first, the last and another document have no tokens.",
        values=Packing.EMPTY_DOCUMENTS,
    ),
    _case(
        "many_ragged_documents",
        (7, 135, 1, 3, 22),
        "Documents begin and end inside blocks, several in one.",
        values=Packing.RAGGED,
    ),
    _case(
        "padded_block",
        (1, 190, 1, 2, 13),
        "Padding begins anywhere, a block of it may have no visible key at all.",
        values=Packing.PADDED,
    ),
    _case(
        "sharp",
        (1, 100, 2, 2, 32),
        "Every query is sure of a few keys: most probabilities vanish, dS is a small difference.",
        values=Packing.SHARP,
    ),
    _case(
        "ties",
        (1, 50, 1, 2, 8),
        "Many equal scores, zeros among them.",
        values=Values.TIES,
    ),
    _case(
        "zero_upstream",
        (1, 30, 1, 2, 10),
        "A zero upstream gradient gives zero gradients, exactly.",
        values=Values.ZERO_UPSTREAM,
    ),
    _case(
        "one_hot_upstream",
        (1, 60, 1, 2, 16),
        "One single element of the upstream gradient is not zero.",
        values=Values.ONE_HOT_UPSTREAM,
    ),
    _case(
        "large_magnitudes",
        (1, 45, 2, 1, 20),
        "Values and upstream gradients around 10⁴.",
        values=Values.LARGE,
    ),
    _case(
        "tiny_magnitudes",
        (1, 48, 1, 2, 24),
        "Values around 10⁻⁶ and upstream gradients around 10⁻⁸.",
        values=Values.TINY,
    ),
    _case(
        "upstream_transposed",
        (1, 37, 3, 1, 26),
        "Heads and elements of the upstream gradient are exchanged in memory.",
        layouts={"grad_output": Layout.TRANSPOSED},
    ),
    _case(
        "inputs_transposed",
        (2, 42, 2, 2, 9),
        "Heads and elements are exchanged in memory, those of the upstream gradient are not.",
        layouts=dict.fromkeys(("q", "k", "v", "out"), Layout.TRANSPOSED),
    ),
    _case(
        "all_sliced",
        (3, 65, 2, 2, 11),
        "Every tensor is a slice of a wider buffer.",
        layouts=dict.fromkeys(_EVERYTHING, Layout.SLICED),
    ),
)

CASES = _PUBLIC + tuple(replace(case, public=False) for case in _HIDDEN)
