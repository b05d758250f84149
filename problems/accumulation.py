"""Gradients that are added to a buffer instead of being returned in new memory.

Training over several micro-batches keeps one float32 buffer for each parameter and every backward adds
to it, so that no second tensor of the parameter's size exists and no pass of its own adds them up (the
`main_grad` of Megatron-LM). A problem declares that with ``GradientSpec(accumulates=True)``; its
formulas know nothing of buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from problems.spec import Gradients, GradientSpec

Formula = Callable[..., "Gradients"]


def accumulating(
    formula: Formula, gradients: Sequence[GradientSpec], names: Sequence[str]
) -> Formula:
    """`formula` as a function that also takes the buffers of `gradients`, after its arguments `names`.

    What it gives is added to a buffer that is handed over, in new memory; the buffer is left alone. A
    buffer that is None, or not given, changes nothing.
    """
    if not any(g.accumulates for g in gradients):
        return formula

    def with_buffers(*given: torch.Tensor | None, **named: torch.Tensor | None) -> Gradients:
        everything = dict(zip(names, given, strict=False)) | named
        buffers = {g.buffer: everything.pop(g.buffer, None) for g in gradients}
        return added(formula(**everything), gradients, buffers)

    return with_buffers


def added(
    found: Gradients, gradients: Sequence[GradientSpec], buffers: Mapping[str, torch.Tensor | None]
) -> Gradients:
    """`found`, each plus its buffer where there is one."""
    return tuple(
        gradient if (buffer := buffers.get(spec.buffer)) is None else buffer + gradient
        for gradient, spec in zip(found, gradients, strict=True)
    )
