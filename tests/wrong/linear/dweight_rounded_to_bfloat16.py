# expect: wrong_gradient
"""A bfloat16 product cast to float32: the bits are gone before the cast."""


def backward(grad_output, x, weight):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)

    return dx, (grad_output.T @ x).float(), dy.sum(dim=0)
