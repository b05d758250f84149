# expect: wrong_gradient
"""Takes the strides of y for those of the upstream gradient."""

import torch


def backward(grad_output, y):
    storage = torch.empty(0, dtype=grad_output.dtype).set_(grad_output.untyped_storage())
    flat = storage[grad_output.storage_offset() :]
    g = torch.zeros(y.numel(), dtype=torch.float32)
    g[: min(len(flat), y.numel())] = flat[: y.numel()].float()
    g, p = g.reshape(y.shape), y.float()
    return (p * (g - (g * p).sum(dim=1, keepdim=True))).to(y.dtype)
