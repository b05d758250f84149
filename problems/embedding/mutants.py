"""The embedding's mutants: rows that meet and are lost, padding, sums cut short, coarse sums."""

from __future__ import annotations

from collections.abc import Callable

import torch

from problems.embedding.mistakes import MISTAKES
from problems.embedding.problem import PROBLEM
from problems.embedding.sampling import PADDING
from problems.mutants import BLOCK, Diagnosis, Mutant, Spoiler, full_blocks

T = torch.Tensor

_BUCKET = 32  # tokens that a kernel with buckets of a fixed size has room for
_make = Spoiler(PROBLEM)
_overwritten, _first_only, _with_padding, _averaged = (m.gradients for m in MISTAKES)


def _added(dy: T, ids: T, weight: T, padding: int = PADDING) -> T:
    dweight = torch.zeros(weight.shape).index_add_(0, ids, dy.float())
    dweight[padding] = 0
    return dweight


def _in_float32(mistake: Callable[..., tuple[T, ...]]) -> Callable[..., T]:
    def wrong(grad_output: T, ids: T, weight: T) -> T:
        return mistake(grad_output.float(), ids, weight.float())[0]

    return wrong


def _lost_within_a_block(grad_output: T, ids: T, weight: T) -> T:
    """Load, add, store for a block of tokens at once: of equal ids in a block one is kept."""
    dweight = torch.zeros(weight.shape)
    for some, dy in zip(torch.split(ids, BLOCK), torch.split(grad_output, BLOCK), strict=True):
        dweight += _in_float32(_overwritten)(dy, some, weight)
    return dweight


def _last_row_for_padding(grad_output: T, ids: T, weight: T) -> T:
    return _added(grad_output, ids, weight, padding=-1)


def _in_bfloat16(block: int) -> Callable[..., T]:
    """Blocks of tokens are added up in float32, and their sums in bfloat16."""

    def wrong(grad_output: T, ids: T, weight: T) -> T:
        dweight = torch.zeros(weight.shape, dtype=torch.bfloat16)
        for some, dy in zip(torch.split(ids, block), torch.split(grad_output, block), strict=True):
            dweight += _added(dy, some, weight).bfloat16()
        return dweight

    return wrong


def _first_block_only(grad_output: T, ids: T, weight: T) -> T:
    return _added(grad_output[:BLOCK], ids[:BLOCK], weight)


def _whole_blocks_only(grad_output: T, ids: T, weight: T) -> T:
    whole = full_blocks(ids, 0)
    return _added(grad_output[:whole], ids[:whole], weight)


def _last_token_again(grad_output: T, ids: T, weight: T) -> T:
    beyond = torch.arange(-(-len(ids) // BLOCK) * BLOCK).clamp(max=len(ids) - 1)
    return _added(grad_output[beyond], ids[beyond], weight)


def _segments_begin_too_late(grad_output: T, ids: T, weight: T) -> T:
    by_id, order = torch.sort(ids, stable=True)
    follows = torch.cat([torch.tensor([True]), by_id[1:] == by_id[:-1]])
    return _added(grad_output[order][follows], by_id[follows], weight)


def _fixed_buckets(grad_output: T, ids: T, weight: T) -> T:
    by_id, order = torch.sort(ids, stable=True)
    place = torch.arange(len(ids)) - torch.searchsorted(by_id, by_id)
    return _added(grad_output[order][place < _BUCKET], by_id[place < _BUCKET], weight)


def _sorted_ids_unsorted_rows(grad_output: T, ids: T, weight: T) -> T:
    return _added(grad_output, ids.sort().values, weight)


def _untouched_rows_unwritten(grad_output: T, ids: T, weight: T) -> T:
    touched = torch.bincount(ids, minlength=len(weight)) > 0
    return torch.where(touched[:, None], _added(grad_output, ids, weight), torch.nan)


def _ids_in_eight_bits(grad_output: T, ids: T, weight: T) -> T:
    return _added(grad_output, ids.to(torch.uint8).long() % len(weight), weight)


def _spoil(
    name: str,
    what: str,
    wrong: Callable[..., T],
    diagnosis: Diagnosis | None = None,
    term: str = "",
) -> Mutant:
    return _make.one("dweight", name, what, wrong, diagnosis, term)


_OF_ROWS_THAT_MEET = (
    _spoil(
        "equal_ids_overwrite",
        "Stores where it should add: the last token of each id stays.",
        _in_float32(_overwritten),
        Diagnosis.MISSING_TERM,
        term="all tokens but the last",
    ),
    _spoil(
        "repeated_ids_skipped",
        "Takes an id that was seen before for done: the first token of each id stays.",
        _in_float32(_first_only),
        Diagnosis.MISSING_TERM,
        term="all tokens but the first",
    ),
    _spoil(
        "equal_ids_in_a_block_overwrite",
        f"Loads, adds and stores {BLOCK} tokens at once, so that equal ids among them are lost.",
        _lost_within_a_block,
    ),
    _spoil(
        "averaged",
        "Divides by how often an id occurs.",
        _in_float32(_averaged),
        Diagnosis.MISSING_TERM,
        term="the number of tokens",
    ),
    _spoil(
        "fixed_buckets",
        f"Has room for {_BUCKET} tokens of an id and forgets the rest.",
        _fixed_buckets,
    ),
    _spoil(
        "segments_begin_too_late",
        "After sorting, each segment begins one token too late.",
        _segments_begin_too_late,
    ),
    _spoil(
        "rows_not_sorted",
        "Sorts the ids and leaves the rows in the tokens' order.",
        _sorted_ids_unsorted_rows,
    ),
)

_OF_THE_TABLE = (
    _spoil(
        "padding_not_zeroed",
        "Row 0, which is padding, gets a gradient.",
        _in_float32(_with_padding),
        Diagnosis.MISSING_TERM,
        term="padding",
    ),
    _spoil(
        "last_row_for_padding",
        "Takes the last row for padding, as an index of -1 does, and trains row 0.",
        _last_row_for_padding,
    ),
    _spoil(
        "untouched_rows_unwritten",
        "Rows that no token looked up keep what memory held.",
        _untouched_rows_unwritten,
        Diagnosis.IGNORED_ROWS,
    ),
    _spoil(
        "ids_in_eight_bits",
        "Narrows the ids to a type that the table's last rows do not fit in.",
        _ids_in_eight_bits,
    ),
)

_OF_THE_SUMS = (
    _spoil(
        "first_block_only",
        f"Adds up the first {BLOCK} tokens only.",
        _first_block_only,
        Diagnosis.ONE_BLOCK,
    ),
    _spoil(
        "last_block_left_out",
        f"Adds up whole blocks of {BLOCK} tokens and forgets those left over.",
        _whole_blocks_only,
        Diagnosis.ONE_BLOCK,
    ),
    _spoil(
        "last_block_unmasked",
        "Lanes beyond the last token add it once more.",
        _last_token_again,
    ),
    _spoil(
        "added_in_bfloat16",
        "Adds tokens up one by one in bfloat16.",
        _in_bfloat16(1),
        Diagnosis.LOW_PRECISION,
    ),
    _spoil(
        "partials_in_bfloat16",
        f"Adds blocks of {BLOCK} tokens up in float32 and their sums in bfloat16.",
        _in_bfloat16(BLOCK),
        Diagnosis.LOW_PRECISION,
    ),
)

MUTANTS = (
    *_make.common(),
    *_make.upstream(),
    *_OF_ROWS_THAT_MEET,
    *_OF_THE_TABLE,
    *_OF_THE_SUMS,
)
