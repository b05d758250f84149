"""RMSNorm, backward, in plain PyTorch: the derivation line by line, then as few passes as it allows.

See notes.md for what each line costs.
"""

import torch

ROWS = 64  # rows of a block: with 4096 columns about 1 MB in float32, which stays in a core's cache


def backward(grad_output, x, weight, rstd):
    """dx (M, N) in x's dtype and dweight (N,) in float32; any strides of grad_output and x."""
    M, N = x.shape
    dx = torch.empty((M, N), dtype=x.dtype, device=x.device)
    dweight = torch.zeros((N,), dtype=torch.float32, device=x.device)
    w = weight.float()
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    rows = ROWS if x.device.type == "cpu" else M
    for start in range(0, M, rows):
        block = slice(start, start + rows)
        dy = grad_output[block].float()
        r = rstd[block, None]
        x_hat = x[block].float() * r
        g = dy * w
        c = (g * x_hat).mean(dim=1, keepdim=True)
        dweight += dy.mul_(x_hat).sum(dim=0)  # dy is not needed any more
        dx[block] = g.addcmul_(x_hat, c, value=-1).mul_(r)
    return dx, dweight
