# expect: wrong_gradient
"""Sums the upstream gradient in bfloat16 and casts the result."""


def backward(grad_output, x, weight):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)

    return dx, dy.T @ x.float(), grad_output.sum(dim=0).float()
