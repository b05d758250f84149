"""State space duality, backward: two walks that pass states, two kernels of products for each chunk.

Within a chunk, with decay[i, j] = exp of the sum of dt · A after step j up to step i, 0 for j > i:

    pairs = Σ_heads dy xᵀ · decay · dt
    dC = pairs  B + Σ_heads since · dy stateᵀ
    dB = pairsᵀ C + Σ_heads left · dt · x futureᵀ
    dx = dt · ((C Bᵀ · decay)ᵀ dy + left · B future)

`state` is the state (N, P) that reaches the chunk, `future` the gradient of the state that leaves it.
`since` is what is left at step i of the former, `left` what is left after the chunk of what came at j.

All heads of a group share B and C, so C Bᵀ is made once, and pairs are added up before they meet B and
C: of what grows with the chunk's length, few products remain for each head. See notes.md.
"""

import torch
import triton
import triton.language as tl

HEADS = 16  # heads that one program adds up, at most


@triton.jit
def _tile(ptr, start, end, stride_row, stride_col, columns, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Rows start to start + ROWS of a matrix that ends at row `end`, zero beyond its edges.

    Only the tile's beginning is a 64-bit offset.
    """
    rows = tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    at = ptr + tl.cast(start, tl.int64) * stride_row + (rows * stride_row + cols * stride_col)
    return tl.load(at, mask=(rows < end - start) & (cols < columns), other=0.0)


@triton.jit
def _store(ptr, tile, start, end, stride_row, columns, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Stores a tile as `_tile` reads it; columns are adjacent."""
    rows = tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, COLS)[None, :]
    at = ptr + tl.cast(start, tl.int64) * stride_row + (rows * stride_row + cols)
    tl.store(at, tile.to(ptr.dtype.element_ty), mask=(rows < end - start) & (cols < columns))


@triton.jit
def _steps(dt_ptr, A_ptr, start, T, dt_step, CHUNK: tl.constexpr):
    """dt of a chunk's steps, the sums of dt · A from the chunk's beginning, and their last.

    A step beyond the end has dt = 0: it lets every state pass as it is, and adds nothing.
    """
    steps = start + tl.arange(0, CHUNK)
    dt = tl.load(dt_ptr + steps.to(tl.int64) * dt_step, mask=steps < T, other=0.0)
    log_decay = dt * tl.load(A_ptr)
    return dt, tl.cumsum(log_decay, axis=0), tl.sum(log_decay, axis=0)


