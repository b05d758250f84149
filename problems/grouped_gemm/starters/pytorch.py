"""Grouped GEMM, backward. Two TODOs stand between this file and a correct gradient."""

import torch


def backward(grad_output, x, weight, offsets, dweight_buffer):
    """Gradients of y[rows] = x[rows] @ weight[e] for the rows of each expert e.

    grad_output     (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x               (M, K) bfloat16, any strides
    weight          (E, K, N) bfloat16, any strides
    offsets         (E + 1,) int32: expert e owns the rows from offsets[e] to offsets[e + 1] - 1
    dweight_buffer  None, or (E, K, N) float32 with an earlier gradient: add dweight to it and return it

    Returns dx (M, K) bfloat16 and dweight (E, K, N) float32.
    """
    (M, K), E = x.shape, len(weight)
    dx = torch.zeros((M, K), dtype=x.dtype, device=x.device)
    dweight = dweight_buffer
    if dweight is None:
        dweight = torch.zeros(weight.shape, dtype=torch.float32, device=x.device)
    for e in range(E):
        # TODO 1: these are equal shares. Each expert has its own number of rows, perhaps none.
        rows = slice(e * M // E, (e + 1) * M // E)
        dx[rows] = grad_output[rows] @ weight[e].T
        # TODO 2: a product of bfloat16 matrices is rounded to bfloat16 before it is added.
        dweight[e] += x[rows].T @ grad_output[rows]
    return dx, dweight
