"""Embedding, backward: sort the tokens by id, then every row of dweight is written once, in order.

See notes.md for the way here from the derivation, and triton_atomics.py for the other way.
"""

import torch
import triton
import triton.language as tl

PADDING = 0
CHUNK = 64  # sorted tokens that are added up at once where they share an id
TILE = 4096  # elements loaded at a time, of as many tokens as fit


@triton.jit
def _add_rows(
    total, dy_ptr, order_ptr, begin, end, cols, in_row, dy_row, dy_col, ROWS: tl.constexpr
):
    """total plus the rows of dy that belong to the sorted positions begin to end."""
    for start in range(begin, end, ROWS):
        positions = start + tl.arange(0, ROWS)
        tokens = tl.load(order_ptr + positions, mask=positions < end, other=0)
        # 64-bit, as the ids are: M × N may exceed 2³¹, and so may an index times a stride.
        at = tokens[:, None] * dy_row + cols.to(tl.int64)[None, :] * dy_col
        inside = (positions < end)[:, None] & in_row[None, :]
        total += tl.sum(tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32), axis=0)
    return total


@triton.jit
def _chunks(
    dy_ptr,
    sorted_ptr,
    order_ptr,
    partial_ptr,
    M,
    N,
    dy_row,
    dy_col,
    CHUNK: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """The sum of one chunk of sorted tokens, if all of them have one id; else nothing."""
    blocks = tl.cdiv(N, BLOCK_N)
    chunk = tl.program_id(0) // blocks
    begin = chunk * CHUNK
    end = tl.minimum(begin + CHUNK, M)
    # Sorted: the first and the last id are equal only if all between them are.
    if tl.load(sorted_ptr + begin) == tl.load(sorted_ptr + end - 1):
        cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
        total = tl.zeros((BLOCK_N,), dtype=tl.float32)
        total = _add_rows(
            total, dy_ptr, order_ptr, begin, end, cols, cols < N, dy_row, dy_col, ROWS
        )
        tl.store(partial_ptr + chunk.to(tl.int64) * N + cols, total, mask=cols < N)


@triton.jit
def _segments(
    dy_ptr,
    order_ptr,
    first_ptr,
    partial_ptr,
    dw_ptr,
    N,
    dy_row,
    dy_col,
    PADDING: tl.constexpr,
    CHUNK: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """One row of dweight: the tokens of its id, whole chunks of them by their sums."""
    blocks = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // blocks
    cols = (tl.program_id(0) % blocks) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_row = cols < N
    begin = tl.load(first_ptr + row).to(tl.int32)
    end = tl.load(first_ptr + row + 1).to(tl.int32)
    if row == PADDING:
        end = begin

    # Tokens before the first whole chunk, whole chunks, tokens after the last. Most rows have none.
    first_chunk = tl.cdiv(begin, CHUNK)
    last_chunk = end // CHUNK
    head = tl.minimum(first_chunk * CHUNK, end)
    tail = tl.maximum(last_chunk * CHUNK, head)
    total = tl.zeros((BLOCK_N,), dtype=tl.float32)
    total = _add_rows(total, dy_ptr, order_ptr, begin, head, cols, in_row, dy_row, dy_col, ROWS)
    at = partial_ptr + first_chunk.to(tl.int64) * N + cols
    for _ in range(first_chunk, last_chunk):
        total += tl.load(at, mask=in_row, other=0.0)
        at += N
    total = _add_rows(total, dy_ptr, order_ptr, tail, end, cols, in_row, dy_row, dy_col, ROWS)

    # 64-bit: V × N may exceed 2³¹.
    tl.store(dw_ptr + row.to(tl.int64) * N + cols, total, mask=in_row)


def backward(grad_output, ids, weight):
    """dweight (V, N) in float32; any strides of grad_output. The same bits at every call."""
    (M, N), V = grad_output.shape, weight.shape[0]
    sorted_ids, order = torch.sort(ids, stable=True)
    # Where each id begins among the sorted tokens; those of id v end where v + 1 begins.
    first = torch.searchsorted(sorted_ids, torch.arange(V + 1, device=ids.device))
    partial = torch.empty((triton.cdiv(M, CHUNK), N), dtype=torch.float32, device=ids.device)
    dweight = torch.empty((V, N), dtype=torch.float32, device=ids.device)

    BLOCK_N = min(triton.next_power_of_2(N), 1024)
    blocks = triton.cdiv(N, BLOCK_N)
    config = {
        "CHUNK": CHUNK,
        "ROWS": min(TILE // BLOCK_N, 16),
        "BLOCK_N": BLOCK_N,
        "num_warps": min(max(BLOCK_N // 256, 1), 4),
    }
    strides = grad_output.stride()
    _chunks[(len(partial) * blocks,)](
        grad_output, sorted_ids, order, partial, M, N, *strides, **config
    )
    _segments[(V * blocks,)](
        grad_output, order, first, partial, dweight, N, *strides, PADDING=PADDING, **config
    )
    return dweight
