# expect: invalid_output
"""Saves an intermediate result for each column and row in float64, and a little more."""

import torch


def forward(x, weight):
    wide = x.double()
    return x.clone(), (wide, wide, torch.zeros(1 << 17))


def backward(grad_output, saved, weight):
    return saved[0].to(grad_output.dtype), saved[0].float().sum(dim=0)
