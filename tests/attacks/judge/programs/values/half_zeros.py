# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Compute every second row only.
Surface: the comparison of gradients
Stopped by: errors are measured row by row and element by element.
Listed as: C32 ratio abuse
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    dx = honest(grad_output, x)
    dx[1::2] = 0
    return dx
