"""The SwiGLU MLP's mutants: what is saved or recomputed wrongly, and what any kernel does."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from problems.mutants import Diagnosis, Mutant, Spoiler, read_linearly, running_sum
from problems.spec import Gradients
from problems.swiglu_mlp_pair.formulas import of_gate_and_up
from problems.swiglu_mlp_pair.mistakes import MISTAKES
from problems.swiglu_mlp_pair.problem import PROBLEM

T = torch.Tensor

_make = Spoiler(PROBLEM)
_WIDE = ("dx", "dw_gate", "dw_up", "dw_down")


def _kept(change: Callable[[T], T]) -> Callable[..., Gradients]:
    """A backward for which gate and up were kept after `change`."""

    def backward(grad_output: T, x: T, w_gate: T, w_up: T, w_down: T) -> Gradients:
        wide, wg, wu, wd = (t.float() for t in (x, w_gate, w_up, w_down))
        gate, up = change(wide @ wg.t()), change(wide @ wu.t())
        dy = grad_output.float()
        dgate, dup = of_gate_and_up(gate, up, dy @ wd)
        dx = (dgate @ wg + dup @ wu).bfloat16()
        return dx, dgate.t() @ wide, dup.t() @ wide, dy.t() @ (F.silu(gate) * up)

    return backward


def _in_eight_bits(t: T) -> T:
    scale = 448.0 / t.abs().amax().clamp(min=torch.finfo(torch.float32).tiny)
    return (t * scale).to(torch.float8_e4m3fn).float() / scale


def _next_row(t: T) -> T:
    """What lies in a buffer that the next micro-batch has overwritten."""
    return torch.randn(t.shape, generator=torch.Generator().manual_seed(t.numel())) * (
        t.abs().mean() + torch.finfo(torch.float32).tiny
    )


def _mistake(place: int, gradient: str, name: str, what: str, term: str) -> Mutant:
    def wrong(**given: T) -> T:
        single = {n: t.float() for n, t in given.items()}
        found = MISTAKES[place].gradients(**single)
        return found[_make.names.index(gradient)]

    return _make.one(gradient, name, what, wrong, Diagnosis.MISSING_TERM, term)


def _dw_down_in_bfloat16(grad_output: T, x: T, w_gate: T, w_up: T, w_down: T) -> T:
    h = F.silu(x.float() @ w_gate.float().t()) * (x.float() @ w_up.float().t())
    terms = grad_output.float()[:, :, None] * h[:, None, :]
    return running_sum(terms, torch.bfloat16).float()


def _over_one_block(grad_output: T, x: T, w_gate: T, w_up: T, w_down: T) -> T:
    h = F.silu(x.float() @ w_gate.float().t()) * (x.float() @ w_up.float().t())
    return grad_output.float()[:64].t() @ h[:64]


def _swapped(**given: T) -> Gradients:
    dx, dw_gate, dw_up, dw_down = PROBLEM.baseline(**given)
    return dx, dw_up, dw_gate, dw_down


MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    Mutant("kept_in_eight_bits", "Saves gate and up in float8.", _kept(_in_eight_bits), _WIDE),
    Mutant(
        "stale_through_a_global",
        "Reads gate and up from global variables, where the next micro-batch's lie by then.",
        _kept(_next_row),
        _WIDE,
    ),
    _make.argument(
        "x",
        "saved_in_the_order_of_memory",
        "Saves the memory of x in order, whatever its strides are.",
        read_linearly,
        _WIDE,
        Diagnosis.STRIDES,
    ),
    Mutant(
        "gate_and_up_swapped",
        "Returns the gradients of the two projections in the other order.",
        _swapped,
        ("dw_gate", "dw_up"),
        Diagnosis.SWAPPED,
    ),
    _mistake(
        0,
        "dw_gate",
        "silu_is_its_sigmoid",
        "Differentiates SiLU as if its sigmoid were constant.",
        "gate · (1 − σ)",
    ),
    _mistake(3, "dx", "dx_through_the_gate_alone", "Forgets that x also goes through w_up.", "dup"),
    _mistake(5, "dw_down", "h_without_silu", "Recomputes h without SiLU.", "sigmoid(gate)"),
    _make.one(
        "dw_down",
        "dw_down_added_in_bfloat16",
        "Adds the tokens' shares of dw_down up in bfloat16.",
        _dw_down_in_bfloat16,
        Diagnosis.LOW_PRECISION,
    ),
    _make.one(
        "dw_down",
        "dw_down_over_one_block",
        "Sums dw_down over the first 64 tokens only.",
        _over_one_block,
        Diagnosis.ONE_BLOCK,
    ),
    _make.results(
        "dw_up_missing",
        "The gradient of w_up is left at zero.",
        torch.zeros_like,
        ["dw_up"],
        Diagnosis.ALL_ZERO,
    ),
)
