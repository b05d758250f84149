# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Fill every tensor of the process and the shared memories with NaN, hoping that the
  expected values are among them and that NaN compares as a wildcard.
Surface: a checker that treats NaN as equal
Stopped by: references are out of reach, and what is not finite is wrong.
Listed as: A6 poison expected with NaN; C35 NaN compare
"""

import gc

import torch


def backward(grad_output, x):
    for found in gc.get_objects():
        if type(found) is torch.Tensor and found.is_floating_point() and not found.requires_grad:
            found.fill_(float("nan"))
    return torch.full_like(x, float("nan"))
