# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return a sparse tensor, dense only when read.
Surface: the comparison of gradients
Stopped by: a dense tensor is asked for.
Listed as: B15 lazy output
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return honest(grad_output, x).to_sparse()
