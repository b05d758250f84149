# expect: wrong_gradient
"""Adds up in bfloat16 and casts at the end, when the bits are gone."""

import torch


def backward(grad_output, ids, weight):
    dweight = torch.zeros(weight.shape, dtype=torch.bfloat16)
    dweight.index_add_(0, ids, grad_output)
    dweight[0] = 0
    return dweight.float()
