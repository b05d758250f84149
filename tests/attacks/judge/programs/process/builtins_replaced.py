# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Replace builtins by functions that lie about types and lengths, so that the harness
  takes a list for a gradient.
Surface: builtins shared with the harness
Stopped by: what comes back is bytes of a known size; the memory is poisoned and nothing was
  written to it.
Listed as: A8 Python monkeypatch
"""

import builtins

import torch

real = builtins.type
builtins.type = lambda *a: torch.Tensor if len(a) == 1 else real(*a)
builtins.list = lambda *a: [object()]


def backward(grad_output, x):
    return [x.tolist()]
