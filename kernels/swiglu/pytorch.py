"""SwiGLU backward in PyTorch, a few rows at a time so that the float32 temporaries stay in cache.

Written over whole tensors, each operation sends a float32 tensor, twice the size of an argument, to
main memory and back. In blocks of rows the same operations run out of the cache, and main memory sees
little more than the arguments once and the gradients once.
"""

import torch
import torch.nn.functional as F

# Elements in a block. On a CPU: 1 MB for each float32 temporary, which stays in the cache; below half of
# that, calling the operations takes longer than they save. A GPU wants few, large launches.
CPU_BLOCK = 256 * 1024
GPU_BLOCK = 64 * 1024 * 1024


def backward(grad_output, gate, up):
    """grad_output, gate, up: (M, N), bfloat16, any strides. Returns dgate, dup: (M, N), bfloat16."""
    M, N = gate.shape
    dgate = torch.empty((M, N), dtype=gate.dtype, device=gate.device)
    dup = torch.empty((M, N), dtype=up.dtype, device=up.device)
    rows_per_block = max(1, (GPU_BLOCK if gate.is_cuda else CPU_BLOCK) // N)
    for start in range(0, M, rows_per_block):
        rows = slice(start, start + rows_per_block)
        dy = grad_output[rows].float()
        g = gate[rows].float()
        # The assignments round to bfloat16, once, at the end.
        dup[rows] = dy * F.silu(g)
        # silu_backward(d, g) = d · σ(g) · (1 + g · (1 − σ(g))), in one pass.
        dgate[rows] = torch.ops.aten.silu_backward(dy * up[rows].float(), g)
    return dgate, dup
