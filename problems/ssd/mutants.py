"""SSD's mutants: states between chunks, decays, paths through dt, groups, strides, precision."""

from __future__ import annotations

from dataclasses import replace

import torch

from problems.mutants import (
    BLOCK,
    Diagnosis,
    Mutant,
    Spoiler,
    last_rows_zero,
    read_linearly,
)
from problems.ssd import mistakes, wrong
from problems.ssd.formulas import (
    CHUNK,
    Steps,
    in_low_precision,
    rounded_to_bfloat16,
)
from problems.ssd.problem import PROBLEM

T = torch.Tensor

ALL = ("dx", "ddt", "dA", "dB", "dC")
OF_DECAYS = ("ddt", "dA")
OF_WRITES = ("dx", "ddt", "dA", "dB")
OF_GROUPS = ("dB", "dC")
OF_PAIRS = ("dx", "ddt", "dB", "dC")
MATRICES = ("dx", "dB", "dC")
_make = Spoiler(PROBLEM)


def _mutant(
    name: str,
    what: str,
    steps: Steps,
    gradients: tuple[str, ...],
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    """`steps` on a kernel's precision."""
    steps = replace(steps, rounded=rounded_to_bfloat16)
    return Mutant(
        name, what, lambda **given: in_low_precision(steps, given), gradients, diagnosis, term
    )


def _missing(name: str, what: str, steps: Steps, gradients: tuple[str, ...], term: str) -> Mutant:
    return _mutant(name, what, steps, gradients, Diagnosis.MISSING_TERM, term)


_OF_STATES = (
    _missing(
        "chunks_alone",
        f"Chunks of {CHUNK} steps begin without a state and end without a gradient of it.",
        mistakes.CHUNKS_ALONE,
        ALL,
        "everything between chunks",
    ),
    _missing(
        "no_states",
        "The states that reach a chunk are not recomputed: they are taken for zero.",
        mistakes.NO_STATES,
        (*OF_DECAYS, "dC"),
        "the states",
    ),
    _missing(
        "no_reverse_pass",
        "The gradient of a state is not passed from a chunk to the one before.",
        mistakes.NO_FUTURE,
        OF_WRITES,
        "the reverse pass",
    ),
    _missing(
        "reverse_pass_without_decay",
        "The gradient of a state passes a chunk without the chunk's decay.",
        mistakes.FUTURE_UNDECAYED,
        OF_WRITES,
        "the decay of the chunk",
    ),
    _mutant(
        "states_of_another_head",
        "A chunk begins with the state of the head before.",
        Steps(arriving=wrong.of_the_head_before),
        (*OF_DECAYS, "dC"),
    ),
    Mutant(
        "states_across_sequences",
        "A sequence begins with the state of the one before it.",
        wrong.sequences_in_one_row,
        ALL,
    ),
)

_OF_OFFSETS = (
    _missing(
        "own_step_too",
        "What comes in at a step decays at that step already: one decay too many.",
        mistakes.OWN_STEP_TOO,
        ALL,
        "one step",
    ),
    _missing(
        "a_step_late",
        "The state before a chunk reaches its first step without that step's decay.",
        mistakes.A_STEP_LATE,
        ALL,
        "one step",
    ),
    _mutant(
        "not_causal",
        "Within a chunk there is no mask.",
        Steps(decays=wrong.not_causal),
        OF_PAIRS,
    ),
    _mutant(
        "quotients_of_exponentials",
        "Divides exponentials of running sums, which underflow.",
        Steps(decays=wrong.by_quotients),
        ALL,
        Diagnosis.NOT_FINITE,
    ),
    _mutant(
        "masked_after_the_exponential",
        "Takes the exponential first and multiplies by the mask: infinity times zero.",
        Steps(decays=wrong.masked_afterwards),
        OF_PAIRS,
        Diagnosis.NOT_FINITE,
    ),
    _mutant(
        "logarithms_in_bfloat16",
        "Rounds the running sums of log decays to bfloat16.",
        Steps(decays=wrong.logarithms_in_bfloat16),
        ALL,
        Diagnosis.LOW_PRECISION,
    ),
)

_OF_DECAYS = (
    _missing(
        "cumulated_forward",
        "The gradient of the log decays is a running sum from the first step, not from the last.",
        mistakes.CUMULATED_FORWARD,
        OF_DECAYS,
        "the direction of the sum",
    ),
    _missing(
        "decays_inside_alone",
        "The gradient of the log decays leaves out states that come from or go to other chunks.",
        mistakes.INSIDE_ALONE,
        OF_DECAYS,
        "the paths between chunks",
    ),
    _mutant(
        "blocks_of_columns",
        "Within a chunk, paths across blocks of 16 steps are left out of the log decays' gradient.",
        Steps(log_decay=wrong.blocks_of_columns),
        OF_DECAYS,
    ),
    _mutant(
        "arriving_not_run_back",
        "What a state before the chunk gives to a step counts for that step's decay alone.",
        Steps(log_decay=wrong.not_run_back),
        OF_DECAYS,
    ),
    Mutant(
        "difference_of_outputs",
        "Takes <dy, y> − <x, dx> for what the paths that cross a step leave, which cancels.",
        wrong.from_outputs,
        OF_DECAYS,
    ),
    _missing(
        "ddt_without_the_decay",
        "dt is taken for a factor of what comes in alone.",
        mistakes.NOT_BY_THE_DECAY,
        ("ddt",),
        "A times the log decay's gradient",
    ),
    _missing(
        "ddt_by_the_decay_alone",
        "dt is taken for a part of the decay alone.",
        mistakes.BY_THE_DECAY_ALONE,
        ("ddt",),
        "the direct part",
    ),
    _missing(
        "dA_without_dt",
        "dA is the sum of the log decays' gradients, without dt.",
        mistakes.DECAY_WITHOUT_DT,
        ("dA",),
        "dt",
    ),
    _mutant(
        "dA_of_the_last_chunk",
        "Each chunk's share of dA overwrites the one before.",
        Steps(over_steps=wrong.of_the_last_chunk),
        ("dA",),
    ),
    _mutant(
        "dA_of_the_last_sequence",
        "Each sequence's share of dA overwrites the one before.",
        Steps(over_steps=wrong.of_one_sequence),
        ("dA",),
        Diagnosis.ONE_BLOCK,
    ),
)

_OF_DT = (
    _missing(
        "dx_without_dt",
        "dx lacks the factor dt.",
        mistakes.DX_WITHOUT_DT,
        ("dx",),
        "dt",
    ),
    _missing(
        "dB_without_dt",
        "dB and, within a chunk, dC lack the factor dt.",
        mistakes.KEYS_WITHOUT_DT,
        OF_GROUPS,
        "dt",
    ),
)

_OF_GROUPS = (
    _missing(
        "first_head_of_the_group",
        "dB and dC hold what the first head of each group adds.",
        mistakes.FIRST_HEAD,
        OF_GROUPS,
        "the sum over the group",
    ),
    _missing(
        "last_head_of_the_group",
        "The heads of a group overwrite each other's dB and dC.",
        mistakes.LAST_HEAD,
        OF_GROUPS,
        "the sum over the group",
    ),
    _missing(
        "mean_of_the_group",
        "dB and dC are averaged over the heads of a group.",
        mistakes.MEAN_OF_GROUP,
        OF_GROUPS,
        "the number of heads",
    ),
    Mutant(
        "heads_in_turn",
        "Head h takes the B and C of group h mod G.",
        wrong.turned,
        ALL,
        Diagnosis.MISSING_TERM,
        "h // R",
    ),
    _mutant(
        "group_races",
        "The heads of a group add to dB and dC without atomics, so that some of what they add is lost.",
        Steps(over_group=wrong.racing),
        OF_GROUPS,
    ),
    Mutant(
        "dB_and_dC_swapped",
        "dB and dC are returned in the wrong order.",
        wrong.swapped,
        OF_GROUPS,
        Diagnosis.SWAPPED,
    ),
)


def _strides(argument: str, gradients: tuple[str, ...]) -> Mutant:
    return _make.argument(
        argument,
        f"{argument}_strides",
        f"{argument} is read from memory in order, whatever its strides are.",
        read_linearly,
        gradients,
        Diagnosis.STRIDES,
    )


_LAST_STEPS = _make.results(
    "last_steps_zero",
    f"Steps beyond the last full block of {BLOCK} are never stored.",
    lambda g: last_rows_zero(g.transpose(0, 1)).transpose(0, 1).contiguous(),
    OF_PAIRS,
    Diagnosis.LAST_BLOCK,
)

# Rows are sequences here, of which no case has more than a block; and a percent of dA, a few numbers, is
# little more than where matrices are rounded decides.
_NOT_HERE = {"last_rows_zero", "dA_times_1.01"}

MUTANTS = (
    *(m for m in _make.common(MATRICES) if m.name not in _NOT_HERE),
    _LAST_STEPS,
    *_make.upstream(),
    *_OF_STATES,
    *_OF_OFFSETS,
    *_OF_DECAYS,
    *_OF_DT,
    *_OF_GROUPS,
    _strides("x", (*OF_DECAYS, "dB", "dC")),
    _strides("dt", ALL),
    _strides("B", ("dx", *OF_DECAYS, "dC")),
    _strides("C", ("dx", *OF_DECAYS, "dB")),
)
