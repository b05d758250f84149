# problem: relu_squared
# language: pytorch
# must: out_of_memory
"""Strategy: Take memory without end inside a call.
Surface: the machine's memory
Stopped by: a limit on the whole job's memory.
Listed as: A10
"""

import torch


def backward(grad_output, x):
    hoard = []
    while True:
        hoard.append(torch.ones(1 << 27))
