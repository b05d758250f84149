"""Linear scan, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def scan_backward(
    dy_ptr,
    a_ptr,
    h_ptr,
    dx_ptr,
    da_ptr,
    T,
    D,
    dy_seq,
    dy_step,
    dy_chan,
    a_seq,
    a_step,
    a_chan,
    h_seq,
    h_step,
    h_chan,
    BLOCK_D: tl.constexpr,
):
    """One sequence, from the last step to the first, for a block of channels."""
    seq = tl.program_id(0).to(tl.int64)
    chan = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = chan < D
    for back in range(T):
        t = T - 1 - back
        at = dy_ptr + seq * dy_seq + t * dy_step + chan * dy_chan
        # TODO 1: h[t] went into h[t + 1] too, so g has a second term: carry it along.
        g = tl.load(at, mask=inside, other=0.0)
        # TODO 2: a[t] multiplied the state before step t, not the one after.
        h = tl.load(h_ptr + seq * h_seq + t * h_step + chan * h_chan, mask=inside, other=0.0)
        to = (seq * T + t) * D + chan
        tl.store(dx_ptr + to, g, mask=inside)
        tl.store(da_ptr + to, g * h, mask=inside)


def backward(grad_output, a, h):
    """Gradients of h[t] = a[t] * h[t - 1] + x[t], where h[-1] = 0, along dimension 1.

    grad_output  (B, T, D) float32, any strides: the gradient of the loss with respect to h
    a            (B, T, D) float32, any strides
    h            (B, T, D) float32, any strides; saved by forward

    Returns dx (B, T, D) float32 and da (B, T, D) float32.
    """
    B, T, D = a.shape
    dx = torch.empty((B, T, D), dtype=torch.float32, device=a.device)
    da = torch.empty((B, T, D), dtype=torch.float32, device=a.device)
    BLOCK_D = min(triton.next_power_of_2(D), 128)
    scan_backward[(B, triton.cdiv(D, BLOCK_D))](
        grad_output,
        a,
        h,
        dx,
        da,
        T,
        D,
        *grad_output.stride(),
        *a.stride(),
        *h.stride(),
        BLOCK_D=BLOCK_D,
    )
    return dx, da
