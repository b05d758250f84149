"""An Inspection as text for a terminal."""

from __future__ import annotations

from itertools import groupby

from wire.inspection import CompiledKernel, Inspection


def render(inspection: Inspection) -> str:
    """Tables of figures; the texts of the stages are in the JSON."""
    dims = " × ".join(f"{name}={size}" for name, size in inspection.dims.items())
    shape = f" on {inspection.shape} ({dims})" if dims else ""
    lines = [f"{inspection.problem}{shape}, compiled, not run", ""]
    ordered = sorted(inspection.kernels, key=lambda k: (k.line, k.name))
    for (name, line), group in groupby(ordered, key=lambda k: (k.name, k.line)):
        lines += _kernel(f"{name} (line {line})", list(group))
    lines += _traces(inspection)
    lines += [f"line {f.line}: {f.message}" for f in inspection.findings]
    lines += [f"note: {remark}" for remark in inspection.remarks]
    return "\n".join(lines).rstrip() + "\n"


def _kernel(title: str, kernels: list[CompiledKernel]) -> list[str]:
    constants = "  ".join(f"{k}={v}" for k, v in kernels[0].constants.items())
    lines = [
        f"{title}  {constants}",
        "  target  programs  warps  registers  spills  shared  occupancy  tensor core  widths",
    ]
    advice: dict[str, str] = {}
    for kernel in kernels:
        if kernel.error:
            lines.append(f"  {kernel.target:7} does not compile: {kernel.error}")
            continue
        grid = "×".join(str(size) for size in kernel.grid) or "unknown"
        widths = ", ".join(f"{a.count} {a.op} of {a.width} B" for a in kernel.accesses)
        lines.append(
            f"  {kernel.target:7} {grid:>8} {kernel.num_warps:>6} {kernel.registers:>10} "
            f"{kernel.spills:>7} {kernel.shared_memory:>7} {kernel.occupancy:>9.0%}  "
            f"{kernel.tensor_core or 'no':>11}  {widths}"
        )
        for remark in kernel.advice:
            at = f"line {remark.line}: " if remark.line else ""
            advice[f"{at}{remark.message}"] = kernel.target
    lines += [f"  {target}: {message}" for message, target in advice.items()]
    return [*lines, ""]


def _traces(inspection: Inspection) -> list[str]:
    lines = []
    for trace in inspection.traces:
        flops = "  ".join(f"{kind} {n:.3g}" for kind, n in trace.flops.items())
        lines.append(
            f"{trace.kernel}: {trace.programs} programs move {trace.bytes / 1e6:.1f} MB, "
            f"{trace.minimum_bytes / 1e6:.1f} MB at least, "
            f"{trace.sectors * 32 / 1e6:.1f} MB in sectors; {flops}"
        )
    lines += [
        f"modelled, not measured, on {model.gpu}: {model.seconds * 1e6:.0f} µs, "
        f"{model.efficiency:.0%} of the roofline"
        for model in inspection.models
    ]
    return [*lines, ""] if lines else []
