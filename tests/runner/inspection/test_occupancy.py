"""Occupancy against figures of NVIDIA's calculator."""

import pytest

from runner.inspection.occupancy import occupancy
from wire.gpus import GPUS


@pytest.mark.parametrize(
    ("target", "num_warps", "registers", "shared_memory", "share", "limited_by"),
    [
        ("sm_80", 8, 32, 0, 1.0, "warps"),
        ("sm_80", 4, 64, 0, 0.5, "registers"),
        ("sm_80", 4, 65, 0, 28 / 64, "registers"),  # 65 registers are given as 72
        ("sm_80", 4, 32, 48 << 10, 12 / 64, "shared memory"),
        ("sm_90", 8, 168, 0, 8 / 64, "registers"),
        ("sm_90", 4, 32, 100 << 10, 8 / 64, "shared memory"),
        ("sm_90", 1, 16, 0, 0.5, "blocks"),
        ("sm_90", 1, 255, 0, 8 / 64, "registers"),
        ("sm_120", 8, 40, 0, 1.0, "warps"),
        ("sm_120", 16, 40, 0, 1.0, "warps"),
    ],
)
def test_what_fits_and_what_limits_it(
    target, num_warps, registers, shared_memory, share, limited_by
):
    found = occupancy(
        GPUS[target], num_warps=num_warps, registers=registers, shared_memory=shared_memory
    )
    assert found.share == pytest.approx(share)
    assert found.limited_by == limited_by


@pytest.mark.parametrize(
    ("excess", "what"),
    [
        ({"shared_memory": 228 << 10}, "shared memory"),
        ({"registers": 256}, "registers"),
        ({"num_warps": 32, "registers": 128}, "registers"),
    ],
)
def test_a_block_that_cannot_run_is_refused_with_the_reason(excess, what):
    usage = {"num_warps": 4, "registers": 32, "shared_memory": 0} | excess
    with pytest.raises(ValueError, match=what):
        occupancy(GPUS["sm_90"], **usage)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_more_registers_or_shared_memory_never_raise_it(gpu):
    shares = [
        occupancy(gpu, num_warps=4, registers=r, shared_memory=0).share for r in range(16, 256)
    ]
    assert shares == sorted(shares, reverse=True)
    shares = [
        occupancy(gpu, num_warps=4, registers=32, shared_memory=s).share
        for s in range(0, gpu.shared_memory_of_block, 997)
    ]
    assert shares == sorted(shares, reverse=True)
