"""What looking into a submission's kernels found: how they compile for GPUs, what they do wrong, what
memory they touch. Plain data with a JSON form; nothing here says how it was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from wire import access_maps
from wire.access_maps import AccessMaps
from wire.reading import Bounds, Unreadable, read

SCHEMA = 1
# Of the model that makes times of traces: those of different versions are not compared.
MODEL = 2
# The GPU whose modelled times rank a board.
RANKED_GPU = "H100 SXM"
STAGES = ("ttir", "ttgir", "llir", "ptx", "sass")
# Texts are bounded together, by whoever unpacks them; what a page shows a row for, here.
_BOUNDS = Bounds(text=32 << 20, items=1 << 20)
MOST_KERNELS = 256
MOST_ROWS = 1000


@dataclass(frozen=True)
class Stage:
    """One form of a kernel on its way to machine code.

    `lines[i]` is the line of the submitted file from which line i of `text` comes; 0 where it comes from
    none. `left_out` counts the lines at the end of a long text that were not kept.
    """

    text: str
    lines: tuple[int, ...]
    left_out: int = 0


@dataclass(frozen=True)
class Advice:
    """Something worth knowing about a compiled kernel, in plain words; `line` 0 concerns all of it."""

    kind: str
    message: str
    line: int = 0


@dataclass(frozen=True)
class MemoryAccess:
    """How often machine code reads or writes global memory in units of `width` bytes a thread."""

    op: str  # "load", "store", "copy" (to shared memory), "bulk" (tensor memory accelerator)
    width: int
    count: int


@dataclass(frozen=True)
class CompiledKernel:
    """One kernel as compiled for one target.

    Registers are counted for each thread, spills and stack in bytes a thread, shared memory in bytes a
    block. Of what is compiled without being launched `grid` is empty and `launches` is 0. `occupancy` is
    the share of a multiprocessor's warps that can be resident at once, `limited_by` what keeps it from
    more. `error` is the compiler's complaint when there is no result.
    """

    name: str
    target: str  # "sm_90"
    line: int
    grid: tuple[int, ...]
    launches: int
    arguments: dict[str, str]
    constants: dict[str, str]
    options: dict[str, str]
    gpu: str = ""  # a GPU of that target, by which occupancy and advice are worked out
    num_warps: int = 0
    num_stages: int = 0
    registers: int = 0
    spills: int = 0
    shared_memory: int = 0
    occupancy: float = 0.0
    limited_by: str = ""
    tensor_core: int = 0
    atomics: int = 0
    accesses: tuple[MemoryAccess, ...] = ()
    advice: tuple[Advice, ...] = ()
    ttir: Stage | None = None
    ttgir: Stage | None = None
    llir: Stage | None = None
    ptx: Stage | None = None
    sass: Stage | None = None
    error: str = ""

    @property
    def stages(self) -> dict[str, Stage]:
        """The forms there are, by name, from the first to the last."""
        named = {name: getattr(self, name) for name in STAGES}
        return {name: stage for name, stage in named.items() if stage is not None}

    def with_stages(self, change: Callable[[Stage], Stage | None]) -> CompiledKernel:
        """The same with each stage changed, or taken out."""
        changed: dict[str, Any] = {name: change(stage) for name, stage in self.stages.items()}
        return replace(self, **changed)


@dataclass(frozen=True)
class Finding:
    """A fault that the interpreter saw while a kernel ran."""

    kind: str  # "race", "out_of_bounds", ...
    message: str
    line: int
    kernel: str = ""
    tensor: str = ""
    index: tuple[int, ...] = ()
    program: tuple[int, ...] = ()
    case: str = ""
    count: int = 1


@dataclass(frozen=True)
class TensorTraffic:
    """What one launch moved of one tensor, in bytes."""

    tensor: str
    loaded: int
    stored: int
    minimum: int
    sectors: int  # 32-byte sectors that the accesses of a warp touch, added up
    atomics: int = 0


@dataclass(frozen=True)
class Trace:
    """What the launches of one kernel with one grid did on one shape, all of them together; `programs`
    are those of one launch. An operation of PyTorch's between them has none."""

    kernel: str
    shape: dict[str, int]
    programs: int
    bytes: int
    minimum_bytes: int
    sectors: int
    flops: dict[str, int]
    tensors: tuple[TensorTraffic, ...] = ()
    launches: int = 1


@dataclass(frozen=True)
class ModelledTime:
    """A modelled time in seconds of all kernels on one shape; never a measured one. `benchmark` names
    the shape, `version` the model."""

    gpu: str
    shape: str
    seconds: float
    roofline: float
    parts: dict[str, float] = field(default_factory=dict)
    benchmark: str = ""
    version: int = 1

    @property
    def efficiency(self) -> float:
        return self.roofline / self.seconds


@dataclass(frozen=True)
class Inspection:
    """Everything that was found; `remarks` says what could not be looked into, and why. `models` may
    have times on more shapes and GPUs than the rest is about."""

    problem: str
    shape: str
    dims: dict[str, int]
    targets: tuple[str, ...]
    kernels: tuple[CompiledKernel, ...] = ()
    findings: tuple[Finding, ...] = ()
    traces: tuple[Trace, ...] = ()
    models: tuple[ModelledTime, ...] = ()
    remarks: tuple[str, ...] = ()
    maps: AccessMaps | None = None
    problem_version: int = 0
    schema: int = SCHEMA

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Inspection:
        """The inspection in `data`, which another process sent.

        Raises:
            Unreadable: it is not what is declared here, or a page could not show so much.
        """
        inspection = read(cls, data, "inspection", _BOUNDS)
        if inspection.schema != SCHEMA:
            raise Unreadable(f"schema is {inspection.schema} and {SCHEMA} is understood")
        if len(inspection.kernels) > MOST_KERNELS:
            raise Unreadable(f"there are more than {MOST_KERNELS} compiled kernels")
        lists = (inspection.findings, inspection.traces, inspection.models, inspection.remarks)
        if any(len(rows) > MOST_ROWS for rows in lists):
            raise Unreadable(f"there are more than {MOST_ROWS} findings, traces, models or remarks")
        if any(model.seconds <= 0 or model.roofline <= 0 for model in inspection.models):
            raise Unreadable("a modelled time is not positive")
        if any(model.efficiency > 1 and model.version == MODEL for model in inspection.models):
            raise Unreadable("a modelled time is beyond the roofline")
        for kernel in inspection.kernels:
            _check(kernel)
        if inspection.maps:
            access_maps.check(inspection.maps)
        # Older models told of times beyond the roofline, which are none.
        return replace(inspection, models=tuple(m for m in inspection.models if m.efficiency <= 1))

    def without_texts(self) -> Inspection:
        """The figures alone; of access maps, of what there are some."""
        kernels = tuple(kernel.with_stages(lambda _: None) for kernel in self.kernels)
        maps = self.maps.without_runs() if self.maps else None
        return replace(self, kernels=kernels, maps=maps)


def _check(kernel: CompiledKernel) -> None:
    listed = (kernel.advice, kernel.accesses, kernel.arguments, kernel.constants, kernel.options)
    if any(len(rows) > MOST_ROWS for rows in listed):
        raise Unreadable(f"kernel {kernel.name:.60} has more than {MOST_ROWS} entries of a kind")
    for name, stage in kernel.stages.items():
        if len(stage.lines) != stage.text.count("\n") + (not stage.text.endswith("\n")):
            raise Unreadable(f"{name} of {kernel.name:.60} has not one line number for each line")
