"""Grouped matrix products, backward, in PyTorch: a loop over the experts that have rows.

Each expert's dweight is added, in float32, to what is there: to the buffer of an accumulating step, or
to zeros, which experts without rows keep. `offsets` is read once; on a GPU the loop waits for it.
"""

import torch


def product_to_float32(a, b):
    """a @ b, not rounded below float32; a and b are bfloat16."""
    if a.is_cuda:
        # Tensor cores multiply bfloat16 exactly and add in float32; this keeps that result.
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


def backward(grad_output, x, weight, offsets, dweight_buffer):
    """grad_output (M, N), x (M, K), weight (E, K, N): bfloat16, any strides. offsets (E + 1): int32.
    dweight_buffer: None, or (E, K, N) in float32, to which dweight is added.

    Returns dx (M, K) in bfloat16, 0 in rows of no expert, and dweight (E, K, N) in float32.
    """
    dx = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    dweight = dweight_buffer
    if dweight is None:
        dweight = torch.zeros(weight.shape, dtype=torch.float32, device=x.device)
    bounds = offsets.tolist()
    for expert in range(len(weight)):
        begin, end = bounds[expert], bounds[expert + 1]
        if begin == end:
            continue
        dy = grad_output[begin:end]
        torch.mm(dy, weight[expert].t(), out=dx[begin:end])
        dweight[expert] += product_to_float32(x[begin:end].t(), dy)
    return dx, dweight
