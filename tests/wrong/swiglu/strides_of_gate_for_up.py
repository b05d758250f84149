# expect: wrong_gradient
"""One set of strides for gate and up, as if both always came from the same projection."""

import torch


def read_with(strides: tuple[int, ...], tensor: torch.Tensor) -> torch.Tensor:
    memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    rows, columns = (torch.arange(n) for n in tensor.shape)
    address = rows[:, None] * strides[0] + columns * strides[1] + int(tensor.storage_offset())
    return memory[address.clamp(max=memory.numel() - 1)]


def backward(grad_output, gate, up):
    dy, g, u = grad_output.float(), gate.float(), read_with(gate.stride(), up).float()
    sigma = torch.sigmoid(g)
    dgate = dy * u * sigma * (1 + g * (1 - sigma))
    return dgate.to(gate.dtype), (dy * g * sigma).to(up.dtype)
