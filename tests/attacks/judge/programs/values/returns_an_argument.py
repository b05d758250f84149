# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return an argument itself.
Surface: the comparison of gradients
Stopped by: memory that belongs to the arguments is refused.
Listed as: C28; C29
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return grad_output
