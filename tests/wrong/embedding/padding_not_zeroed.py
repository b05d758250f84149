# expect: wrong_gradient
"""Adds up every token rightly and trains the padding row as well."""

import torch


def backward(grad_output, ids, weight):
    dweight = torch.zeros(weight.shape)
    return dweight.index_add_(0, ids, grad_output.float())
