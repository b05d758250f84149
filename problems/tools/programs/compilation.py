"""Compiles what a file launches on the GPU benchmarks: compilation.py FILE PROBLEM TARGETS RESULT.

No GPU is needed: every launch compiles for the arguments it is given, and stops there. TARGETS are
compute capabilities, "80,90,100". RESULT becomes a list of dictionaries, one for each kernel,
benchmark and target.
"""

import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import triton
from gradients import answering, load
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

from problems import get_problem
from problems.spec import lengths

_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


class NoDevice:
    """As much of a Triton driver as compiling asks for."""

    def __init__(self, capability):
        self._target = GPUTarget("cuda", capability, 32)

    def get_current_device(self):
        return self._target.arch  # Triton keeps what it compiled by device: one for each target

    def get_current_stream(self, _device=None):
        return 0

    def get_current_target(self):
        return self._target


def main(file, slug, targets, result):
    problem = get_problem(slug)
    answer = answering(problem, load(Path(file)))
    launch = JITFunction.run
    found = []
    for target in map(int, targets.split(",")):
        triton.runtime.driver.set_active(NoDevice(target))
        for benchmark in problem.benchmarks["gpu"]:
            here = {"target": target, "benchmark": benchmark.name}

            def compile_only(self, *args, grid, warmup, here=here, **kwargs):
                kernel = launch(self, *args, grid=grid, warmup=True, **kwargs)
                found.append({**here, "kernel": kernel.name, **_resources(kernel)})

            JITFunction.run = compile_only
            answer(**_arguments(problem, benchmark.dims))
    torch.save(found, result)


def _arguments(problem, dims):
    return {a.name: _zeros(lengths(a.shape, dims), a.dtype) for a in problem.arguments}


def _zeros(shape, dtype):
    """Zeros that take no memory before somebody reads them; torch.zeros writes every one."""
    memory = np.zeros(math.prod(shape) * dtype.itemsize, dtype=np.uint8)
    return torch.from_numpy(memory).view(dtype).reshape(shape)


def _resources(kernel):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        told = subprocess.run(
            [triton.knobs.nvidia.cuobjdump.path, "-res-usage", file.name],
            capture_output=True,
            text=True,
            check=True,
        )
    registers, stack, shared, local = map(int, _USAGE.search(told.stdout).groups())
    return {
        "registers": registers,
        "spilled": stack + local,
        "shared": max(shared, kernel.metadata.shared),
        "wide_loads": "v4.b32" in kernel.asm["ptx"],
    }


main(*sys.argv[1:])
