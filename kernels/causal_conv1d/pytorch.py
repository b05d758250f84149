"""Causal depthwise convolution with SiLU, backward, in plain PyTorch: taps as shifted slices.

See notes.md for what each line costs.
"""

import torch
import torch.nn.functional as F

BLOCK = 1 << 17  # elements of a block of steps: its float32 copies stay in a core's cache


def backward(grad_output, x, weight, bias):
    """dx (B, T, D) in x's dtype, dweight (D, W) and dbias (D,) in float32; any strides."""
    (B, T, D), W = x.shape, weight.shape[1]
    dx = torch.empty((B, T, D), dtype=x.dtype, device=x.device)
    dtaps = torch.zeros((W, D), dtype=torch.float32, device=x.device)
    dbias = torch.zeros((D,), dtype=torch.float32, device=x.device)
    taps = weight.t().float().contiguous()
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    steps = max(1, BLOCK // D) if x.device.type == "cpu" else T
    for b in range(B):
        for start in range(0, T, steps):
            own = min(steps, T - start)  # steps of this block; dx needs W - 1 more of the future
            seen = min(own + W - 1, T - start)
            past = min(start, W - 1)
            xs = F.pad(x[b, start - past : start + seen].float(), (0, 0, W - 1 - past, 0))
            u = bias.float().expand(seen, D).clone()
            for k in range(W):
                u.addcmul_(taps[k], xs[k : k + seen])
            s = torch.sigmoid(u)
            g = u.mul_(1 - s).add_(1).mul_(s).mul_(grad_output[b, start : start + seen])

            dbias += g[:own].sum(dim=0)
            for k in range(W):
                dtaps[k] += (g[:own] * xs[k : k + own]).sum(dim=0)
            ahead = F.pad(g, (0, 0, 0, own + W - 1 - seen))
            total = taps[W - 1] * ahead[:own]
            for k in range(W - 1):
                total.addcmul_(taps[k], ahead[W - 1 - k : W - 1 - k + own])
            dx[b, start : start + own] = total
    return dx, dtaps.t().contiguous(), dbias