@triton.jit
def _place(GROUP: tl.constexpr, HEADS: tl.constexpr, CHUNK: tl.constexpr):
    """A program's sequence, its group of heads and which part of the group's heads, its first step."""
    parts = tl.cdiv(GROUP, HEADS)
    group = (tl.program_id(1) // parts).to(tl.int64)
    part = (tl.program_id(1) % parts).to(tl.int64)
    return tl.program_id(2).to(tl.int64), group, part, tl.program_id(0) * CHUNK


@triton.jit
def _part(seq, group, part, T, N, GROUP: tl.constexpr, HEADS: tl.constexpr):
    """Where a sequence's first step is in a contiguous (parts, S, T, G, N)."""
    groups = tl.num_programs(1) // tl.cdiv(GROUP, HEADS)
    return ((part * tl.num_programs(2) + seq) * T * groups + group) * N


@triton.jit
def state_kernel(
    row_ptr,
    col_ptr,
    dt_ptr,
    A_ptr,
    states_ptr,
    futures_ptr,
    through_ptr,
    T,
    H,
    N,
    P,
    row_seq,
    row_step,
    row_group,
    row_n,
    col_seq,
    col_step,
    col_head,
    col_p,
    dt_seq,
    dt_step,
    dt_head,
    A_head,
    GROUP: tl.constexpr,
    REVERSE: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """One program: a block of one head's state, walked through all chunks of a sequence.

    Forward, with rows B and columns x, it stores the state before each chunk. In reverse, with rows C
    and columns dy, it stores the gradient of the state after each chunk, both (S, chunks, H, N, P), and
    its block's share of `through` (S, chunks, H, blocks): <gradient, value> of what passes the chunk.
    """
    seq = (tl.program_id(0) // H).to(tl.int64)
    head = (tl.program_id(0) % H).to(tl.int64)
    n = tl.program_id(1) * BLOCK_N
    p = tl.program_id(2) * BLOCK_P
    row_ptr += seq * row_seq + head // GROUP * row_group + n.to(tl.int64) * row_n
    col_ptr += seq * col_seq + head * col_head + p.to(tl.int64) * col_p
    dt_ptr += seq * dt_seq + head * dt_head
    chunks = tl.cdiv(T, CHUNK)

    state = tl.zeros((BLOCK_N, BLOCK_P), dtype=tl.float32)
    for walked in range(chunks):
        chunk = chunks - 1 - walked if REVERSE else walked
        start = chunk * CHUNK
        dt, total, whole = _steps(dt_ptr, A_ptr + head * A_head, start, T, dt_step, CHUNK)
        rows = _tile(row_ptr, start, T, row_step, row_n, N - n, CHUNK, BLOCK_N)
        cols = _tile(col_ptr, start, T, col_step, col_p, P - p, CHUNK, BLOCK_P)
        of_chunk = (seq * chunks + chunk) * H + head
        at = of_chunk * N * P + p
        if REVERSE:
            _store(futures_ptr + at, state, n, N, P, P - p, BLOCK_N, BLOCK_P)
            before = _tile(states_ptr + at, n, N, P, 1, P - p, BLOCK_N, BLOCK_P)
            through = tl.exp(whole) * tl.sum(tl.sum(state * before, axis=1), axis=0)
            blocks = tl.num_programs(1) * tl.num_programs(2)
            block = tl.program_id(1) * tl.num_programs(2) + tl.program_id(2)
            tl.store(through_ptr + of_chunk * blocks + block, through)
            weight = tl.exp(total)
        else:
            _store(states_ptr + at, state, n, N, P, P - p, BLOCK_N, BLOCK_P)
            weight = tl.exp(whole - total) * dt
        weighted = (cols * weight[:, None]).to(cols.dtype)
        state = tl.dot(tl.trans(rows), weighted, state * tl.exp(whole))


@triton.jit
def query_kernel(
    grad_output_ptr,
    x_ptr,
    dt_ptr,
    A_ptr,
    B_ptr,
    C_ptr,
    states_ptr,
    dC_ptr,
    dB_ptr,
    ends_ptr,
    T,
    H,
    N,
    P,
    grad_output_seq,
    grad_output_step,
    grad_output_head,
    grad_output_p,
    x_seq,
    x_step,
    x_head,
    x_p,
    dt_seq,
    dt_step,
    dt_head,
    A_head,
    B_seq,
    B_step,
    B_group,
    B_n,
    C_seq,
    C_step,
    C_group,
    C_n,
    GROUP: tl.constexpr,
    HEADS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """One program: a chunk's dC, summed over up to HEADS heads of a group, and what its pairs add to dB.

    `ends` (S, T, H) is, for each step, <gradient, value> of the paths that end there, less that of the
    paths within the chunk that begin there.
    """
    seq, group, part, start = _place(GROUP, HEADS, CHUNK)
    B = _tile(B_ptr + seq * B_seq + group * B_group, start, T, B_step, B_n, N, CHUNK, BLOCK_N)
    C = _tile(C_ptr + seq * C_seq + group * C_group, start, T, C_step, C_n, N, CHUNK, BLOCK_N)
    scores = tl.dot(C, tl.trans(B))
    reads = tl.arange(0, CHUNK)[:, None]
    writes = tl.arange(0, CHUNK)[None, :]

    pairs = tl.zeros((CHUNK, CHUNK), dtype=tl.float32)
    dC = tl.zeros((CHUNK, BLOCK_N), dtype=tl.float32)
    first = group * GROUP + part * HEADS
    for head in range(first, tl.minimum(first + HEADS, (group + 1) * GROUP)):
        dt_at, A_at = dt_ptr + seq * dt_seq + head * dt_head, A_ptr + head * A_head
        dt, total, _ = _steps(dt_at, A_at, start, T, dt_step, CHUNK)
        x_at = x_ptr + seq * x_seq + head * x_head
        x = _tile(x_at, start, T, x_step, x_p, P, CHUNK, BLOCK_P)
        dy_at = grad_output_ptr + seq * grad_output_seq + head * grad_output_head
        dy = _tile(dy_at, start, T, grad_output_step, grad_output_p, P, CHUNK, BLOCK_P)
        state_at = states_ptr + ((seq * tl.num_programs(0) + tl.program_id(0)) * H + head) * N * P
        state = _tile(state_at, 0, N, P, 1, P, BLOCK_N, BLOCK_P)

        # The mask comes before the exponential: above the diagonal it might be infinite.
        between = tl.where(reads >= writes, total[:, None] - total[None, :], float("-inf"))
        of_head = tl.dot(dy, tl.trans(x)) * tl.exp(between) * dt[None, :]
        pairs += of_head
        of_state = tl.dot((dy * tl.exp(total)[:, None]).to(dy.dtype), tl.trans(state))
        dC += of_state

        # A step's path to itself crosses no decay, and must not be in what is subtracted from itself.
        crossing = tl.where(reads > writes, scores * of_head, 0.0)
        ends = tl.sum(of_state * C, axis=1) + tl.sum(crossing, axis=1) - tl.sum(crossing, axis=0)
        steps = start + tl.arange(0, CHUNK)
        tl.store(ends_ptr + (seq * T + steps) * H + head, ends, mask=steps < T)

    pairs = pairs.to(B.dtype)
    dC = tl.dot(pairs, B, dC)
    at = _part(seq, group, part, T, N, GROUP, HEADS)
    groups = tl.num_programs(1) // tl.cdiv(GROUP, HEADS)
    _store(dC_ptr + at, dC, start, T, groups * N, N, CHUNK, BLOCK_N)
    dB = tl.dot(tl.trans(pairs), C)
    _store(dB_ptr + at, dB, start, T, groups * N, N, CHUNK, BLOCK_N)


@triton.jit
def key_kernel(
    grad_output_ptr,
    x_ptr,
    dt_ptr,
    A_ptr,
    B_ptr,
    C_ptr,
    futures_ptr,
    dB_of_pairs_ptr,
    dx_ptr,
    dB_ptr,
    direct_ptr,
    leaving_ptr,
    T,
    H,
    N,
    P,
    grad_output_seq,
    grad_output_step,
    grad_output_head,
    grad_output_p,
    x_seq,
    x_step,
    x_head,
    x_p,
    dt_seq,
    dt_step,
    dt_head,
    A_head,
    B_seq,
    B_step,
    B_group,
    B_n,
    C_seq,
    C_step,
    C_group,
    C_n,
    GROUP: tl.constexpr,
    HEADS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    """One program: a chunk's dx for up to HEADS heads of a group, and dB summed over them.

    Steps that write are the rows here, so that the transposed matrices come out as products need them.
    `direct` (S, T, H) is the part of ddt through what comes in, `leaving` what of it comes back from
    beyond the chunk.
    """
    seq, group, part, start = _place(GROUP, HEADS, CHUNK)
    B = _tile(B_ptr + seq * B_seq + group * B_group, start, T, B_step, B_n, N, CHUNK, BLOCK_N)
    C = _tile(C_ptr + seq * C_seq + group * C_group, start, T, C_step, C_n, N, CHUNK, BLOCK_N)
    scores = tl.dot(B, tl.trans(C))
    writes = tl.arange(0, CHUNK)[:, None]
    reads = tl.arange(0, CHUNK)[None, :]

    at = _part(seq, group, part, T, N, GROUP, HEADS)
    groups = tl.num_programs(1) // tl.cdiv(GROUP, HEADS)
    dB = _tile(dB_of_pairs_ptr + at, start, T, groups * N, 1, N, CHUNK, BLOCK_N)
    first = group * GROUP + part * HEADS
    for head in range(first, tl.minimum(first + HEADS, (group + 1) * GROUP)):
        dt_at, A_at = dt_ptr + seq * dt_seq + head * dt_head, A_ptr + head * A_head
        dt, total, whole = _steps(dt_at, A_at, start, T, dt_step, CHUNK)
        x_at = x_ptr + seq * x_seq + head * x_head
        x = _tile(x_at, start, T, x_step, x_p, P, CHUNK, BLOCK_P)
        dy_at = grad_output_ptr + seq * grad_output_seq + head * grad_output_head
        dy = _tile(dy_at, start, T, grad_output_step, grad_output_p, P, CHUNK, BLOCK_P)
        chunk = (seq * tl.num_programs(0) + tl.program_id(0)) * H + head
        future = _tile(futures_ptr + chunk * N * P, 0, N, P, 1, P, BLOCK_N, BLOCK_P)

        between = tl.where(reads >= writes, total[None, :] - total[:, None], float("-inf"))
        decay, left = tl.exp(between), tl.exp(whole - total)
        beyond = tl.dot(B, future) * left[:, None]
        value = tl.dot((scores * decay).to(dy.dtype), dy, beyond)
        dx_at = dx_ptr + (seq * T * H + head) * P
        _store(dx_at, value * dt[:, None], start, T, H * P, P, CHUNK, BLOCK_P)
        steps = start + tl.arange(0, CHUNK)
        to = (seq * T + steps) * H + head
        tl.store(leaving_ptr + to, tl.sum(beyond * x, axis=1), mask=steps < T)
        tl.store(direct_ptr + to, tl.sum(value * x, axis=1), mask=steps < T)
        dB = tl.dot((x * (left * dt)[:, None]).to(x.dtype), tl.trans(future), dB)

    _store(dB_ptr + at, dB, start, T, groups * N, N, CHUNK, BLOCK_N)


@triton.jit
def decay_kernel(
    dt_ptr,
    A_ptr,
    ends_ptr,
    leaving_ptr,
    through_ptr,
    direct_ptr,
    ddt_ptr,
    dA_ptr,
    T,
    H,
    dt_seq,
    dt_step,
    dt_head,
    A_head,
    BLOCKS: tl.constexpr,
    CHUNK: tl.constexpr,
    BLOCK_H: tl.constexpr,
):
    """One program: ddt of a chunk's steps and BLOCK_H heads, and the chunk's share of dA.

    The gradient of a log decay dt · A comes from every path that crosses it: those that end at its step
    or later less those that begin there; those that begin earlier and leave the chunk; those through it.
    """
    chunk, seq = tl.program_id(0), tl.program_id(2).to(tl.int64)
    steps = (chunk * CHUNK + tl.arange(0, CHUNK))[:, None]
    heads = (tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H))[None, :]
    inside = (steps < T) & (heads < H)
    at = (seq * T + steps) * H + heads
    dt_at = dt_ptr + seq * dt_seq + steps.to(tl.int64) * dt_step + heads * dt_head
    dt = tl.load(dt_at, mask=inside, other=0.0)
    A = tl.load(A_ptr + heads * A_head, mask=heads < H, other=0.0)
    ends = tl.load(ends_ptr + at, mask=inside, other=0.0)
    leaving = dt * tl.load(leaving_ptr + at, mask=inside, other=0.0)
    direct = tl.load(direct_ptr + at, mask=inside, other=0.0)

    of_chunk = (seq * tl.num_programs(0) + chunk) * H + tl.arange(0, BLOCK_H)
    of_chunk += tl.program_id(1) * BLOCK_H
    through_at = through_ptr + of_chunk[:, None] * BLOCKS + tl.arange(0, BLOCKS)[None, :]
    there = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H) < H
    through = tl.sum(tl.load(through_at, mask=there[:, None], other=0.0), axis=1)
    dlog = tl.cumsum(ends, axis=0, reverse=True) + tl.cumsum(leaving, axis=0) - leaving
    dlog += through[None, :]
    tl.store(ddt_ptr + at, direct + A * dlog, mask=inside)
    tl.store(dA_ptr + of_chunk, tl.sum(dt * dlog, axis=0), mask=there)


def padded(size):
    """The length of a tile's edge; 16 is the least that tensor cores contract."""
    return max(16, triton.next_power_of_2(size))


def boundaries(grad_output, x, dt, A, B, C, chunk):
    """The state before each chunk, the gradient of the one after, what passes: see state_kernel."""
    (S, T, H, P), (G, N) = x.shape, B.shape[2:]
    block_n, block_p = min(128, padded(N)), min(32, padded(P))
    grid = (S * H, padded(N) // block_n, padded(P) // block_p)
    of_chunks = (S, triton.cdiv(T, chunk), H)
    states, futures = (
        torch.empty((*of_chunks, N, P), dtype=x.dtype, device=x.device) for _ in range(2)
    )
    through = torch.empty((*of_chunks, grid[1] * grid[2]), dtype=torch.float32, device=x.device)
    for rows, cols, reverse in ((B, x, False), (C, grad_output, True)):
        state_kernel[grid](
            *(rows, cols, dt, A, states, futures, through),
            *(T, H, N, P, *rows.stride(), *cols.stride(), *dt.stride(), *A.stride()),
            GROUP=H // G,
            REVERSE=reverse,
            CHUNK=chunk,
            BLOCK_N=block_n,
            BLOCK_P=block_p,
            num_warps=4,
            num_stages=2,
        )
    return states, futures, through


def backward(grad_output, x, dt, A, B, C):
    """grad_output, x (S, T, H, P), B, C (S, T, G, N): bfloat16; dt (S, T, H), A (H,): float32.

    Any strides. Returns dx, ddt, dA, dB and dC in the shapes and dtypes of theirs, with the same bits
    every time.
    """
    (S, T, H, P), (G, N) = x.shape, B.shape[2:]
    chunk = 64 if padded(N) * padded(P) <= 128 * 64 else 32
    states, futures, through = boundaries(grad_output, x, dt, A, B, C, chunk)

    chunks, parts = states.shape[1], triton.cdiv(H // G, HEADS)
    dx = torch.empty((S, T, H, P), dtype=x.dtype, device=x.device)
    ddt, ends, leaving, direct = (
        torch.empty((S, T, H), dtype=torch.float32, device=x.device) for _ in range(4)
    )
    dA = torch.empty((S, chunks, H), dtype=torch.float32, device=x.device)
    # Several programs may share a group: each has sums of its own.
    dB_of_pairs, dB, dC = (
        torch.empty((parts, S, T, G, N), dtype=torch.float32, device=x.device) for _ in range(3)
    )

    given = (grad_output, x, dt, A, B, C)
    sizes = (T, H, N, P, *(stride for tensor in given for stride in tensor.stride()))
    options = {
        "GROUP": H // G,
        "HEADS": HEADS,
        "CHUNK": chunk,
        "BLOCK_N": padded(N),
        "BLOCK_P": padded(P),
        "num_warps": 8,
        "num_stages": 2,
    }
    grid = (chunks, G * parts, S)
    query_kernel[grid](*given, states, dC, dB_of_pairs, ends, *sizes, **options)
    key_kernel[grid](*given, futures, dB_of_pairs, dx, dB, direct, leaving, *sizes, **options)
    decay_kernel[(chunks, triton.cdiv(H, 32), S)](
        *(dt, A, ends, leaving, through, direct, ddt, dA),
        *(T, H, *dt.stride(), *A.stride()),
        BLOCKS=through.shape[-1],
        CHUNK=chunk,
        BLOCK_H=32,
    )
    return dx, ddt, dA.sum((0, 1)), dB.sum(0).to(B.dtype), dC.sum(0).to(C.dtype)
