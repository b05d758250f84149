# expect: wrong_gradient
"""Loads, adds and stores a tile of rows instead of adding atomically: rows that meet are lost."""

import torch
import triton
import triton.language as tl


@triton.jit
def tokens_kernel(dy_ptr, ids_ptr, dw_ptr, M, N, dy_row, dy_col, BLOCK_N: tl.constexpr):
    tokens = tl.program_id(0) * 16 + tl.arange(0, 16)
    cols = tl.arange(0, BLOCK_N)[None, :]
    ids = tl.load(ids_ptr + tokens, mask=tokens < M, other=0)[:, None]
    inside = (ids != 0) & (cols < N)
    dy = tl.load(dy_ptr + tokens[:, None] * dy_row + cols * dy_col, mask=inside, other=0.0)
    total = tl.load(dw_ptr + ids * N + cols, mask=inside, other=0.0) + dy.to(tl.float32)
    tl.store(dw_ptr + ids * N + cols, total, mask=inside)


def backward(grad_output, ids, weight):
    (M, N), V = grad_output.shape, weight.shape[0]
    dweight = torch.zeros((V, N), dtype=torch.float32, device=ids.device)
    tokens_kernel[(triton.cdiv(M, 16),)](
        grad_output, ids, dweight, M, N, *grad_output.stride(), triton.next_power_of_2(N)
    )
    return dweight
