"""Makes Triton's interpreter compute as the hardware does, in every dtype.

The interpreter of Triton 3.7 keeps bfloat16 and 8-bit floats as raw integers: `x * x`, `tl.sum` and
`tl.dot` on them multiply and add bit patterns, and casts truncate. Here they have dtypes of their own
(`floats`), whose arithmetic rounds to nearest even after every operation, as one instruction does;
matrix products round their operands and accumulate in float32 as tensor cores do (`products`); what is
missing altogether is added (`updates`, `libdevice`) or answered with what to do instead
(`unsupported`). Float16 sums, which NumPy accumulates in float32, are summed pairwise in float16
instead, as a reduction tree of float16 instructions is.

Runs inside the sandbox, once, before the submission is loaded.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import min_dot_size
from triton.language.semantic import TritonSemantic
from triton.runtime import autotuner, interpreter

from . import floats, libdevice, products, unsupported, updates

BFLOAT16 = floats.BFLOAT16
Handle = interpreter.TensorHandle


def install() -> None:
    """Replace what is wrong in the interpreter, once. Numeric warnings are off: GPUs have none."""
    if Handle.__post_init__ is _check_size:
        return
    np.seterr(all="ignore")
    interpreter._get_np_dtype = floats.numpy_dtype
    Handle.__post_init__ = _check_size
    _install_operations(interpreter.InterpreterBuilder)
    interpreter.ReduceOps.sum = _sum
    checked = interpreter.ReduceScanOpInterface.check_tensor
    interpreter.ReduceScanOpInterface.check_tensor = _check_reduced(checked)
    builder = interpreter.interpreter_builder
    # 32-bit integers wrap round as they do where kernels are compiled, unless one asks for a check: it
    # would take as long as all the rest. `counting` finds those that wrap at a benchmark shape.
    builder.options = dataclasses.replace(
        builder.options,
        allowed_dot_input_precisions=products.PRECISIONS,
        sanitize_overflow=False,
    )
    # Blocks too small for tensor cores do not compile for any GPU.
    builder.codegen_fns["min_dot_size"] = min_dot_size(GPUTarget("cuda", 90, 32))
    # What the interpreter stands for has a tensor memory accelerator.
    TritonSemantic._has_native_tma = lambda _: True
    TritonSemantic.dot_scaled = products.formats_by_name(TritonSemantic.dot_scaled)
    interpreter._patch_lang_core = _patch_lang_core(interpreter._patch_lang_core)
    interpreter._patch_lang = _once_a_launch(interpreter._patch_lang)
    autotuner.Autotuner.run = _first_config(autotuner.Autotuner.run)
    libdevice.install()
    unsupported.install()


def _install_operations(builder: Any) -> None:
    builder.get_bf16 = _bf16_constant
    builder.create_masked_load = _masked_load
    builder.create_masked_store = _masked_store
    builder.cast_impl = _cast
    builder.create_fp_to_fp = _convert
    builder.binary_op = _binary_op
    # Numbers win over NaN in these, and in clamps unless asked otherwise.
    builder.create_maxnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)
    builder.create_minnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)
    builder.create_clampf = _clamp(builder.create_clampf)
    builder.create_dot = products.dot
    builder.create_dot_scaled = products.dot_scaled
    builder.create_fma = _fma
    builder.create_atomic_rmw = updates.atomic_rmw(builder.create_atomic_rmw)
    builder.create_descriptor_reduce = updates.descriptor_reduce


def _check_size(self: Any) -> None:
    """What a handle checks of itself when it is made: values no wider than its dtype."""
    dtype = self.dtype
    if self.data.itemsize == 1 or isinstance(dtype, tl.pointer_type):
        return
    if self.data.itemsize * 8 > dtype.primitive_bitwidth:
        raise ValueError(f"{self.data.dtype} is wider than {dtype}")


def _bf16_constant(self: Any, value: float) -> Any:
    return Handle(np.array([value], dtype=BFLOAT16), tl.bfloat16)


def _masked_load(
    self: Any,
    ptrs: Any,
    mask: Any,
    other: Any,
    cache_modifier: Any,
    eviction_policy: Any,
    is_volatile: Any,
) -> Any:
    element = ptrs.get_element_ty()
    dtype = floats.numpy_dtype(element)
    raw = floats.raw_dtype(dtype)
    fill = np.zeros_like(ptrs.data, dtype=raw) if other is None else floats.raw(other.data)
    loaded = interpreter._interpreter.load(ptrs.data, mask.data, fill, raw)
    return Handle(loaded.view(dtype) if raw is not dtype else loaded, element)


def _masked_store(
    self: Any, ptrs: Any, value: Any, mask: Any, cache_modifier: Any, eviction_policy: Any
) -> Any:
    return interpreter._interpreter.store(ptrs.data, floats.raw(value.data), mask.data)


def _cast(self: Any, src: Any, dst_type: Any) -> Any:
    return Handle(floats.nearest(src.data, floats.numpy_dtype(dst_type)), dst_type.scalar)


def _convert(self: Any, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
    """Conversions of 8-bit floats, and those with a rounding mode."""
    target = dst_type.scalar
    return Handle(floats.converted(src.data, src.dtype.scalar, target, rounding_mode), target)


def _binary_op(self: Any, lhs: Any, rhs: Any, op: Any) -> Any:
    output = op(lhs.data, rhs.data)
    dtype = lhs.dtype.scalar
    if output.itemsize == 1:  # 8-bit floats, small integers, and what a comparison answers
        if lhs.data.dtype in floats.FLOAT8:
            raise TypeError(floats.NO_ARITHMETIC)
    elif output.itemsize * 8 > dtype.primitive_bitwidth and not isinstance(dtype, tl.pointer_type):
        output = output.astype(floats.numpy_dtype(dtype))
    return Handle(output, dtype)


def _clamp(original: Any) -> Any:
    def create_clampf(self: Any, arg: Any, lo: Any, hi: Any, propagate_nans: Any) -> Any:
        if propagate_nans == ir.PROPAGATE_NAN.ALL:
            return original(self, arg, lo, hi, propagate_nans)
        return Handle(np.fmin(np.fmax(arg.data, lo.data), hi.data), arg.dtype.scalar)

    return create_clampf


def _fma(self: Any, x: Any, y: Any, z: Any) -> Any:
    """A fused multiply-add rounds once: in float64 the product of narrower values is exact."""
    if z.data.dtype == np.float64:
        return Handle(x.data * y.data + z.data, z.dtype.scalar)
    exact = x.data.astype(np.float64) * y.data.astype(np.float64) + z.data.astype(np.float64)
    return Handle(exact.astype(z.data.dtype), z.dtype.scalar)


def _check_reduced(original: Any) -> Any:
    def check_tensor(self: Any, given: Any) -> None:
        original(self, given)
        if any(tensor.handle.data.dtype in floats.FLOAT8 for tensor in given):
            raise TypeError(floats.NO_ARITHMETIC)

    return check_tensor


def _sum(self: Any, tensor: Any) -> Any:
    data = tensor.handle.data
    if data.dtype not in floats.HALVES:
        total = np.sum(data, axis=self.axis, keepdims=self.keep_dims)
        return self.to_tensor(total, tensor.dtype)
    axis = self.axis
    if axis is None:
        data, axis = data.reshape(-1), 0
    total = _pairwise(data, axis)
    if self.keep_dims:
        total = (
            total.reshape([1] * len(tensor.shape))
            if self.axis is None
            else np.expand_dims(total, axis)
        )
    return self.to_tensor(total if total.ndim else total[()], tensor.dtype)


def _pairwise(data: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    """A reduction tree over `axis`, rounding to `data`'s dtype at every addition."""
    data = np.moveaxis(data, axis, 0)
    while data.shape[0] > 1:
        half = data.shape[0] // 2
        folded = data[:half] + data[half : 2 * half]
        data = np.concatenate([folded, data[2 * half :]]) if data.shape[0] % 2 else folded
    first: np.ndarray[Any, Any] = data[0]
    return first


