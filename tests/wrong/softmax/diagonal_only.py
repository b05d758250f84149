# expect: wrong_gradient
"""Takes softmax for a sigmoid: y (1 − y) is the diagonal of the Jacobian."""


def backward(grad_output, y):
    p = y.float()
    return (grad_output.float() * p * (1 - p)).to(y.dtype)
