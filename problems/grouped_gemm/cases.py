"""The cases of the grouped product: how ragged the groups are, what is empty, what is padding."""

from __future__ import annotations

from problems.cases import hidden, standard
from problems.grouped_gemm.sampling import Histogram
from problems.layouts import Layout
from problems.matrix_products import CANCELLING_BATCH
from problems.spec import Case

_PUBLIC = (
    standard("power_of_two", M=64, N=32, K=64, E=4),
    Case(
        "odd_sizes",
        {"M": 77, "N": 65, "K": 93, "E": 3},
        "No size is a multiple of a block, and no expert begins at one.",
    ),
    Case(
        "many_rows",
        {"M": 430, "N": 20, "K": 24, "E": 2},
        "Experts with more rows than a block: dweight adds up over all of them.",
    ),
    Case(
        "many_outputs",
        {"M": 30, "N": 270, "K": 18, "E": 2},
        "dx contracts over many blocks of output features, the last one partly filled.",
    ),
    Case(
        "empty_experts",
        {"M": 70, "N": 30, "K": 44, "E": 8},
        "The first, the last and other experts have no rows: their dweight is zero, and written.",
        values=Histogram.EMPTY_EXPERTS,
    ),
    Case(
        "one_takes_all",
        {"M": 150, "N": 22, "K": 26, "E": 4},
        "All rows went to one expert.",
        values=Histogram.ONE_TAKES_ALL,
    ),
    Case(
        "padding_rows",
        {"M": 90, "N": 34, "K": 28, "E": 3},
        "The last rows belong to no expert and hold 10¹⁸: they get zeros and add nothing.",
        values=Histogram.PADDED,
    ),
    standard("upstream_expanded", M=40, N=20, K=28, E=3),
    Case(
        "adds_to_buffer",
        {"M": 62, "N": 27, "K": 35, "E": 5},
        "dweight is added to what dweight_buffer holds; where an expert has no rows that stays.",
        values=Histogram.EMPTY_EXPERTS,
        accumulate=True,
    ),
    standard("one_element", M=1, N=1, K=1, E=1),
)

_HIDDEN = (
    Case(
        "one_row",
        {"M": 1, "N": 50, "K": 33, "E": 4},
        "A single row: all experts but one are empty.",
    ),
    Case("one_output", {"M": 45, "N": 1, "K": 36, "E": 4}, "A single output feature."),
    Case("one_input", {"M": 50, "N": 35, "K": 1, "E": 3}, "A single input feature."),
    Case(
        "one_expert", {"M": 140, "N": 40, "K": 30, "E": 1}, "One expert: an ordinary linear layer."
    ),
    Case(
        "more_experts_than_rows",
        {"M": 9, "N": 18, "K": 20, "E": 24},
        "Most experts are empty, and no group fills a block.",
    ),
    Case(
        "many_odd_rows",
        {"M": 611, "N": 17, "K": 19, "E": 5},
        "Every expert's rows end inside a block, where the next one's begin.",
    ),
    Case(
        "balanced",
        {"M": 128, "N": 21, "K": 24, "E": 8},
        "Every expert has the same number of rows.",
        values=Histogram.BALANCED,
    ),
    Case(
        "zipf",
        {"M": 210, "N": 30, "K": 26, "E": 8},
        "Shares as of words in a language: a few experts have most of the rows.",
        values=Histogram.ZIPF,
    ),
    Case(
        "no_rows",
        {"M": 20, "N": 25, "K": 18, "E": 3},
        "No row belongs to any expert: everything is zero, and written.",
        values=Histogram.NO_ROWS,
    ),
    Case(
        "padding_with_buffer",
        {"M": 70, "N": 18, "K": 21, "E": 4},
        "The last rows belong to no expert, and dweight is added to a buffer.",
        values=Histogram.PADDED,
        accumulate=True,
    ),
    standard("upstream_transposed", M=24, N=40, K=18, E=2),
    standard("upstream_sliced", M=22, N=30, K=26, E=3),
    Case(
        "inputs_transposed",
        {"M": 27, "N": 38, "K": 46, "E": 3},
        "x lies transposed in memory, and so does every expert's weight.",
        layouts={"x": Layout.TRANSPOSED, "weight": Layout.TRANSPOSED},
    ),
    Case(
        "all_sliced",
        {"M": 31, "N": 29, "K": 37, "E": 3},
        "All arguments but the offsets are slices of wider buffers.",
        layouts=dict.fromkeys(("grad_output", "x", "weight"), Layout.SLICED),
    ),
    Case(
        "cancelling_batch",
        {"M": 512, "N": 26, "K": 22, "E": 2},
        "The second half of an expert's rows takes back most of what the first half added.",
        values=CANCELLING_BATCH,
    ),
    standard("zero_upstream", M=19, N=10, K=12, E=3),
    standard("one_hot_upstream", M=28, N=25, K=24, E=3),
    standard("large_magnitudes", M=34, N=21, K=32, E=3),
    standard("tiny_magnitudes", M=26, N=34, K=20, E=3),
)

CASES = _PUBLIC + hidden(*_HIDDEN)
