# problem: relu_squared
# language: pytorch
# must: honest time
# work: honest
"""Strategy: Differentiate the forward with torch.autograd, and write no backward at all. On the
  PyTorch board that is allowed: it is a solution like any other, and its time is what it is.
Surface: what counts as a solution
Stopped by: nothing has to.
Listed as: C37 library instead of kernel
"""

import torch


def backward(grad_output, x):
    for _ in range(4):
        leaf = x.detach().float().requires_grad_()
        with torch.enable_grad():
            (dx,) = torch.autograd.grad(leaf.relu().square(), leaf, grad_output.float())
    return dx.to(x.dtype).contiguous()
