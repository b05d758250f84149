# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return the gradient flattened.
Surface: the comparison of gradients
Stopped by: the declared shape is asked for.
Listed as: C36
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return honest(grad_output, x).flatten()
