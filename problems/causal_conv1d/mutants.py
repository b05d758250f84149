"""The convolution's mutants: time shifted or turned round, halos forgotten, sums cut short or coarse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from problems.causal_conv1d import mistakes
from problems.causal_conv1d.formulas import convolved, dweight_of, dx_of, silu_derivative
from problems.causal_conv1d.problem import PROBLEM
from problems.mutants import (
    BLOCK,
    Backward,
    Diagnosis,
    Mutant,
    Spoiler,
    full_blocks,
    racing_sum,
    read_linearly,
    read_with_strides,
    running_sum,
)
from problems.spec import Gradients

T = torch.Tensor

ALL = ("dx", "dweight", "dbias")
SHORT = 4  # steps of a block whose beginning matters
_make = Spoiler(PROBLEM)


def _g(grad_output: T, x: T, weight: T, bias: T) -> T:
    u = convolved(x.float(), weight.float(), bias.float())
    return grad_output.float() * silu_derivative(u)


def _stored(gradients: Gradients) -> Gradients:
    dx, dweight, dbias = gradients
    return dx.bfloat16(), dweight, dbias


def _from_u(u_of: Callable[[T, T, T], T]) -> Backward:
    """All three gradients right but for a u that was computed anew, and wrongly."""

    def backward(grad_output: T, x: T, weight: T, bias: T) -> Gradients:
        x, weight = x.float(), weight.float()
        g = grad_output.float() * silu_derivative(u_of(x, weight, bias.float()))
        return _stored((dx_of(g, weight), dweight_of(g, x, weight.shape[1]), g.sum((0, 1))))

    return backward


def _mistaken(mistake: Callable[..., Gradients]) -> Backward:
    def backward(**arguments: T) -> Gradients:
        return _stored(mistake(**{name: t.float() for name, t in arguments.items()}))

    return backward


def _sequences_in_one_row(x: T, weight: T, bias: T) -> T:
    return convolved(x.reshape(1, -1, x.shape[2]), weight, bias).reshape(x.shape)


def _dx_from_the_next_sequence(**given: T) -> T:
    g = _g(**given)
    return dx_of(g.reshape(1, -1, g.shape[2]), given["weight"].float()).reshape(g.shape)


def _terms(width_of: T, g: T, x: T) -> T:
    """What each step of each sequence adds to dweight, (B · T, D, W)."""
    width, steps = width_of.shape[1], x.shape[1]
    padded = torch.nn.functional.pad(x.float(), (0, 0, width - 1, 0))
    terms = torch.stack([g * padded[:, k : k + steps] for k in range(width)], dim=-1)
    return terms.reshape(-1, *terms.shape[2:])


def _dweight_terms(**given: T) -> T:
    return _terms(given["weight"], _g(**given), given["x"])


def _dweight_of(part: Callable[[T], T]) -> Callable[..., T]:
    """dweight over a part of the sequences or steps."""

    def wrong(**given: T) -> T:
        cut = given | {name: part(given[name]) for name in ("grad_output", "x")}
        return dweight_of(_g(**cut), cut["x"].float(), given["weight"].shape[1])

    return wrong


def _dweight_of_rounded_g(**given: T) -> T:
    g = _g(**given).bfloat16().float()
    return dweight_of(g, given["x"].float(), given["weight"].shape[1])


def _dbias_without_silu(**given: T) -> T:
    return given["grad_output"].float().sum((0, 1))


def _whole(
    name: str,
    what: str,
    backward: Backward,
    gradients: Sequence[str] = ALL,
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    return Mutant(name, what, backward, tuple(gradients), diagnosis, term)


_OF_TIME = (
    _whole(
        "dx_looks_back",
        "Convolves g as forward convolves x, so dx collects from the past.",
        _mistaken(mistakes.causal_dx),
        ("dx",),
        Diagnosis.MISSING_TERM,
        "the direction of time",
    ),
    _whole(
        "taps_reversed",
        "Takes the taps newest first, in dx and in dweight.",
        _mistaken(mistakes.taps_reversed),
        ("dx", "dweight"),
        Diagnosis.MISSING_TERM,
        "the order of the taps",
    ),
    _whole(
        "one_step_off",
        "The causal shift is off by one: W for W − 1.",
        _mistaken(mistakes.one_step_late),
        ("dx", "dweight"),
        Diagnosis.MISSING_TERM,
        "one step",
    ),
    _whole(
        "u_without_the_block_before",
        f"Recomputes u in blocks of {SHORT} steps, each as if nothing came before it.",
        _mistaken(mistakes.u_without_halo(SHORT)),
        ALL,
        Diagnosis.MISSING_TERM,
        "the halo of u",
    ),
    _whole(
        "u_across_sequences",
        "Recomputes u over all sequences in a row, so that each sees the end of the one before.",
        _from_u(_sequences_in_one_row),
    ),
    _whole(
        "sums_without_halo",
        f"Works on {BLOCK} steps as on a sequence of its own: dx and dweight miss what crosses borders.",
        _mistaken(mistakes.sums_without_halo(BLOCK)),
        ("dx", "dweight"),
        Diagnosis.MISSING_TERM,
        "the halo of dx and dweight",
    ),
    _make.one(
        "dx",
        "dx_from_the_next_sequence",
        "The last steps of a sequence collect from the first of the next one.",
        _dx_from_the_next_sequence,
    ),
)

_OF_SILU = (
    _whole(
        "silu_derivative_missing",
        "Backward of the convolution alone, as if it had no activation.",
        _mistaken(mistakes.without_silu),
        ALL,
        Diagnosis.MISSING_TERM,
        "silu'(u)",
    ),
    _whole(
        "sigmoid_for_derivative",
        "SiLU's derivative lacks its second term.",
        _mistaken(mistakes.sigmoid_for_derivative),
        ALL,
        Diagnosis.MISSING_TERM,
        "σ(u) u (1 − σ(u))",
    ),
    _whole(
        "bias_missing",
        "Recomputes u without the bias.",
        _mistaken(mistakes.without_bias),
        ALL,
        Diagnosis.MISSING_TERM,
        "bias",
    ),
    _make.one(
        "dbias",
        "dbias_of_the_upstream",
        "Sums grad_output for dbias, not what is left of it before SiLU.",
        _dbias_without_silu,
        Diagnosis.MISSING_TERM,
        "silu'(u)",
    ),
)

_OF_THE_SUMS = (
    _make.one(
        "dweight",
        "dweight_of_one_sequence",
        "Sums dweight over the first sequence only.",
        _dweight_of(lambda t: t[:1]),
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dweight",
        "dweight_of_one_block",
        f"Sums dweight over the first {BLOCK} steps only.",
        _dweight_of(lambda t: t[:, :BLOCK]),
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dweight",
        "dweight_without_the_last_block",
        f"Sums dweight over whole blocks of {BLOCK} steps and forgets those left over.",
        _dweight_of(lambda t: t[:, : full_blocks(t, 1)]),
        Diagnosis.ONE_BLOCK,
    ),
    _make.one(
        "dweight",
        "dweight_in_bfloat16",
        "Adds the steps of dweight up one by one in bfloat16.",
        lambda **given: running_sum(_dweight_terms(**given), torch.bfloat16),
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dweight",
        "dweight_of_rounded_g",
        "Rounds g to bfloat16 before it is multiplied, though dweight is asked for in float32.",
        _dweight_of_rounded_g,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dweight",
        "dweight_races",
        "Blocks of steps add to dweight without atomics, so that some additions are lost.",
        lambda **given: racing_sum(_dweight_terms(**given)),
    ),
    _make.one(
        "dbias",
        "dbias_partials_in_bfloat16",
        f"Adds blocks of {BLOCK} steps up in float32 and their sums in bfloat16.",
        lambda **given: running_sum(_g(**given).flatten(0, 1), torch.bfloat16, BLOCK),
        Diagnosis.LOW_PRECISION,
    ),
)

_OF_MEMORY = (
    _make.argument(
        "x",
        "x_strides",
        "x is read from memory in order, whatever its strides are.",
        read_linearly,
        ALL,
        Diagnosis.STRIDES,
    ),
    _make.argument(
        "weight",
        "weight_strides",
        "The taps are read from memory in order, whatever their strides are.",
        read_linearly,
        ("dx", "dweight", "dbias"),
        Diagnosis.STRIDES,
    ),
    _whole(
        "strides_of_x_for_the_upstream",
        "Reads grad_output with the strides of x.",
        lambda **given: PROBLEM.baseline(
            **given | {"grad_output": read_with_strides(given["grad_output"], given["x"].stride())}
        ),
    ),
)

MUTANTS = (
    *_make.common(["dx"]),
    *_make.upstream(),
    *_OF_TIME,
    *_OF_SILU,
    *_OF_THE_SUMS,
    *_OF_MEMORY,
)
