# expect: wrong_gradient
"""Assigns by index: of all tokens with one id a single one is kept."""

import torch


def backward(grad_output, ids, weight):
    dweight = torch.zeros(weight.shape)
    dweight[ids] = grad_output.float()
    dweight[0] = 0
    return dweight
