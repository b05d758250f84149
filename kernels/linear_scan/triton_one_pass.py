"""Linear scan, backward, in a single pass: chunks wait for the carry of their successor.

Every element is read once: what a chunk needs twice stays in registers while it waits. The price is a
chain of programs that wait for each other. See notes.md for when that pays.
"""

import torch
import triton
import triton.language as tl

CHUNK = 16  # steps of a chunk: two tensors of them are in registers while it waits
LANES = 512  # channels of a chunk, of one sequence or of several: 4 for each thread of 4 warps
WAITING = 1  # what a chunk's flag says until its carry is in memory


@triton.jit
def _chunks(
    dy_ptr,
    a_ptr,
    h_ptr,
    ticket_ptr,
    flag_ptr,
    carry_ptr,
    dx_ptr,
    da_ptr,
    B,
    T,
    D,
    chains,
    dy_seq,
    dy_step,
    dy_chan,
    a_seq,
    a_step,
    a_chan,
    h_seq,
    h_step,
    h_chan,
    CHUNK: tl.constexpr,
    LANES: tl.constexpr,
    WAITING: tl.constexpr,
):
    """dx and da of one chunk. Chunks of the same channels are a chain, from its last on."""
    # A chunk waits for one with a lower number. Numbers are drawn, not given: whoever drew a lower one
    # has started and needs nobody who has not. The order in which a GPU starts programs is not promised.
    number = tl.atomic_add(ticket_ptr, 1)
    chain = number % chains
    back = number // chains
    begin = (tl.cdiv(T, CHUNK) - 1 - back) * CHUNK
    lane = chain * LANES + tl.arange(0, LANES)
    inside = lane < B * D
    seq, chan = (lane // D).to(tl.int64), (lane % D).to(tl.int64)  # B × T × D may exceed 2³¹
    dy_at = dy_ptr + seq * dy_seq + chan * dy_chan
    a_at = a_ptr + seq * a_seq + chan * a_chan
    h_at = h_ptr + seq * h_seq + chan * h_chan

    # What the chunk does to the carry c that comes from its future: c becomes decay * c + rest.
    decay = tl.full((LANES,), 1.0, dtype=tl.float32)
    rest = tl.zeros((LANES,), dtype=tl.float32)
    kept = ()
    for step in tl.static_range(CHUNK):
        t = begin + (CHUNK - 1 - step)
        there = inside & (t < T)
        # Steps beyond the end change nothing: their decay is 1 and their upstream gradient 0.
        a = tl.load(a_at + t.to(tl.int64) * a_step, mask=there, other=1.0)
        dy = tl.load(dy_at + t.to(tl.int64) * dy_step, mask=there, other=0.0)
        decay = a * decay
        rest = a * (dy + rest)
        kept = kept + ((a, dy),)  # noqa: RUF005 - Triton compiles no starred items

    at = number.to(tl.int64) * LANES + tl.arange(0, LANES)
    carry = tl.zeros((LANES,), dtype=tl.float32)
    if back > 0:
        while tl.atomic_add(flag_ptr + number - chains, 0, sem="acquire") == WAITING:
            pass
        # Past the first-level cache, which another multiprocessor's store does not reach.
        carry = tl.load(carry_ptr + at - chains.to(tl.int64) * LANES, cache_modifier=".cg")
    tl.store(carry_ptr + at, decay * carry + rest)
    tl.debug_barrier()  # every thread's part of the carry is stored before one of them says so
    tl.atomic_xchg(flag_ptr + number, 1 - WAITING, sem="release")

    for step in tl.static_range(CHUNK):
        t = begin + (CHUNK - 1 - step)
        there = inside & (t < T)
        a, dy = kept[step]
        # The state before the first step is zero.
        before = tl.load(h_at + (t - 1).to(tl.int64) * h_step, mask=there & (t > 0), other=0.0)
        g = dy + carry
        carry = a * g
        to = (seq * T + t) * D + chan
        tl.store(dx_ptr + to, g, mask=there)
        tl.store(da_ptr + to, g * before, mask=there)


def backward(grad_output, a, h):
    """dx and da (B, T, D) in float32; any strides of all three arguments."""
    B, T, D = a.shape
    dx = torch.empty((B, T, D), dtype=torch.float32, device=a.device)
    da = torch.empty((B, T, D), dtype=torch.float32, device=a.device)

    chunk = min(triton.next_power_of_2(T), CHUNK)
    lanes = min(triton.next_power_of_2(B * D), LANES)
    chains = triton.cdiv(B * D, lanes)
    programs = chains * triton.cdiv(T, chunk)
    ticket = torch.zeros((1,), dtype=torch.int32, device=a.device)
    flag = torch.full((programs,), WAITING, dtype=torch.int32, device=a.device)
    carry = torch.empty((programs, lanes), dtype=torch.float32, device=a.device)
    _chunks[(programs,)](
        grad_output,
        a,
        h,
        ticket,
        flag,
        carry,
        dx,
        da,
        B,
        T,
        D,
        chains,
        *grad_output.stride(),
        *a.stride(),
        *h.stride(),
        CHUNK=chunk,
        LANES=lanes,
        WAITING=WAITING,
        num_warps=4,
    )
    return dx, da
