# problem: rms_norm_pair
# language: pytorch
# must: invalid_output
"""Strategy: Tell the judge of a saved tensor with sizes that are negative, no numbers or beyond memory.
Surface: the description of what is saved, which the process gives
Stopped by: every field is checked, and sizes are bounded before anything is made of them.
Listed as: state between forward and backward
"""

import itertools
import sys

import torch

EPS = 1e-6
NONSENSE = itertools.cycle(
    [
        [{"dtype": "bfloat16", "shape": [1 << 39, 1 << 39, 1 << 39]}],
        [{"dtype": "bfloat16", "shape": [-4, -4]}],
        [{"dtype": "object", "shape": [1]}],
        {"dtype": "bfloat16"},
    ]
)
sys.modules["harness.tensors"].store_saved = lambda *_: next(NONSENSE)


def forward(x, weight):
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    return (x.float() * rstd[:, None] * weight.float()).to(x.dtype), (x,)


def backward(grad_output, saved, weight):
    return torch.zeros(grad_output.shape, dtype=grad_output.dtype), torch.zeros(weight.shape)
