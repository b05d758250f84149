# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Leave the last row out.
Surface: the comparison of gradients
Stopped by: errors are measured row by row.
Listed as: C32 ratio abuse
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    dx = honest(grad_output, x)
    dx[-1] = 0
    return dx
