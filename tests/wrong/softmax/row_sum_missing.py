# expect: wrong_gradient
"""Multiplies by y alone, as if the outputs of a row did not depend on each other."""


def backward(grad_output, y):
    return (grad_output.float() * y.float()).to(y.dtype)
