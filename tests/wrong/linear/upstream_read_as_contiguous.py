# expect: wrong_gradient
"""Reads the upstream gradient through its pointer and its shape, never through its strides."""

import torch


def as_a_pointer_reads_it(tensor: torch.Tensor) -> torch.Tensor:
    """What a kernel finds that takes row · columns + column for the address, whatever the strides."""
    memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    address = torch.arange(tensor.numel()) + int(tensor.storage_offset())
    return memory[address.clamp(max=memory.numel() - 1)].view(tensor.shape)


def backward(grad_output, x, weight, dweight_buffer):
    dy = as_a_pointer_reads_it(grad_output).float()
    dweight = dy.T @ x.float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return (dy @ weight.float()).to(x.dtype), dweight, dy.sum(dim=0)
