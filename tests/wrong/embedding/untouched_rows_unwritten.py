# expect: wrong_gradient
"""Writes the rows that occur and leaves all others as memory held them."""

import torch


def backward(grad_output, ids, weight):
    dweight = torch.full(weight.shape, float("nan"))  # as fresh memory may hold
    present = ids.unique()
    dweight[present] = 0
    dweight.index_add_(0, ids, grad_output.float())
    dweight[0] = 0
    return dweight
