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
    BLOCK_D: tl.constexpr,
):
    """One sequence, all its steps one after the other, for a block of channels."""
    seq = tl.program_id(0).to(tl.int64)
    chan = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = chan < D
    bias = tl.load(b_ptr + chan, mask=inside, other=0.0).to(tl.float32)
    w_last = tl.load(w_ptr + chan * w_chan + (W - 1) * w_tap, mask=inside, other=0.0)

    for t in range(T):
        # bfloat16 is for memory; compute in float32.
        u = bias
        for k in tl.static_range(W):
            then = t - (W - 1) + k
            at = x_ptr + seq * x_seq + then * x_step + chan * x_chan
            x = tl.load(at, mask=inside & (then >= 0), other=0.0).to(tl.float32)
            w = tl.load(w_ptr + chan * w_chan + k * w_tap, mask=inside, other=0.0)
            u += w.to(tl.float32) * x
        s = 1 / (1 + tl.exp(-u))
        dy = tl.load(dy_ptr + seq * dy_seq + t * dy_step + chan * dy_chan, mask=inside, other=0.0)
        g = dy.to(tl.float32) * s * (1 + u * (1 - s))

        # TODO 1: x[t] was read by steps t, t + 1, ..., t + W - 1. So far dx holds step t alone.
        dx = w_last.to(tl.float32) * g
        to = dx_ptr + (seq * T + t) * D + chan
        tl.store(to, dx.to(dx_ptr.dtype.element_ty), mask=inside)

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
    BLOCK_D = min(triton.next_power_of_2(D), 256)
    conv_backward[(B, triton.cdiv(D, BLOCK_D))](
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
        BLOCK_D=BLOCK_D,
    )
    return dx, dweight, dbias
