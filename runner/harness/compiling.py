"""Compiles recorded launches for GPUs that need not be here, as Triton would on them.

What each argument is specialised on (a pointer or integer that 16 divides, an integer that is 1) is
decided by Triton's own code. Runs inside the sandbox.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import tempfile
from typing import Any

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource
from triton.runtime.jit import create_function_from_signature

from .launches import Launch, first_line

TEXTS = ("ttir", "ttgir", "llir", "ptx")
LONGEST_TEXT = 4 << 20
LONGEST_ERROR = 4000


def described(launch: Launch) -> dict[str, Any]:
    """What distinguishes a launch from others of the same kernel, as JSON."""
    constants = {p.name for p in launch.kernel.params if p.is_constexpr}
    return {
        "kernel": launch.kernel.fn.__name__,
        "line": first_line(launch.kernel),
        "grid": list(launch.grid),
        "constants": {k: _shown(v) for k, v in launch.arguments.items() if k in constants},
        "arguments": {k: _shown(v) for k, v in launch.arguments.items() if k not in constants},
        "options": {k: _shown(v) for k, v in launch.options.items()},
    }


def _shown(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return str(getattr(value, "value", value))[:200]
    return f"*{str(dtype).removeprefix('torch.')} {list(value.shape)}"


def compiled(launch: Launch, capability: int) -> dict[str, Any]:
    """The texts of every stage for one target (compute capability times 10: 90 is sm_90), the log of
    the assembler, the bytes of shared memory; or `error`, in the words of the compiler."""
    log = io.StringIO()
    try:
        with contextlib.redirect_stdout(log):
            kernel = _compile(launch, capability)
    except Exception as error:  # noqa: BLE001 - the compiler raises what it likes; the user reads it
        return {"error": f"{type(error).__name__}: {error}"[-LONGEST_ERROR:]}
    cubin = kernel.asm["cubin"]
    return {
        "signature": kernel.src.signature,
        "shared": int(kernel.metadata.shared),
        "num_warps": int(kernel.metadata.num_warps),
        "num_stages": int(kernel.metadata.num_stages),
        "num_ctas": int(kernel.metadata.num_ctas),
        "log": log.getvalue()[:LONGEST_ERROR],
        "sass": _disassembled(cubin)[:LONGEST_TEXT],
        **{name: kernel.asm[name][:LONGEST_TEXT] for name in TEXTS},
    }


def specialisation(launch: Launch, capability: int) -> str:
    """Equal for launches that run the same machine code."""
    try:
        options, signature, constants, attributes = _packed(launch, capability)
    except Exception as error:  # noqa: BLE001 - compiling it will raise the same, for the user to read
        return f"{described(launch)} {error!r}"
    named = (launch.kernel.fn.__name__, first_line(launch.kernel))
    return repr((named, options.__dict__, signature, constants, attributes))


def _packed(launch: Launch, capability: int) -> Any:
    """Options, signature, constants and attributes, as Triton's launcher works them out."""
    backend = CUDABackend(GPUTarget("cuda", capability, 32))
    kernel = launch.kernel
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    bound, specialization, given = binder(**launch.arguments, **launch.options)
    return kernel._pack_args(backend, dict(given), bound, specialization, given)


def _compile(launch: Launch, capability: int) -> Any:
    knobs.nvidia.dump_ptxas_log = True
    target = GPUTarget("cuda", capability, 32)
    options, signature, constants, attributes = _packed(launch, capability)
    source = ASTSource(launch.kernel, signature, constants, attributes)
    return triton.compile(source, target=target, options=options.__dict__)


def _disassembled(cubin: bytes) -> str:
    """The machine code, each instruction preceded by the source lines that it comes from."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(  # noqa: S603 - Triton's own disassembler on a file just written
            [knobs.nvidia.nvdisasm.path, "-gi", "-c", file.name],
            capture_output=True,
            text=True,
            check=True,
        )
    return done.stdout
