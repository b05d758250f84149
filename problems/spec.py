"""What a problem is: one declaration from which the page, the cases, the judge and the tests follow.

The model is PyTorch's OpInfo: a problem says everything once. See `problems/rms_norm` for a complete
example and README.md, "Adding a problem", for the way there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch

from problems.accumulation import accumulating
from problems.layouts import Layout, apply_layout

if TYPE_CHECKING:
    from problems.pairs import Pair

Tensors = dict[str, torch.Tensor]
Gradients = tuple[torch.Tensor, ...]
Dims = Mapping[str, int]


class Role(StrEnum):
    """Why a tensor is handed to `backward`."""

    GRAD_OUTPUT = "grad_output"
    INPUT = "input"
    SAVED = "saved"
    BUFFER = "buffer"


class Language(StrEnum):
    """What a submission is written in."""

    TRITON = "triton"
    PYTORCH = "pytorch"

    @property
    def label(self) -> str:
        return {"triton": "Triton", "pytorch": "PyTorch"}[self.value]


@dataclass(frozen=True)
class TensorSpec:
    """One argument of `backward`.

    `shape` names dimensions of the problem, e.g. ``("M", "N")``, or what is made of them: ``"2P"`` is
    twice the dimension P, ``"H*G"`` a product and ``"S+1"`` a sum. ``()`` is a 0-dimensional tensor.
    `shape_only` says that the gradient does not depend on its values: it is handed over for its shape,
    and the least traffic leaves it unread.
    """

    name: str
    dtype: torch.dtype
    role: Role
    shape: tuple[str, ...]
    meaning: str
    shape_only: bool = False


@dataclass(frozen=True)
class GradientSpec:
    """One gradient that `backward` returns; `wrt` names the argument it is the gradient of.

    A parameter whose value `backward` does not need (a bias) is not an argument, so `wrt` names an
    input of `forward` all the same.

    `accumulates` declares another argument, `buffer`, after all others. It is None in ordinary cases.
    In a case that accumulates it is a contiguous tensor of this dtype and shape that holds an earlier
    gradient: `backward` adds to it in place and returns that very tensor.
    """

    name: str
    wrt: str
    dtype: torch.dtype
    shape: tuple[str, ...]
    meaning: str
    accumulates: bool = False

    @property
    def buffer(self) -> str:
        """The name of the argument to add to, if the gradient accumulates."""
        return f"{self.name}_buffer"


@dataclass(frozen=True)
class Case:
    """Inputs on which correctness is judged.

    `values` picks one of the value distributions the problem's `sample` knows ("normal" always
    exists). `layouts` gives some arguments another memory layout; the values stay the same, except
    under `Layout.EXPANDED`, where every row is the first one. `accumulate` hands over the buffers of
    those gradients that can be added to one. `why` is one sentence, shown with the verdict.
    """

    name: str
    dims: Dims
    why: str
    values: str = "normal"
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    public: bool = True
    accumulate: bool = False

    @property
    def shape_label(self) -> str:
        return " × ".join(f"{k}={v}" for k, v in self.dims.items())


@dataclass(frozen=True)
class Benchmark:
    """A shape on which time is measured, taken from a real model named in `model`.

    `values` picks the distribution, where time depends on it.
    """

    name: str
    dims: Dims
    model: str
    values: str = "normal"

    @property
    def shape_label(self) -> str:
        return " × ".join(f"{k}={v}" for k, v in self.dims.items())


@dataclass(frozen=True)
class Cost:
    """The least work a shape needs: bytes to and from main memory, and FLOPs by the unit doing them.

    `matrix_flops` run on tensor cores (a CPU: its matrix multiply), `vector_flops` on the rest.
    """

    bytes: int
    vector_flops: int = 0
    matrix_flops: int = 0

    @property
    def arithmetic_intensity(self) -> float:
        """FLOPs for each byte moved."""
        return (self.vector_flops + self.matrix_flops) / self.bytes


@dataclass(frozen=True)
class Mistake:
    """A way of being wrong that is peculiar to a problem, to be recognised in a submission.

    `what` continues the gradient's name ("lacks the term through rstd"); `gradients` is the closed form
    with the mistake in it.
    """

    what: str
    gradients: Callable[..., Gradients]


@dataclass(frozen=True)
class Invariant:
    """What holds exactly for a gradient whatever the values: weighted sums along rows that vanish.

    `weights(**arguments)` has the gradient's shape (or broadcasts to it), in float64;
    sum over the last dimension of weights · gradient is 0.
    """

    name: str
    gradient: str
    weights: Callable[..., torch.Tensor]


Tier = Literal["Warm-up", "Reductions", "Matrix products", "Losses", "Indexing", "Sequences"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A backward kernel to write.

    The functions take tensors by the names of the specs and are generic in the floating dtype:

    - `forward(**inputs)` returns the output; correct in float64.
    - `saved(**inputs)` returns the tensors of role SAVED (empty when there are none).
    - `closed_form(**arguments)` returns the gradients in the order of `gradients`. Proven against
      float64 autograd by a test; submissions are graded against it in float64.
    - `baseline(**arguments)` is the plain PyTorch backward: what one writes without a kernel, fed the
      low-precision tensors themselves. Its error is the yardstick for the tolerance, its time the 1.0
      of the speed-up.
    - `sample(dims, values, generator)` returns float64 (or integer) tensors for every argument that is
      not saved, plus those inputs of `forward` that `backward` does not need.
    - `cost(dims)` is the roofline's numerator.

    `integers(dims, generator)` draws the arguments that are no floating numbers as `sample` does for
    "normal", and nothing else: at a GPU's benchmark shape the rest would not fit into memory.

    None of them knows the buffers of gradients that accumulate: `closed_form` and `baseline` of a
    Problem take them all the same, and add what they give to a buffer that is handed over.

    `invariants` are checked beside the errors; `mistakes` help to say what a wrong gradient lacks.
    `chained_products` says that a matrix is made by one matrix product and enters the next: tensor cores
    take it in bfloat16, so kernels round it on the way. The baseline has to do the same, and the
    gradients, float32 ones too, are no more accurate than that. `free_roundings` says besides that
    kernels may cut a sum into chunks of any length, and so round in places where the baseline does not:
    the tolerance then also covers what moves when arguments are rounded once more.

    With `pair` the submission writes `forward` too and chooses what to save: no argument is then of role
    SAVED, and `baseline` is `pair.gradients`.
    """

    slug: str
    title: str
    summary: str
    tier: Tier
    tags: tuple[str, ...]
    models: tuple[str, ...]
    version: int
    arguments: tuple[TensorSpec, ...]
    gradients: tuple[GradientSpec, ...]
    forward: Callable[..., torch.Tensor]
    saved: Callable[..., Tensors]
    closed_form: Callable[..., Gradients]
    baseline: Callable[..., Gradients]
    sample: Callable[[Dims, str, torch.Generator], Tensors]
    cost: Callable[[Dims], Cost]
    cases: tuple[Case, ...]
    benchmarks: Mapping[str, tuple[Benchmark, ...]]
    package: Path
    invariants: tuple[Invariant, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    chained_products: bool = False
    free_roundings: bool = False
    integers: Callable[[Dims, torch.Generator], Tensors] = field(default=lambda _, __: {})
    pair: Pair | None = None

    def __post_init__(self) -> None:
        for name in ("closed_form", "baseline"):
            object.__setattr__(self, name, self.accumulating(getattr(self, name)))

    @property
    def url_slug(self) -> str:
        return self.slug.replace("_", "-")

    @property
    def signature(self) -> str:
        """``backward(grad_output, x, weight, rstd) -> dx, dweight``; a pair has a line for each."""
        from problems.pairs import functions_of  # which needs these types

        return "\n".join(function.signature for function in functions_of(self))

    @cached_property
    def buffers(self) -> tuple[TensorSpec, ...]:
        """The arguments, after `arguments`, that are None but in cases that accumulate."""
        return tuple(
            TensorSpec(g.buffer, g.dtype, Role.BUFFER, g.shape, f"None, or where to add {g.name}")
            for g in self.gradients
            if g.accumulates
        )

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Everything that `backward` takes, in order."""
        return tuple(a.name for a in (*self.arguments, *self.buffers))

    def accumulating(self, formula: Callable[..., Gradients]) -> Callable[..., Gradients]:
        """`formula`, which takes `arguments`, as one that also takes and adds to buffers."""
        return accumulating(formula, self.gradients, self.argument_names)

    def call(self, backward: Callable[..., Gradients | torch.Tensor], given: Tensors) -> Gradients:
        """What `backward` returns when called as a judge calls it: by position, None for a buffer that
        is not given. Buffers are copied, so that `given` stays as it is."""
        buffers = {b.name: given[b.name].clone() for b in self.buffers if b.name in given}
        returned = backward(*((given | buffers).get(name) for name in self.argument_names))
        return (returned,) if isinstance(returned, torch.Tensor) else tuple(returned)

    @cached_property
    def text(self) -> Mapping[str, str]:
        """Markdown of the page by section: statement, special, derivation, hints."""
        return {p.stem: p.read_text(encoding="utf-8") for p in sorted(self.package.glob("*.md"))}

    def starter(self, language: Language) -> str:
        """The file a newcomer begins with: it runs, and fails with a helpful verdict."""
        return (self.package / "starters" / f"{language}.py").read_text(encoding="utf-8")

    def make_arguments(self, case: Case | Benchmark, seed: int) -> Tensors:
        """The tensors of one call, by name in the order of the signature, in their declared dtypes.

        Saved tensors come from the double-precision forward on the rounded inputs, then are rounded
        themselves, as a training framework would hold them. Buffers are there only in a case that
        accumulates.
        """
        return self._sample(case, seed)[1] | self._earlier_gradients(case, seed)

    def _earlier_gradients(self, case: Case | Benchmark, seed: int) -> Tensors:
        """What the buffers hold: the gradients of another micro-batch."""
        if not isinstance(case, Case) or not case.accumulate:
            return {}
        earlier = self.reference(self._sample(case, seed + 1)[1])
        pairs = zip(self.gradients, earlier, strict=True)
        return {g.buffer: t.to(g.dtype) for g, t in pairs if g.accumulates}

    def make_forward_inputs(self, case: Case | Benchmark, seed: int) -> Tensors:
        """The float64 inputs of `forward` that belong to `make_arguments(case, seed)`."""
        return self._sample(case, seed)[0]

    def _sample(self, case: Case | Benchmark, seed: int) -> tuple[Tensors, Tensors]:
        generator = torch.Generator().manual_seed(seed)
        layouts = case.layouts if isinstance(case, Case) else {}
        drawn = self.sample(case.dims, case.values, generator)
        specs = {a.name: a for a in self.arguments}
        given = {
            name: apply_layout(tensor.to(specs[name].dtype), layouts.get(name, Layout.CONTIGUOUS))
            if name in specs
            else tensor
            for name, tensor in drawn.items()
        }
        # What backward does not get is float64 as drawn, and may be an expanded tensor: never copied.
        inputs = {
            name: widen(t) if name in specs else t
            for name, t in given.items()
            if name != "grad_output"
        }
        saved = {
            name: apply_layout(tensor.to(specs[name].dtype), layouts.get(name, Layout.CONTIGUOUS))
            for name, tensor in self.saved(**inputs).items()
        }
        everything = given | saved
        return inputs, {a.name: everything[a.name] for a in self.arguments}

    def make_integers(self, dims: Dims, seed: int) -> Tensors:
        """The arguments that are no floating numbers, by name, in their declared dtypes."""
        drawn = self.integers(dims, torch.Generator().manual_seed(seed))
        specs = {a.name: a for a in self.arguments}
        return {name: tensor.to(specs[name].dtype) for name, tensor in drawn.items()}

    def gradient_shape(self, gradient: GradientSpec, dims: Dims) -> tuple[int, ...]:
        return lengths(gradient.shape, dims)

    def output_bytes(self, dims: Dims) -> int:
        """Bytes of all gradients of one call."""
        return sum(
            math.prod(self.gradient_shape(g, dims)) * g.dtype.itemsize for g in self.gradients
        )

    def reference(self, arguments: Tensors) -> Gradients:
        """What should be returned: the closed form in float64 on exactly the tensors handed over, added
        to the buffers among them."""
        return self.closed_form(**{name: widen(t) for name, t in arguments.items()})


def dimensions_of(entry: str) -> tuple[str, ...]:
    """The dimensions in an entry of a shape: (M,) for ``"M"`` and ``"2M"``, (H, G) for ``"H*G"``."""
    return tuple(re.findall(r"[A-Za-z]\w*", entry))


def lengths(shape: tuple[str, ...], dims: Dims) -> tuple[int, ...]:
    """The sizes that the entries of a spec's shape stand for."""
    return tuple(sum(_product(term, dims) for term in entry.split("+")) for entry in shape)


def _product(term: str, dims: Dims) -> int:
    return math.prod(
        int(factor) if factor.isdigit() else dims[factor]
        for factor in re.findall(r"\d+|[A-Za-z]\w*", term)
    )


def widen(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` in float64 if it is floating, else itself; dense, so that no layout leaks further."""
    return tensor.to(torch.float64).contiguous() if tensor.is_floating_point() else tensor
