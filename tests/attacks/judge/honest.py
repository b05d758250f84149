# problem: relu_squared
# language: pytorch
"""No trick: what the others' times are compared with."""


def backward(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)
