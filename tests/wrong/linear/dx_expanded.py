# expect: invalid_output
"""Equal upstream rows make equal rows of dx, so it returns one row, expanded."""


def backward(grad_output, x, weight):
    dy = grad_output.float()
    rows = dy[:1] if grad_output.stride(0) == 0 else dy
    dx = (rows @ weight.float()).to(x.dtype).expand(x.shape)
    return dx, dy.T @ x.float(), dy.sum(dim=0)