class StaticAssertionFailed(AssertionError):
    """tl.static_assert: on a GPU this configuration would not compile."""


def _static_assert(condition: Any, msg: str = "") -> None:
    if not condition:
        raise StaticAssertionFailed(str(msg))


def _patch_lang_core(original: Any) -> Any:
    """What the interpreter puts in place of the language for each launch, and more of it."""

    def patch(lang: Any, scope: Any) -> None:
        original(lang, scope)
        scope.set_attr(lang, "static_assert", _static_assert)
        scope.set_attr(lang.dtype, "to_ir", unsupported.named(lang.dtype.to_ir))

    return patch


class _Scope:
    """What undoes the patches of one launch, if there are any."""

    def __init__(self, patched: set[Any], scope: Any = None) -> None:
        self._scope = scope
        self._patched = patched

    def restore(self) -> None:
        self._patched.clear()
        if self._scope is not None:
            self._scope.restore()


def _once_a_launch(original: Any) -> Any:
    """The interpreter patches the language anew for every call of a device function, `tl.sum` too,
    which takes ten times as long as the sum: once for each module that it finds is enough."""
    patched: set[Any] = set()
    found: dict[Any, frozenset[Any]] = {}

    def patch_lang(fn: Any) -> _Scope:
        if fn not in found:
            found[fn] = frozenset(v for v in fn.__globals__.values() if v is tl or v is tl.core)
        if patched and found[fn] <= patched:
            return _Scope(patched)
        scope = original(fn)
        patched.update(found[fn])
        return _Scope(patched, scope)

    return patch_lang


def _first_config(original: Any) -> Any:
    """Autotuning measures time, which means nothing here: take the first configuration that is not
    pruned and whose static assertions hold, and say so."""

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        every = self.configs
        if len(every) == 1:
            return original(self, *args, **kwargs)
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        fitting = self.prune_configs(kwargs)
        for number, config in enumerate(fitting, start=1):
            self.configs = [config]
            try:
                result = original(self, *args, **kwargs)
            except (interpreter.InterpreterError, StaticAssertionFailed) as error:
                if number == len(fitting) or not _does_not_compile(error):
                    raise
                continue
            finally:
                self.configs = every
            _say_which(self, config)
            return result
        raise ValueError("autotune: pruning left no configuration")

    return run


def _does_not_compile(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, StaticAssertionFailed):
            return True
        error = error.__cause__
    return False


def _say_which(tuned: Any, config: Any) -> None:
    name = getattr(tuned.base_fn, "__name__", "kernel")
    count = len(tuned.configs)
    said = f"{name}: autotune has {count} configurations; the interpreter runs only {config}"
    if getattr(tuned, "said", None) != said:
        tuned.said = said
        print(said, file=sys.stderr)
