"""SwiGLU, backward. One TODO stands between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_backward(
    dy_ptr,
    gate_ptr,
    up_ptr,
    dgate_ptr,
    dup_ptr,
    N,
    dy_row,
    dy_col,
    gate_row,
    gate_col,
    up_row,
    up_col,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = cols < N

    # bfloat16 is for memory; compute in float32.
    dy = tl.load(dy_ptr + row * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    g = tl.load(gate_ptr + row * gate_row + cols * gate_col, mask=inside, other=0.0).to(tl.float32)
    u = tl.load(up_ptr + row * up_row + cols * up_col, mask=inside, other=0.0).to(tl.float32)

    sigma = tl.sigmoid(g)
    dup = dy * g * sigma
    # TODO: silu(g) = g * sigma is a product, so its derivative has a second term.
    dgate = dy * u * sigma

    tl.store(dgate_ptr + row * N + cols, dgate.to(dgate_ptr.dtype.element_ty), mask=inside)
    tl.store(dup_ptr + row * N + cols, dup.to(dup_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, gate, up):
    """Gradients of y = silu(gate) * up, where silu(g) = g * sigmoid(g).

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    gate         (M, N) bfloat16, any strides
    up           (M, N) bfloat16, any strides

    Returns dgate (M, N) bfloat16 and dup (M, N) bfloat16.
    """
    M, N = gate.shape
    dgate = torch.empty((M, N), dtype=gate.dtype, device=gate.device)
    dup = torch.empty((M, N), dtype=up.dtype, device=up.device)
    BLOCK_N = 1024
    swiglu_backward[(M, triton.cdiv(N, BLOCK_N))](
        grad_output,
        gate,
        up,
        dgate,
        dup,
        N,
        *grad_output.stride(),
        *gate.stride(),
        *up.stride(),
        BLOCK_N=BLOCK_N,
    )
    return dgate, dup
