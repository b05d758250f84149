"""Layer norm, backward, in plain PyTorch: the derivation line by line, then as few passes as it allows.

See notes.md for what each line costs.
"""

import torch

BLOCK = 1 << 17  # elements of a block: each float32 temporary, 512 KB, stays in a core's cache


def backward(grad_output, x, weight, mean, rstd):
    """dx (M, N) in x's dtype, dweight and dbias (N,) in float32; any strides of grad_output and x."""
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    dweight = torch.zeros((N,), dtype=torch.float32, device=x.device)
    dbias = torch.zeros((N,), dtype=torch.float32, device=x.device)
    w = weight.float()
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    rows = max(1, BLOCK // N) if x.device.type == "cpu" else M
    for start in range(0, M, rows):
        block = slice(start, start + rows)
        dy = grad_output[block].float()
        r = rstd[block, None]
        x_hat = (x[block].float() - mean[block, None]).mul_(r)
        dbias += dy.sum(dim=0)
        g = dy * w
        c1 = g.mean(dim=1, keepdim=True)
        c2 = (g * x_hat).mean(dim=1, keepdim=True)
        dweight += dy.mul_(x_hat).sum(dim=0)  # dy is not needed any more
        dx[block] = g.sub_(c1).addcmul_(x_hat, c2, value=-1).mul_(r)
    return dx, dweight, dbias
