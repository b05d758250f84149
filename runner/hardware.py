"""Hardware on which this runner judges: what it takes, what it measures, how its jobs are started."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from problems import Language
from wire.messages import Hardware


@dataclass(frozen=True)
class HardwareSpec:
    """One kind of hardware.

    `timed` says whether time on it means anything, `concurrent` whether parts of a kernel run at once,
    so that their order may differ from call to call. `call_seconds` bounds one call of `backward` on a
    case. `environment` is added to the job's. Each shape is timed in `processes` new processes. Where
    kernels are `watched`, faults are looked for that the hardware itself would not show.
    """

    name: str
    language: Language
    timed: bool
    concurrent: bool
    call_seconds: float
    environment: Mapping[str, str] = field(default_factory=dict)
    processes: int = 3
    watched: bool = False


class UnknownHardware(LookupError):
    """No hardware of this name, or none that takes this language."""


# So that a kernel's time is the kernel's (benchmarks/results/timing_stability.md).
_STEADY = {
    # Each thread has a processor of its own. Else two begin on one after a pause and wait for each
    # other.
    "OMP_PROC_BIND": "true",
    # Threads wait awake for the next parallel part: sleep and waking would double the time of a kernel
    # with many small ones. But no longer than tenths of a millisecond, or the judge, who wants a
    # processor for seeing the answer, has to wait for the end of a time slice.
    "GOMP_SPINCOUNT": "10000",
    # Memory that was freed is kept and given again, as PyTorch does on a GPU. Else every large tensor
    # is mapped anew, and how long it takes to find and clear its pages varies by a factor of three.
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(64 << 20),
    # Also what threads of the submission's own free.
    "MALLOC_ARENA_MAX": "1",
}
# Interpreted kernels are not timed, and their tensors are small: threads that wait need not spin.
_INTERPRETED = {"TRITON_INTERPRET": "1", "OMP_WAIT_POLICY": "PASSIVE"}

HARDWARE: Mapping[str, HardwareSpec] = {
    Hardware.CPU: HardwareSpec(
        name=Hardware.CPU,
        language=Language.PYTORCH,
        timed=True,
        concurrent=True,
        call_seconds=20.0,
        environment=_STEADY,
    ),
    Hardware.INTERPRETER: HardwareSpec(
        name=Hardware.INTERPRETER,
        language=Language.TRITON,
        timed=False,
        concurrent=False,
        call_seconds=30.0,
        environment=_INTERPRETED,
        watched=True,
    ),
}


def hardware_for(language: Language) -> HardwareSpec:
    """The hardware that takes `language` on this runner."""
    for spec in HARDWARE.values():
        if spec.language == language:
            return spec
    raise UnknownHardware(f"no hardware here takes {language.label}")


def get_hardware(name: str, language: Language) -> HardwareSpec:
    """The hardware called `name`.

    Raises:
        UnknownHardware: there is none of that name, or it does not take `language`.
    """
    try:
        spec = HARDWARE[name]
    except KeyError:
        raise UnknownHardware(
            f"there is no hardware {name!r}; there is {', '.join(HARDWARE)}"
        ) from None
    if spec.language != language:
        raise UnknownHardware(f"{name} takes {spec.language.label}, not {language.label}")
    return spec


@cache
def cpu_threads() -> int:
    """Threads a job may compute with: the processors this process may run on."""
    return len(os.sched_getaffinity(0))


@cache
def cpu_model() -> str:
    """The processor's name, as the kernel tells it."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    for line in info.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
