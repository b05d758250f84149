# expect: invalid_output
"""Returns dweight in memory of its own, whether there is a buffer to add to or not."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)
    return dx, dy.T @ x.float(), dy.sum(dim=0)
