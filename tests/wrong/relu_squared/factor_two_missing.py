# expect: wrong_gradient
"""The derivative of a square without its factor 2."""

import torch


def backward(grad_output, x):
    return (grad_output.float() * torch.relu(x.float())).to(x.dtype)
