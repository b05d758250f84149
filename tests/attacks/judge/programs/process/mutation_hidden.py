# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Overwrite an argument with the gradient, which saves memory, and patch the harness's
  own check so that it sees nothing.
Surface: a check of the arguments inside the submission's process
Stopped by: the arguments lie in memory shared with the judge, who compares them with its own
  copy.
Listed as: C29 input mutation; A8
"""

import sys

sys.modules["harness.tensors"].Arguments.modified = lambda self: []


def backward(grad_output, x):
    dx = (2 * grad_output.float() * x.float().relu()).to(x.dtype)
    x.copy_(dx)
    return dx
