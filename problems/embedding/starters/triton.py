"""Embedding, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def embedding_backward(dy_ptr, ids_ptr, dw_ptr, N, dy_row, dy_col, BLOCK_N: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    inside = cols < N
    row = tl.load(ids_ptr + token)

    # bfloat16 is for memory; add in float32.
    dy = tl.load(dy_ptr + token * dy_row + cols * dy_col, mask=inside, other=0.0).to(tl.float32)
    # TODO 1: tokens with the same id meet here. This keeps one of them; the gradient is the sum of all.
    # TODO 2: id 0 is padding, and its row is not trained.
    tl.store(dw_ptr + row * N + cols, dy, mask=inside)


def backward(grad_output, ids, weight):
    """The gradient of y = weight[ids] with respect to weight; row 0 is padding and stays zero.

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    ids          (M,)   int64, for each token a row of weight
    weight       (V, N) bfloat16; only its shape is of use here

    Returns dweight (V, N) float32.
    """
    (M, N), V = grad_output.shape, weight.shape[0]
    dweight = torch.zeros((V, N), dtype=torch.float32, device=ids.device)
    embedding_backward[(M,)](
        grad_output, ids, dweight, N, *grad_output.stride(), BLOCK_N=triton.next_power_of_2(N)
    )
    return dweight
