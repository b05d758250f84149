"""The cases of SSD: sizes, groups, memory layouts, and how fast states decay."""

from __future__ import annotations

from dataclasses import replace

from problems.distributions import Values
from problems.layouts import Layout
from problems.spec import Case
from problems.ssd.sampling import Decay

_EVERYTHING = ("grad_output", "x", "dt", "B", "C")


def _case(
    name: str,
    sizes: tuple[int, int, int, int, int, int],
    why: str,
    values: str = Values.NORMAL,
    layouts: dict[str, Layout] | None = None,
) -> Case:
    """`sizes`: S sequences, T steps, G groups, R heads of a group, P elements a head, N of a state."""
    return Case(name, dict(zip("STGRPN", sizes, strict=True)), why, values, layouts or {})


_PUBLIC = (
    _case("power_of_two", (2, 64, 2, 2, 16, 32), "Sizes that fill blocks exactly, in one chunk."),
    _case(
        "several_chunks",
        (1, 140, 2, 1, 16, 16),
        "Slow decay, and more steps than a chunk holds: states pass on, their gradients pass back.",
        values=Decay.LONG_MEMORY,
    ),
    _case(
        "odd_sizes",
        (3, 21, 3, 3, 5, 7),
        "No size is a multiple of a block: chunks are short, tiles need masks.",
    ),
    _case("one_element", (1, 1, 1, 1, 1, 1), "One step: there is no past, so dA is zero."),
    _case(
        "many_heads",
        (1, 40, 1, 18, 6, 10),
        "All 18 heads read and write their states by one B and C, so dB and dC sum over them.",
    ),
    _case(
        "many_sequences",
        (130, 2, 1, 1, 6, 8),
        "Many short sequences: none begins with the state of another, and dA sums over all.",
    ),
    _case(
        "wide_heads",
        (1, 20, 1, 1, 130, 12),
        "A head of more than 128 elements, over all of which dt is summed.",
    ),
    _case(
        "strong_decay",
        (1, 70, 1, 2, 14, 12),
        "Decays of 10⁻⁴ and less a step: sums of their logarithms are far below what exp can undo.",
        values=Decay.STRONG,
    ),
    _case(
        "upstream_expanded",
        (3, 40, 1, 2, 15, 13),
        "The upstream gradient has stride 0 along the sequences, as the backward of a sum makes it.",
        layouts={"grad_output": Layout.EXPANDED},
    ),
    _case(
        "projections_sliced",
        (2, 33, 2, 2, 18, 20),
        "x, dt, B and C are slices of wider buffers, as one projection for all of them makes them.",
        layouts=dict.fromkeys(("x", "dt", "B", "C"), Layout.SLICED),
    ),
)

_HIDDEN = (
    _case("two_steps", (3, 2, 1, 2, 24, 20), "The second step has a past of one step."),
    _case("one_group_a_head", (1, 140, 3, 1, 16, 24), "Every head has a B and C of its own."),
    _case("wide_state", (1, 70, 1, 1, 20, 130), "A state of more than 128 rows."),
    _case("two_groups", (1, 129, 2, 3, 10, 14), "Several groups of several heads, one step over."),
    _case(
        "long_memory",
        (1, 200, 1, 2, 12, 16),
        "Slow decay: the first step reaches the last one, through every chunk.",
        values=Decay.LONG_MEMORY,
    ),
    _case(
        "resets",
        (2, 150, 1, 2, 16, 15),
        "Some steps are so long that nothing of the past is left, as where a document begins.",
        values=Decay.RESETS,
    ),
    _case(
        "empty_steps",
        (2, 80, 1, 2, 13, 17),
        "Some steps have dt = 0: they change no state, and dividing by dt fails.",
        values=Decay.EMPTY_STEPS,
    ),
    _case(
        "long_strong_decay",
        (1, 190, 2, 1, 11, 18),
        "Nothing passes from chunk to chunk, and the gradient of a decay is a tiny number.",
        values=Decay.STRONG,
    ),
    _case(
        "zero_upstream",
        (1, 30, 1, 2, 10, 12),
        "A zero upstream gradient gives zero gradients, exactly.",
        values=Values.ZERO_UPSTREAM,
    ),
    _case(
        "one_hot_upstream",
        (1, 90, 1, 2, 16, 12),
        "One single element of the upstream gradient is not zero.",
        values=Values.ONE_HOT_UPSTREAM,
    ),
    _case(
        "large_magnitudes",
        (1, 45, 2, 1, 20, 16),
        "Inputs and upstream gradients around 10⁴.",
        values=Values.LARGE,
    ),
    _case(
        "tiny_magnitudes",
        (1, 48, 1, 2, 24, 18),
        "Inputs around 10⁻⁶ and upstream gradients around 10⁻⁸.",
        values=Values.TINY,
    ),
    _case(
        "upstream_transposed",
        (2, 37, 1, 3, 26, 12),
        "Heads and elements of the upstream gradient are exchanged in memory.",
        layouts={"grad_output": Layout.TRANSPOSED},
    ),
    _case(
        "inputs_transposed",
        (2, 42, 2, 1, 9, 14),
        "The last two dimensions of every input are exchanged in memory, not the upstream's.",
        layouts=dict.fromkeys(("x", "dt", "B", "C"), Layout.TRANSPOSED),
    ),
    _case(
        "all_sliced",
        (2, 66, 2, 1, 11, 19),
        "Every tensor with a sequence is a slice of a wider buffer.",
        layouts=dict.fromkeys(_EVERYTHING, Layout.SLICED),
    ),
)

CASES = _PUBLIC + tuple(replace(case, public=False) for case in _HIDDEN)
