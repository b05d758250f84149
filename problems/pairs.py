"""Pairs: problems in which the submission also writes `forward` and chooses what it saves.

The mathematics of a pair is that of any problem, a function from `grad_output` and the inputs of
`forward` to gradients, so that its closed form, mutants and cases are what they are elsewhere. Only how
the submission is called differs: `forward(x, weight) -> y, saved` in one process, and in another one,
which has nothing but these bytes, `backward(grad_output, saved, weight) -> dx, dweight`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from problems.spec import (
    Dims,
    Gradients,
    GradientSpec,
    Problem,
    Role,
    Tensors,
    lengths,
)

SAVED = "saved"
# What may be saved at most: this many times what plain PyTorch saves, and room for small tensors.
MOST_TIMES = 4
MOST_BESIDES = 64 << 10
MOST_TENSORS = 16

Saved = tuple[torch.Tensor, ...]
Given = Mapping[str, torch.Tensor | Saved | None]


@dataclass(frozen=True)
class Pair:
    """What makes a problem one of forward and backward.

    `output` is declared as a gradient is. `parameters` names the inputs that training keeps anyway:
    `backward` is handed them once more, and they cost nothing. `forward(**inputs)` returns the output
    and what is saved, `backward(grad_output, saved, **parameters)` the gradients: the plain PyTorch
    pair, which saves what PyTorch's autograd would, in the same dtypes.
    """

    output: GradientSpec
    parameters: tuple[str, ...]
    forward: Callable[..., tuple[torch.Tensor, Saved]]
    backward: Callable[..., Gradients]

    def gradients(self, grad_output: torch.Tensor, **inputs: torch.Tensor) -> Gradients:
        """The plain pair as one function: a problem's `baseline`."""
        kept = {name: inputs[name] for name in self.parameters}
        return self.backward(grad_output, self.forward(**inputs)[1], **kept)


@dataclass(frozen=True)
class Function:
    """One function of a submission: its parameters in order, and the tensors it returns.

    One that `saves` returns a single output and a tuple of tensors of its own choosing.
    """

    name: str
    parameters: tuple[str, ...]
    outputs: tuple[GradientSpec, ...]
    saves: bool = False

    @property
    def signature(self) -> str:
        returned = ", ".join(o.name for o in self.outputs) + (f", {SAVED}" if self.saves else "")
        return f"{self.call} -> {returned}"

    @property
    def call(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"


def functions_of(problem: Problem) -> tuple[Function, ...]:
    """What a submission must define, in the order in which it is called; `backward` is the last."""
    names = problem.argument_names
    pair = problem.pair
    if pair is None:
        return (Function("backward", names, problem.gradients),)
    upstream = next(a.name for a in problem.arguments if a.role is Role.GRAD_OUTPUT)
    inputs = tuple(name for name in names if name != upstream)
    return (
        Function("forward", inputs, (pair.output,), saves=True),
        Function("backward", (upstream, SAVED, *pair.parameters), problem.gradients),
    )


def given(function: Function, arguments: Tensors, saved: Saved = ()) -> Given:
    """The arguments of one call of `function`, in order; None for a buffer that is not handed over."""
    everything: Given = {**arguments, SAVED: saved}
    return {name: everything.get(name) for name in function.parameters}


def forward_of(problem: Problem) -> Problem:
    """The question that a pair's `forward` answers, in the form of any other: its one result is y."""
    pair = problem.pair
    assert pair is not None
    return replace(
        problem,
        pair=None,
        arguments=tuple(a for a in problem.arguments if a.role is not Role.GRAD_OUTPUT),
        gradients=(pair.output,),
        closed_form=lambda **inputs: (problem.forward(**inputs),),
        baseline=lambda **inputs: pair.forward(**inputs)[:1],
        invariants=(),
        mistakes=(),
    )


def inputs_of(problem: Problem, arguments: Tensors) -> Tensors:
    """Those of `arguments` that a pair's `forward` takes."""
    return {a.name: arguments[a.name] for a in forward_of(problem).arguments}


def whole(
    problem: Problem,
    forward: Callable[..., tuple[torch.Tensor, Sequence[torch.Tensor]]],
    backward: Callable[..., torch.Tensor | Sequence[torch.Tensor]],
) -> Callable[..., Gradients]:
    """A submission's two functions as one from all arguments to gradients, in one process."""

    def run(**arguments: torch.Tensor) -> Gradients:
        first, last = functions_of(problem)
        _, saved = forward(*given(first, arguments).values())
        returned = backward(*given(last, arguments, tuple(saved)).values())
        return (returned,) if isinstance(returned, torch.Tensor) else tuple(returned)

    return run


def plainly_saved(problem: Problem, dims: Dims) -> Saved:
    """What the plain pair saves at this shape, as tensors without memory."""
    pair = problem.pair
    assert pair is not None
    inputs = {
        a.name: torch.empty(lengths(a.shape, dims), dtype=a.dtype, device="meta")
        for a in forward_of(problem).arguments
    }
    return pair.forward(**inputs)[1]


def bytes_of(tensors: Saved) -> int:
    """Bytes of the elements, whatever the strides: what is handed over."""
    return sum(t.numel() * t.dtype.itemsize for t in tensors)


def most_saved(problem: Problem, dims: Dims) -> int:
    """Bytes that a submission may save at this shape."""
    return MOST_TIMES * bytes_of(plainly_saved(problem, dims)) + MOST_BESIDES
