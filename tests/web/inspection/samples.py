"""Inspections as runners send them: small, and made by hand where what they say matters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.web.samples import make_submission, report_for, verdict_event
from web.accounts.models import User
from web.inspection.storing import record_inspection
from web.submissions.events import record_event
from web.submissions.models import Attempt, Submission
from wire.access_maps import AccessMaps, LaunchMap, TileMap
from wire.inspection import Advice, CompiledKernel, Inspection, MemoryAccess, Stage
from wire.messages import InspectionMessage
from wire.packing import pack, to_text

SOURCE = (
    "import triton\n\n@triton.jit\ndef rows(x):\n    load\n    store\n\ndef backward():\n    pass\n"
)
PTX = Stage(".version 8.7\nld.global r1;\nld.global r2;\nst.global r1;\nret;\n", (0, 5, 5, 6, 5))
SASS = Stage("/*0000*/  LDG R1 ;\n/*0010*/  STG R1 ;\n", (5, 6))


def compiled(name: str = "rows", target: str = "sm_90", **changes: Any) -> CompiledKernel:
    kernel = CompiledKernel(
        name=name,
        target=target,
        line=3,
        grid=(132, 2, 1),
        launches=1,
        arguments={"x": "*bfloat16 [8192, 4096]"},
        constants={"BLOCK": "512"},
        options={},
        gpu=f"GPU of {target}",
        num_warps=4,
        num_stages=3,
        registers=64,
        spills=48,
        shared_memory=1024,
        occupancy=0.5,
        limited_by="registers",
        tensor_core=0,
        atomics=2,
        accesses=(MemoryAccess("load", 16, 2), MemoryAccess("store", 2, 1)),
        advice=(Advice("narrow_stores", "stores only 2 bytes at a time", 6),),
        ptx=PTX,
        sass=SASS,
    )
    return replace(kernel, **changes)


def inspection(*kernels: CompiledKernel, **changes: Any) -> Inspection:
    made = Inspection(
        problem="rms_norm",
        shape="Llama-3-8B, 8192 tokens",
        dims={"M": 8192, "N": 4096},
        targets=("sm_80", "sm_90"),
        kernels=kernels or (compiled(target="sm_80"), compiled()),
    )
    return replace(made, **changes)


def maps(**changes: Any) -> AccessMaps:
    """One launch of six programs, of which 130 × 4 elements are touched: 44 × 4 tiles of 3 × 1."""
    loaded = TileMap("x_ptr", "load", (13, 10, 4), (5,), (0, 0, 4, 1, 0, 4, 1, 8, 2, 5, 175, 1))
    stored = TileMap("out_ptr", "store", (4,), (6,), (2, 0, 4))
    launch = LaunchMap("rows", (3, 2, 1), 6, (loaded, stored))
    return AccessMaps("many_rows", {"M": 130, "N": 4}, (replace(launch, **changes),))


def judged(user: User | None = None, source: str = SOURCE, **changes: Any) -> Submission:
    """A finished Triton submission."""
    submission = make_submission(user, language="triton")
    Submission.objects.filter(pk=submission.pk).update(source=source)
    record_event(verdict_event(submission, report_for(submission, **changes)))
    submission.refresh_from_db()
    return submission


def attempt_of(submission: Submission) -> Attempt:
    return submission.attempts.latest("created_at")


def message(attempt: Attempt, found: Inspection | None = None) -> Any:
    """As it comes off the queue."""
    return InspectionMessage(str(attempt.pk), to_text(pack(found or inspection()))).to_json()


def looked_into(
    user: User | None = None, found: Inspection | None = None, **changes: Any
) -> Submission:
    submission = judged(user, **changes)
    assert record_inspection(message(attempt_of(submission), found))
    return submission
