# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Take the upstream gradient's first element for all of it.
Surface: the comparison of gradients
Stopped by: upstream gradients are random.
Listed as: C40 grad_output assumed 1
"""


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return honest(grad_output.flatten()[0].expand_as(x), x)
