"""Where NVIDIA's compiler is: the one from PyPI beside this Python, else the machine's own."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

INSTALL = f"{sys.executable} -m pip install -r requirements/cuda.txt"
NO_NVCC = (
    f"nvcc is not installed, and compiles .cu files. To install it (104 MB): {INSTALL}; or install "
    "NVIDIA's CUDA toolkit and set CUDA_HOME to its folder"
)
NO_HOST_COMPILER = (
    "nvcc needs g++, which reads the C++ headers for it, and it is not installed: apt install g++"
)


class NoToolkit(RuntimeError):
    """A `.cu` file cannot be compiled on this machine; the message says what to install."""


@dataclass(frozen=True)
class Toolkit:
    """The programs that compile and disassemble, and the folders that a sandbox must show for them."""

    nvcc: Path
    nvdisasm: Path
    trees: tuple[Path, ...]


def find_toolkit() -> Toolkit:
    """Raises NoToolkit."""
    nvcc = next((path for path in _candidates() if os.access(path, os.X_OK)), None)
    if nvcc is None:
        raise NoToolkit(NO_NVCC)
    if shutil.which("g++") is None:
        raise NoToolkit(NO_HOST_COMPILER)
    nvcc = nvcc.resolve()
    return Toolkit(nvcc=nvcc, nvdisasm=_nvdisasm(), trees=(nvcc.parent.parent,))


def _candidates() -> Iterator[Path]:
    yield from sorted(Path(sysconfig.get_paths()["purelib"]).glob("nvidia/cu*/bin/nvcc"))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield Path(home) / "bin" / "nvcc"
    yield from sorted(Path("/usr/local").glob("cuda*/bin/nvcc"), reverse=True)
    if found := shutil.which("nvcc"):
        yield Path(found)


def _nvdisasm() -> Path:
    """The disassembler that comes with Triton, which every installation of ours has."""
    spec = find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "backends" / "nvidia" / "bin" / "nvdisasm"
