"""What a process says that it saved is taken as far as it is what may be saved, and no further."""

from __future__ import annotations

import pytest
import torch

from problems.pairs import MOST_TENSORS
from runner.failures import SessionFailed
from runner.harness import tensors as inside
from runner.memory import aligned
from runner.saved import DTYPES, read_saved
from wire.verdict import Verdict

MOST = 4096


def memory(size: int = 1 << 14) -> memoryview:
    return memoryview(bytearray(range(256)) * (size // 256))


def told(dtype: str, *shape: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": list(shape)}


def test_the_sandbox_lays_down_what_the_judge_reads():
    saved = [
        torch.arange(12, dtype=torch.bfloat16).reshape(3, 4).t(),
        torch.tensor(2.5),
        torch.ones(1).expand(7, 3),
        torch.empty(0, 5, dtype=torch.int64),
        torch.tensor([True, False]),
        torch.tensor([1.5, -2.0]).to(torch.float8_e4m3fn),
    ]
    raw = bytearray(4096)
    arena = torch.frombuffer(raw, dtype=torch.uint8)
    found = read_saved(inside.store_saved(saved, 128, arena), memoryview(raw), 128, MOST)
    assert len(found) == len(saved)
    for got, meant in zip(found, saved, strict=True):
        assert got.dtype is meant.dtype
        assert got.is_contiguous()
        assert torch.equal(got.double(), meant.double())


def test_both_sides_agree_on_what_may_be_saved_and_where_it_lies():
    assert set(inside.DTYPES) == set(DTYPES)
    assert inside.MOST_SAVED == MOST_TENSORS
    assert aligned(1) == inside.ALIGNMENT


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "did not say"),
        ({"dtype": "float32"}, "did not say"),
        ([None], "nonsense"),
        ([told("object", 1)], "nonsense"),
        ([{"dtype": ["float32"], "shape": [1]}], "nonsense"),
        ([told("float32", -1)], "nonsense"),
        ([{"dtype": "float32", "shape": [True]}], "nonsense"),
        ([{"dtype": "float32", "shape": [2.0]}], "nonsense"),
        ([told("float32", *[1] * 9)], "nonsense"),
        ([told("float32", 1 << 39, 1 << 39)], "at most 4,096"),
        ([told("uint8", MOST + 1)], "at most 4,096"),
        ([told("uint8", MOST // 2 + 1)] * 2, "at most 4,096"),
        ([told("uint8", 1)] * (MOST_TENSORS + 1), "saves 17 tensors"),
    ],
)
def test_nonsense_and_excess_are_refused(answer, said):
    with pytest.raises(SessionFailed, match=said) as failure:
        read_saved(answer, memory(), 0, MOST)
    assert failure.value.verdict is Verdict.INVALID_OUTPUT


def test_what_was_read_no_longer_changes():
    raw = bytearray(64)
    (found,) = read_saved([told("uint8", 8)], memoryview(raw), 0, MOST)
    raw[0] = 7
    assert found[0] == 0


X = torch.ones(4, 2)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (X, "its output and a tuple of the tensors that it saves"),
        ((X, X, X), "its output and a tuple of the tensors that it saves"),
        ((X, X), "a Tensor, not a tuple of tensors"),
        ((X, (X, None)), r"saved\[1\] is a NoneType"),
        ((X, (torch.nn.Parameter(X),)), r"saved\[0\] is a Parameter"),
        ((X, (X.to(torch.complex64),)), r"saved\[0\] is complex64"),
        ((X, (X.to_sparse(),)), r"saved\[0\] is not a dense tensor"),
        ((X, (X.to("meta"),)), r"saved\[0\] is not a dense tensor"),
        ((X, (X[:1, :1].expand(1 << 38, 8),)), "saves 8,796,093,022,208 bytes"),
        ((X, [X] * (MOST_TENSORS + 1)), "saves 17 tensors"),
    ],
)
def test_what_cannot_be_saved_is_said_in_the_sandbox_already(returned, said):
    with pytest.raises(inside.InvalidOutput, match=said):
        inside.parted(returned, MOST)


def test_an_argument_may_be_saved_and_nothing_too():
    output, saved = inside.parted((X, (X, X.t())), MOST)
    assert output is X
    assert saved[0] is X
    assert inside.parted([X, ()], MOST)[1] == []
