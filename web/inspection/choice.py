"""What of an inspection a page shows: which kernel, for which target, in which form."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, QueryDict

from web.inspection.figures import KernelFigures, kernels_of
from wire.inspection import CompiledKernel, Inspection, Stage

# What most people want to see first: close to the source, and yet what the machine will do.
FIRST_STAGE = "ptx"
LONGEST_QUERY = 100


@dataclass(frozen=True)
class Choice:
    """The kernel for the target; `stage` is "" and `text` None where it did not compile."""

    figures: KernelFigures
    kernel: CompiledKernel
    stage: str
    text: Stage | None
    query: str = ""

    @property
    def target(self) -> str:
        return self.kernel.target

    @property
    def parameters(self) -> str:
        """Of an address that makes the same choice."""
        return self.changed()

    def changed(self, **changes: str) -> str:
        """Parameters of an address that chooses the same but for another `kernel`, `target`, `stage`."""
        same = {"kernel": self.figures.key, "target": self.target, "stage": self.stage}
        return urlencode(same | changes)


def chosen(inspection: Inspection, parameters: QueryDict, also: tuple[str, ...] = ()) -> Choice:
    """What `kernel`, `target`, `stage` and `q` of an address choose; what is not said is the first.

    A target or stage that this kernel has not is the first it has, so that a kernel that failed on one
    target can be switched to; `also` are stages besides those of the compiler.

    Raises:
        Http404: there is no such kernel.
    """
    kernels = kernels_of(inspection)
    wanted = parameters.get("kernel", "")
    figures = next((k for k in kernels if k.key == wanted or not wanted), None)
    if figures is None:
        raise Http404("This submission launches no such kernel.")
    kernel = figures.on(parameters.get("target", "")) or _first(figures)
    stages = kernel.stages
    stage = parameters.get("stage", "")
    if stage not in stages and stage not in also:
        stage = FIRST_STAGE if FIRST_STAGE in stages else next(iter(stages), "")
    query = parameters.get("q", "")[:LONGEST_QUERY].replace("\0", "")
    return Choice(figures, kernel, stage, stages.get(stage), query)


def _first(figures: KernelFigures) -> CompiledKernel:
    return next((row for row in figures.rows if not row.error), figures.first)
