"""Linear scan, backward, in plain PyTorch: one step after the other, from the end, in place.

See notes.md for what each line costs.
"""

import torch


def backward(grad_output, a, h):
    """dx and da (B, T, D) in float32; any strides of all three arguments."""
    B, T, D = a.shape
    # Time first: each step is then one piece of memory, and what follows it lies next to it.
    g = torch.empty((T, B, D), dtype=torch.float32, device=a.device)
    g.copy_(grad_output.transpose(0, 1))
    for t in range(T - 2, -1, -1):
        g[t].addcmul_(a[:, t + 1], g[t + 1])
    dx = g.transpose(0, 1).contiguous()
    da = torch.empty((B, T, D), dtype=torch.float32, device=a.device)
    da[:, 0] = 0
    torch.mul(dx[:, 1:], h[:, :-1], out=da[:, 1:])
    return dx, da
