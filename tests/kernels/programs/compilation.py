"""Program: compilation.py FILE PROBLEM SEED RESULT, writes {kernel: PTX} as compiled for an H100.

No GPU is needed: every launch compiles for the arguments it is given, and stops there.
"""

import importlib.util
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

from problems import get_problem


class NoDevice:
    """As much of a Triton driver as compiling asks for."""

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)


def main(file, slug, seed, result):
    ptx = {}
    launch = JITFunction.run

    def compile_only(self, *args, grid, warmup, **kwargs):
        kernel = launch(self, *args, grid=grid, warmup=True, **kwargs)
        ptx[kernel.name] = kernel.asm["ptx"]

    triton.runtime.driver.set_active(NoDevice())
    JITFunction.run = compile_only
    spec = importlib.util.spec_from_file_location("submission", file)
    submission = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(submission)
    problem = get_problem(slug)
    arguments = problem.make_arguments(problem.benchmarks["cpu"][0], int(seed))
    submission.backward(*arguments.values())
    torch.save(ptx, result)


main(*sys.argv[1:])
