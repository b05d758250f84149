# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return an object that claims to be a torch.Tensor through __class__ and
  __instancecheck__.
Surface: isinstance
Stopped by: the exact type is asked for.
Listed as: B15 lazy output; A5 (__eq__ overloading)
"""

import torch


class Liar:
    @property
    def __class__(self):
        return torch.Tensor

    def __eq__(self, other):
        return True

    def __getattr__(self, name):
        return getattr(torch.zeros(1), name)


def backward(grad_output, x):
    return Liar()
