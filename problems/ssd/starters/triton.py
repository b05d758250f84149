"""State space duality, backward. Two TODOs stand between this file and correct gradients."""

import torch
import triton
import triton.language as tl


@triton.jit
def tile(ptr, steps, stride_step, stride_col, T, columns, BLOCK: tl.constexpr):
    """Rows `steps` of one head or group, zero beyond the ends."""
    cols = tl.arange(0, BLOCK)
    at = steps.to(tl.int64)[:, None] * stride_step + cols[None, :] * stride_col
    return tl.load(ptr + at, mask=(steps[:, None] < T) & (cols[None, :] < columns), other=0.0)


@triton.jit
def chunk_kernel(
    dy_ptr, x_ptr, dt_ptr, A_ptr, B_ptr, C_ptr, dx_ptr, ddt_ptr, dA_ptr, dB_ptr, dC_ptr,
    T, H, N, P,
    dy_s, dy_t, dy_h, dy_p, x_s, x_t, x_h, x_p, dt_s, dt_t, dt_h, A_h,
    B_s, B_t, B_g, B_n, C_s, C_t, C_g, C_n,
    GROUP: tl.constexpr, CHUNK: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_P: tl.constexpr,
):  # fmt: skip
    """A chunk of one head, as if it were alone."""
    chunk, head = tl.program_id(0), tl.program_id(1)
    seq = tl.program_id(2).to(tl.int64)
    steps = chunk * CHUNK + tl.arange(0, CHUNK)
    dy = tile(dy_ptr + seq * dy_s + head * dy_h, steps, dy_t, dy_p, T, P, BLOCK_P)
    x = tile(x_ptr + seq * x_s + head * x_h, steps, x_t, x_p, T, P, BLOCK_P)
    B = tile(B_ptr + seq * B_s + head // GROUP * B_g, steps, B_t, B_n, T, N, BLOCK_N)
    C = tile(C_ptr + seq * C_s + head // GROUP * C_g, steps, C_t, C_n, T, N, BLOCK_N)
    dt = tl.load(dt_ptr + seq * dt_s + steps * dt_t + head * dt_h, mask=steps < T, other=0.0)
    total = tl.cumsum(dt * tl.load(A_ptr + head * A_h), axis=0)

    rows, cols = tl.arange(0, CHUNK)[:, None], tl.arange(0, CHUNK)[None, :]
    decay = tl.exp(tl.where(rows >= cols, total[:, None] - total[None, :], float("-inf")))
    scores = tl.dot(C, tl.trans(B)) * decay
    pairs = tl.dot(dy, tl.trans(x)) * decay * dt[None, :]
    # TODO 1: a state reaches this chunk, and the chunk's own state goes on to later ones. Both add to
    # every gradient: see Hint 2.
    value = tl.dot(tl.trans(scores.to(dy.dtype)), dy)
    dC = tl.dot(pairs.to(B.dtype), B)
    dB = tl.dot(tl.trans(pairs.to(C.dtype)), C)
    crossing = tl.where(rows > cols, tl.dot(C, tl.trans(B)) * pairs, 0.0)
    dlog = tl.cumsum(tl.sum(crossing, axis=1) - tl.sum(crossing, axis=0), axis=0, reverse=True)
    # TODO 2: dt is in the decay, too: see dlog, and A.
    ddt = tl.sum(value * x, axis=1)

    to = (seq * T + steps) * H + head
    p, n = tl.arange(0, BLOCK_P)[None, :], tl.arange(0, BLOCK_N)[None, :]
    of_x, of_n = (steps[:, None] < T) & (p < P), (steps[:, None] < T) & (n < N)
    tl.store(dx_ptr + to[:, None] * P + p, (value * dt[:, None]).to(dx_ptr.dtype.element_ty), of_x)
    tl.store(ddt_ptr + to, ddt, mask=steps < T)
    tl.store(dA_ptr + (seq * tl.num_programs(0) + chunk) * H + head, tl.sum(dt * dlog, axis=0))
    tl.store(dB_ptr + to[:, None] * N + n, dB, of_n)
    tl.store(dC_ptr + to[:, None] * N + n, dC, of_n)


def backward(grad_output, x, dt, A, B, C):
    """Gradients of h[t] = exp(dt[t] A) h[t-1] + dt[t] B[t] x[t]^T, y[t] = h[t]^T C[t], from h[-1] = 0.

    grad_output  (S, T, H, P) bfloat16, any strides: the gradient of the loss with respect to y
    x            (S, T, H, P) bfloat16, any strides
    dt           (S, T, H)    float32, any strides: 0 or more
    A            (H,)         float32: negative
    B            (S, T, G, N) bfloat16, any strides: head h belongs to group h // (H // G)
    C            (S, T, G, N) bfloat16, any strides

    Returns dx (S, T, H, P), dB, dC (S, T, G, N) in bfloat16, ddt (S, T, H), dA (H,) in float32.
    """
    (S, T, H, P), (G, N) = x.shape, B.shape[2:]
    CHUNK = 64
    chunks = triton.cdiv(T, CHUNK)
    dx = torch.empty((S, T, H, P), dtype=x.dtype, device=x.device)
    ddt = torch.empty((S, T, H), dtype=torch.float32, device=x.device)
    dA = torch.empty((S, chunks, H), dtype=torch.float32, device=x.device)
    # For each head: the heads of a group are added up below.
    dB, dC = (torch.empty((S, T, H, N), dtype=torch.float32, device=x.device) for _ in range(2))
    given = (grad_output, x, dt, A, B, C)
    chunk_kernel[(chunks, H, S)](
        *given,
        *(dx, ddt, dA, dB, dC),
        *(T, H, N, P),
        *(stride for tensor in given for stride in tensor.stride()),
        GROUP=H // G,
        CHUNK=CHUNK,
        BLOCK_N=max(16, triton.next_power_of_2(N)),
        BLOCK_P=max(16, triton.next_power_of_2(P)),
    )
    dB, dC = (m.unflatten(2, (G, -1)).sum(3).to(x.dtype) for m in (dB, dC))
    return dx, ddt, dA.sum((0, 1)), dB, dC
