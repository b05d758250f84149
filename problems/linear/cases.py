"""Cases for the linear layer: every one of its three sizes can end inside a block, or be one."""

from __future__ import annotations

from problems.cases import hidden, standard
from problems.layouts import Layout
from problems.matrix_products import CANCELLING_BATCH
from problems.spec import Case


def linear_cases() -> tuple[Case, ...]:
    """All cases, public ones first."""
    return _public() + hidden(*_hidden_shapes(), *_hidden_layouts(), *_hidden_values())


def _public() -> tuple[Case, ...]:
    return (
        standard("one_element", M=1, N=1, K=1),
        standard("power_of_two", M=64, N=32, K=128),
        Case(
            "odd_sizes",
            {"M": 33, "N": 65, "K": 129},
            "No size is a multiple of a block, so all three need a mask, in sums as in stores.",
        ),
        Case(
            "many_rows",
            {"M": 1100, "N": 24, "K": 40},
            "A long batch: dweight and dbias add up over all of it, not over one block.",
        ),
        Case(
            "many_outputs",
            {"M": 21, "N": 517, "K": 30},
            "dx contracts over many blocks of output features, the last one partly filled.",
        ),
        standard("upstream_expanded", M=36, N=20, K=28),
        standard("upstream_transposed", M=24, N=40, K=18),
        standard("zero_upstream", M=19, N=10, K=12),
        Case(
            "adds_to_buffer",
            {"M": 134, "N": 37, "K": 45},
            "dweight is added to what dweight_buffer holds from the micro-batch before.",
            accumulate=True,
        ),
    )


def _hidden_shapes() -> tuple[Case, ...]:
    return (
        Case(
            "one_row",
            {"M": 1, "N": 70, "K": 33},
            "A single token: dweight is an outer product.",
        ),
        Case(
            "one_output",
            {"M": 45, "N": 1, "K": 66},
            "A single output feature: dx contracts over one element.",
        ),
        Case("one_input", {"M": 50, "N": 35, "K": 1}, "A single input feature."),
        Case(
            "many_odd_rows",
            {"M": 2051, "N": 17, "K": 19},
            "The batch ends inside a block, and inside a part if it is split.",
        ),
        Case(
            "long_batch_to_buffer",
            {"M": 1300, "N": 18, "K": 21},
            "A batch long enough to be split is added to a buffer: once, not once for each part.",
            accumulate=True,
        ),
    )


def _hidden_layouts() -> tuple[Case, ...]:
    everything = ("grad_output", "x", "weight")
    return (
        standard("upstream_sliced", M=22, N=30, K=26),
        Case(
            "inputs_transposed",
            {"M": 27, "N": 38, "K": 46},
            "x and weight lie transposed in memory, the upstream gradient does not.",
            layouts={"x": Layout.TRANSPOSED, "weight": Layout.TRANSPOSED},
        ),
        Case(
            "all_sliced",
            {"M": 31, "N": 29, "K": 37},
            "All three arguments are slices of wider buffers.",
            layouts=dict.fromkeys(everything, Layout.SLICED),
        ),
        Case(
            "input_expanded",
            {"M": 40, "N": 23, "K": 34},
            "Every row of x is one and the same: its stride is 0.",
            layouts={"x": Layout.EXPANDED},
        ),
    )


def _hidden_values() -> tuple[Case, ...]:
    return (
        Case(
            "cancelling_batch",
            {"M": 512, "N": 26, "K": 22},
            "The second half of the batch takes back most of what the first half added to dweight.",
            values=CANCELLING_BATCH,
        ),
        standard("one_hot_upstream", M=28, N=25, K=24),
        standard("large_magnitudes", M=34, N=21, K=32),
        standard("tiny_magnitudes", M=26, N=34, K=20),
    )
