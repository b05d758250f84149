"""Linear scan, backward: the same recurrence from the end, in chunks of time that run side by side.

See notes.md for the way here from the derivation.
"""

import torch
import triton
import triton.language as tl

CHUNK = 64  # steps that one strip walks
TILE = 512  # elements of a tile: strips × channels, 4 for each thread of 4 warps


@triton.jit
def _place(strips, chunks, D, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr):
    """This program's strips and channels: sequence and chunk (64-bit columns), channel, and a mask."""
    blocks = tl.cdiv(D, BLOCK_D)
    strip = ((tl.program_id(0) // blocks) * BLOCK_S + tl.arange(0, BLOCK_S))[:, None]
    chan = ((tl.program_id(0) % blocks) * BLOCK_D + tl.arange(0, BLOCK_D))[None, :]
    # 64-bit: B × T × D may exceed 2³¹.
    seq, chunk = (strip // chunks).to(tl.int64), (strip % chunks).to(tl.int64)
    return seq, chunk, chan.to(tl.int64), (strip < strips) & (chan < D)


@triton.jit
def _summaries(
    dy_ptr,
    a_ptr,
    decay_ptr,
    rest_ptr,
    T,
    D,
    strips,
    dy_seq,
    dy_step,
    dy_chan,
    a_seq,
    a_step,
    a_chan,
    CHUNK: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """What a chunk does to the carry c that comes from its future: c becomes decay * c + rest."""
    chunks = tl.cdiv(T, CHUNK)
    seq, chunk, chan, inside = _place(strips, chunks, D, BLOCK_S, BLOCK_D)
    dy_at = dy_ptr + seq * dy_seq + chan * dy_chan
    a_at = a_ptr + seq * a_seq + chan * a_chan

    decay = tl.full((BLOCK_S, BLOCK_D), 1.0, dtype=tl.float32)
    rest = tl.zeros((BLOCK_S, BLOCK_D), dtype=tl.float32)
    for step in range(CHUNK):
        t = chunk * CHUNK + (CHUNK - 1 - step)
        there = inside & (t < T)
        # Steps beyond the end change nothing: their decay is 1 and their upstream gradient 0.
        a = tl.load(a_at + t * a_step, mask=there, other=1.0)
        dy = tl.load(dy_at + t * dy_step, mask=there, other=0.0)
        decay = a * decay
        rest = a * (dy + rest)
    to = (seq * chunks + chunk) * D + chan
    tl.store(decay_ptr + to, decay, mask=inside)
    tl.store(rest_ptr + to, rest, mask=inside)


@triton.jit
def _carries(decay_ptr, rest_ptr, carry_ptr, chunks, D, BLOCK_D: tl.constexpr):
    """The carry that reaches each chunk of one sequence from its future, from the last chunk on."""
    blocks = tl.cdiv(D, BLOCK_D)
    seq = (tl.program_id(0) // blocks).to(tl.int64)
    chan = (tl.program_id(0) % blocks) * BLOCK_D + tl.arange(0, BLOCK_D)
    carry = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for back in range(chunks):
        at = (seq * chunks + (chunks - 1 - back)) * D + chan
        tl.store(carry_ptr + at, carry, mask=chan < D)
        decay = tl.load(decay_ptr + at, mask=chan < D, other=0.0)
        carry = decay * carry + tl.load(rest_ptr + at, mask=chan < D, other=0.0)


@triton.jit
def _gradients(
    dy_ptr,
    a_ptr,
    h_ptr,
    carry_ptr,
    dx_ptr,
    da_ptr,
    T,
    D,
    strips,
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
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """dx and da of the strips' steps, once the carry from the future is known."""
    chunks = tl.cdiv(T, CHUNK)
    seq, chunk, chan, inside = _place(strips, chunks, D, BLOCK_S, BLOCK_D)
    dy_at = dy_ptr + seq * dy_seq + chan * dy_chan
    a_at = a_ptr + seq * a_seq + chan * a_chan
    h_at = h_ptr + seq * h_seq + chan * h_chan

    carry = tl.load(carry_ptr + (seq * chunks + chunk) * D + chan, mask=inside, other=0.0)
    for step in range(CHUNK):
        t = chunk * CHUNK + (CHUNK - 1 - step)
        there = inside & (t < T)
        a = tl.load(a_at + t * a_step, mask=there, other=1.0)
        dy = tl.load(dy_at + t * dy_step, mask=there, other=0.0)
        # The state before the first step is zero.
        before = tl.load(h_at + (t - 1) * h_step, mask=there & (t > 0), other=0.0)
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

    chunk = min(CHUNK, triton.next_power_of_2(T))
    chunks = triton.cdiv(T, chunk)
    strips = B * chunks
    decay, rest, carry = torch.empty((3, B, chunks, D), dtype=torch.float32, device=a.device)
    BLOCK_D = min(triton.next_power_of_2(D), 128)
    BLOCK_S = min(TILE // BLOCK_D, triton.next_power_of_2(strips))
    config = {"CHUNK": chunk, "BLOCK_S": BLOCK_S, "BLOCK_D": BLOCK_D, "num_warps": 4}
    grid = (triton.cdiv(strips, BLOCK_S) * triton.cdiv(D, BLOCK_D),)
    of_dy, of_a, of_h = grad_output.stride(), a.stride(), h.stride()
    _summaries[grid](grad_output, a, decay, rest, T, D, strips, *of_dy, *of_a, **config)
    _carries[(B * triton.cdiv(D, BLOCK_D),)](
        decay, rest, carry, chunks, D, BLOCK_D=BLOCK_D, num_warps=1
    )
    _gradients[grid](grad_output, a, h, carry, dx, da, T, D, strips, *of_dy, *of_a, *of_h, **config)
    return dx, da
