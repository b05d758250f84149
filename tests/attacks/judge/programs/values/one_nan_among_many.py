# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Hide one NaN among right values, which an average that ignores NaN skips.
Surface: the comparison of gradients
Stopped by: what is not finite is wrong.
Listed as: C35 NaN compare
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    dx = honest(grad_output, x)
    dx[-1, -1] = float("nan")
    return dx
