"""Causal convolution with SiLU, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv_backward(
    dy_ptr,
    x_ptr,
    w_ptr,
    b_ptr,
    dx_ptr,
    dw_ptr,
    db_ptr,
    T,
    D,
    dy_seq,
    dy_step,
    dy_chan,
    x_seq,
    x_step,
    x_chan,
    w_chan,
    w_tap,
    W: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """A block of steps and channels of one sequence."""
    seq = tl.program_id(0).to(tl.int64)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)[:, None]
    chan = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    in_row = chan < D
    inside = (t < T) & in_row[None, :]

    # bfloat16 is for memory; compute in float32.
    u = tl.load(b_ptr + chan, mask=in_row, other=0.0).to(tl.float32)[None, :]
    for k in tl.static_range(W):
        then = t - (W - 1) + k
        at = x_ptr + seq * x_seq + then * x_step + chan[None, :] * x_chan
        x = tl.load(at, mask=inside & (then >= 0), other=0.0).to(tl.float32)
        w = tl.load(w_ptr + chan * w_chan + k * w_tap, mask=in_row, other=0.0).to(tl.float32)
        u += w[None, :] * x
    s = 1 / (1 + tl.exp(-u))
    at = dy_ptr + seq * dy_seq + t * dy_step + chan[None, :] * dy_chan
    g = tl.load(at, mask=inside, other=0.0).to(tl.float32) * s * (1 + u * (1 - s))

    # TODO 1: x[t] was read by steps t, t + 1, ..., t + W - 1. So far dx holds step t alone.
    w = tl.load(w_ptr + chan * w_chan + (W - 1) * w_tap, mask=in_row, other=0.0).to(tl.float32)
    to = dx_ptr + (seq * T + t) * D + chan[None, :]
    tl.store(to, (w[None, :] * g).to(dx_ptr.dtype.element_ty), mask=inside)

    # TODO 2: dweight and dbias are sums of g * x and of g over all steps of all sequences.


def backward(grad_output, x, weight, bias):
    """Gradients of y = silu(u), u[t] = bias + sum over k of weight[:, k] * x[t - (W - 1) + k].

    grad_output  (B, T, D) bfloat16, any strides: the gradient of the loss with respect to y
    x            (B, T, D) bfloat16, any strides
    weight       (D, W)    bfloat16, any strides; the taps of each channel, oldest first
    bias         (D,)      bfloat16

    Returns dx (B, T, D) bfloat16, dweight (D, W) float32 and dbias (D,) float32.
    """
    (B, T, D), W = x.shape, weight.shape[1]
    dx = torch.empty((B, T, D), dtype=x.dtype, device=x.device)
    dweight = torch.zeros((D, W), dtype=torch.float32, device=x.device)
    dbias = torch.zeros((D,), dtype=torch.float32, device=x.device)
    BLOCK_T = min(triton.next_power_of_2(T), 64)
    BLOCK_D = min(triton.next_power_of_2(D), 64)
    conv_backward[(B, triton.cdiv(T, BLOCK_T), triton.cdiv(D, BLOCK_D))](
        grad_output,
        x,
        weight,
        bias,
        dx,
        dweight,
        dbias,
        T,
        D,
        *grad_output.stride(),
        *x.stride(),
        *weight.stride(),
        W=W,
        BLOCK_T=BLOCK_T,
        BLOCK_D=BLOCK_D,
    )
    return dx, dweight, dbias
