# expect: wrong_gradient
"""The derivative alone, as if the upstream gradient were always one."""

import torch


def backward(grad_output, x):
    return (2 * torch.relu(x.float())).to(x.dtype)
