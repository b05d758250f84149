# expect: wrong_gradient
"""`dweight[ids] += dy` loads, adds and stores: of equal ids in a block one addition is kept."""

import torch


def backward(grad_output, ids, weight):
    dweight = torch.zeros(weight.shape)
    for start in range(0, len(ids), 64):
        dweight[ids[start : start + 64]] += grad_output[start : start + 64].float()
    dweight[0] = 0
    return dweight
