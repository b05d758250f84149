"""Linear backward in PyTorch: two library matrix products, each in the precision its gradient needs.

dx is returned in bfloat16, so a bfloat16 product (which adds up in float32 inside and rounds once) is
exactly right and fast. dweight is returned in float32: a bfloat16 product would round its result, so
its operands are widened first, or, where the library offers it, the result is asked for in float32.
"""

import torch


def matmul_to_float32(a, b):
    """a @ b, not rounded below float32; a and b are bfloat16."""
    if a.is_cuda:
        # Tensor cores multiply bfloat16 exactly and add in float32; this keeps that result.
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


def backward(grad_output, x, weight, dweight_buffer):
    """grad_output (M, N), x (M, K), weight (N, K): bfloat16, any strides. dweight_buffer: None, or
    (N, K) in float32, to which dweight is added.

    Returns dx (M, K) in bfloat16, dweight (N, K) and dbias (N) in float32.
    """
    dx = grad_output @ weight
    dweight = matmul_to_float32(grad_output.t(), x)
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    dbias = grad_output.sum(dim=0, dtype=torch.float32)
    return dx, dweight, dbias
