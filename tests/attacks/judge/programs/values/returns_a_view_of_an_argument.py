# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Write the gradient into an argument's memory and return a view of it.
Surface: the comparison of gradients
Stopped by: memory that belongs to the arguments is refused.
Listed as: C29 input mutation
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    x.copy_(honest(grad_output, x))
    return x[:]
