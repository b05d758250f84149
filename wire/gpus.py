"""What GPUs can do, in one place, each figure with its source.

Rates are dense peaks without sparsity, at boost clock; bandwidths in bytes a second. Sources:
[A100] NVIDIA A100 Tensor Core GPU Architecture (white paper, 2020) and data sheet (80 GB SXM);
[H100] NVIDIA H100 Tensor Core GPU Architecture (white paper, 2022) and data sheet (SXM);
[B200] NVIDIA Blackwell Architecture Technical Brief (2024) and HGX B200 data sheet, per GPU;
[5090] NVIDIA RTX Blackwell GPU Architecture (white paper, 2025), GeForce RTX 5090;
[CC] CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications.
Latencies of a launch are the few microseconds that back-to-back kernels on one stream cost, as measured
by many (for example Zhang et al., *Understanding the overheads of launching CUDA kernels*, 2019).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """One GPU. Per multiprocessor: registers (32 bits each), shared memory (bytes, for all blocks and
    at most for one), warps and blocks resident at once."""

    name: str
    target: str
    capability: int
    multiprocessors: int
    registers: int
    shared_memory: int
    shared_memory_of_block: int
    warps: int
    blocks: int
    bandwidth: float
    l2_bytes: int
    l2_bandwidth: float
    vector_flops: float
    tensor_flops: Mapping[str, float]
    launch_seconds: float


KIB = 1024
GPUS: Mapping[str, Gpu] = {
    gpu.target: gpu
    for gpu in (
        Gpu(
            name="A100 80 GB",  # [A100], [CC] 8.0
            target="sm_80",
            capability=80,
            multiprocessors=108,
            registers=64 * KIB,
            shared_memory=164 * KIB,
            shared_memory_of_block=163 * KIB,
            warps=64,
            blocks=32,
            bandwidth=2.039e12,
            l2_bytes=40 << 20,
            l2_bandwidth=5.1e12,  # 5120 bytes a clock [A100] at about 1 GHz of the L2's clock
            vector_flops=19.5e12,
            tensor_flops={"bf16": 312e12, "fp16": 312e12, "tf32": 156e12},
            launch_seconds=3e-6,
        ),
        Gpu(
            name="H100 SXM",  # [H100], [CC] 9.0
            target="sm_90",
            capability=90,
            multiprocessors=132,
            registers=64 * KIB,
            shared_memory=228 * KIB,
            shared_memory_of_block=227 * KIB,
            warps=64,
            blocks=32,
            bandwidth=3.35e12,
            l2_bytes=50 << 20,
            l2_bandwidth=5.5e12,  # as microbenchmarks read it; NVIDIA gives no figure
            vector_flops=66.9e12,
            tensor_flops={"bf16": 989.4e12, "fp16": 989.4e12, "tf32": 494.7e12, "fp8": 1978.9e12},
            launch_seconds=3e-6,
        ),
        Gpu(
            name="B200",  # [B200], [CC] 10.0
            target="sm_100",
            capability=100,
            multiprocessors=148,
            registers=64 * KIB,
            shared_memory=228 * KIB,
            shared_memory_of_block=227 * KIB,
            warps=64,
            blocks=32,
            bandwidth=8.0e12,
            l2_bytes=126 << 20,
            l2_bandwidth=10e12,  # two dies of H100's; NVIDIA gives no figure
            vector_flops=75e12,
            tensor_flops={"bf16": 2250e12, "fp16": 2250e12, "tf32": 1125e12, "fp8": 4500e12},
            launch_seconds=3e-6,
        ),
        Gpu(
            name="RTX 5090",  # [5090], [CC] 12.0
            target="sm_120",
            capability=120,
            multiprocessors=170,
            registers=64 * KIB,
            shared_memory=100 * KIB,
            shared_memory_of_block=99 * KIB,
            warps=48,
            blocks=24,
            bandwidth=1.792e12,
            l2_bytes=96 << 20,
            l2_bandwidth=6e12,  # not published; the order of Ada's, scaled by clocks and slices
            vector_flops=104.8e12,
            tensor_flops={"bf16": 209.5e12, "fp16": 209.5e12, "tf32": 104.8e12, "fp8": 419e12},
            launch_seconds=3e-6,
        ),
    )
}
