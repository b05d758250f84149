"""The modelled time keeps to what must hold of any: more work takes no less time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from problems.spec import Benchmark, Cost
from runner.inspection.model import modelled, roofline
from wire.gpus import GPUS
from wire.inspection import CompiledKernel, MemoryAccess, TensorTraffic, Trace

GPU = GPUS["sm_90"]
BYTES = 400_000_000
SHAPE = Benchmark("shape", {}, "a model")
COST = Cost(bytes=2 * BYTES, vector_flops=10**8, matrix_flops=0)
KERNEL = CompiledKernel(
    name="kernel",
    target="sm_90",
    line=1,
    grid=(13200,),
    launches=1,
    arguments={},
    constants={},
    options={},
    num_warps=8,
    num_stages=3,
    registers=40,
    occupancy=0.75,
    accesses=(MemoryAccess("load", 16, 4),),
)
TRACE = Trace(
    kernel="kernel",
    shape={},
    programs=13200,
    bytes=2 * BYTES,
    minimum_bytes=2 * BYTES,
    sectors=2 * BYTES // 32,
    flops={"vector": 10**8},
    tensors=(
        TensorTraffic("x", BYTES, 0, BYTES, BYTES // 32),
        TensorTraffic("y", 0, BYTES, BYTES, BYTES // 32),
    ),
)


def model(trace=TRACE, kernel=KERNEL, cost=COST):
    found = modelled(GPU, SHAPE, cost, [trace], [kernel], {})
    assert found is not None
    return found


def seconds(trace=TRACE, kernel=KERNEL):
    """Of the launch itself, for a problem that asks for nothing."""
    return model(trace, kernel, Cost(bytes=1)).seconds


def test_a_kernel_that_streams_all_and_nothing_twice_is_near_the_roofline_and_not_below():
    found = model()
    assert roofline(GPU, COST) == pytest.approx(COST.bytes / GPU.bandwidth)
    assert 0.9 < found.efficiency < 1
    assert found.gpu == "H100 SXM"
    assert found.parts == {"kernel": found.seconds}


@pytest.mark.parametrize(
    "slower",
    [
        {"sectors": 16 * TRACE.sectors},
        {"flops": {"vector": 10**12}},
        {"flops": {"special": 10**11}},
        {"flops": {"tensor_bf16": 10**13}},
        {"programs": 40},
        {"tensors": (replace(TRACE.tensors[0], loaded=40 * BYTES), TRACE.tensors[1])},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_more_of_anything_takes_longer(slower):
    assert seconds(replace(TRACE, **slower)) > 1.2 * seconds()


@pytest.mark.parametrize(
    "slower",
    [
        {"accesses": (MemoryAccess("load", 2, 4),), "occupancy": 8 / 64},
        {"occupancy": 8 / 64, "accesses": (MemoryAccess("load", 16, 1),)},
    ],
)
def test_too_few_bytes_under_way_leave_memory_idle(slower):
    assert seconds(kernel=replace(KERNEL, **slower)) > 1.5 * seconds()


def test_what_is_loaded_again_from_a_small_tensor_stays_in_the_cache():
    small = replace(TRACE.tensors[0], minimum=1 << 20, loaded=BYTES)
    large = replace(TRACE.tensors[0], minimum=BYTES // 4, loaded=BYTES)
    rest = TRACE.tensors[1]
    assert seconds(replace(TRACE, tensors=(small, rest))) < seconds(
        replace(TRACE, tensors=(large, rest))
    )


def test_products_without_tensor_cores_take_the_vector_units():
    trace = replace(TRACE, flops={"tensor_bf16": 10**12})
    assert seconds(trace) > 5 * seconds(trace, replace(KERNEL, tensor_core=4))


def test_a_kernel_that_did_not_compile_has_no_modelled_time():
    assert modelled(GPU, SHAPE, COST, [TRACE], [replace(KERNEL, error="no")], {}) is None
    assert modelled(GPU, SHAPE, COST, [], [KERNEL], {}) is None


def test_no_time_is_below_the_roofline():
    nothing = replace(TRACE, bytes=1, minimum_bytes=1, sectors=1, tensors=(), flops={})
    assert model(nothing).efficiency == 1


def test_two_launches_take_longer_than_one_of_the_same_work():
    assert seconds(replace(TRACE, launches=2)) == pytest.approx(seconds() + GPU.launch_seconds)


def test_what_pytorch_does_between_kernels_takes_its_time():
    between = Trace("torch.zeros", {}, 0, BYTES, BYTES, BYTES // 32, {})
    found = modelled(GPU, SHAPE, COST, [TRACE, between], [KERNEL], {})
    assert found is not None
    assert found.parts["PyTorch"] == pytest.approx(GPU.launch_seconds + BYTES / GPU.bandwidth)


def test_a_grid_that_goes_with_the_number_of_multiprocessors_is_the_gpus_own():
    other = GPUS["sm_80"]
    kernel = replace(KERNEL, target="sm_80", grid=(other.multiprocessors,))
    trace = replace(TRACE, programs=GPU.multiprocessors)
    own = modelled(other, SHAPE, COST, [trace], [kernel], {"kernel": GPU.multiprocessors})
    foreign = modelled(other, SHAPE, COST, [trace], [kernel], {})
    assert own is not None
    assert foreign is not None
    assert own.seconds < foreign.seconds


def test_an_atomic_operation_costs_more_than_a_store():
    atomic = replace(TRACE.tensors[1], stored=20 * BYTES, minimum=BYTES)
    assert seconds(replace(TRACE, bytes=21 * BYTES, tensors=(replace(atomic, atomics=BYTES),))) > (
        seconds(replace(TRACE, bytes=21 * BYTES, tensors=(atomic,)))
    )
