# expect: wrong_gradient
"""Takes the first row of the upstream gradient for its sum."""


def backward(grad_output, x, weight):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)

    return dx, dy.T @ x.float(), dy[0].clone()
