# expect: invalid_output
"""Equal upstream rows make equal rows of dx, so it returns one row, expanded."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    rows = dy[:1] if grad_output.stride(0) == 0 else dy
    dx = (rows @ weight.float()).to(x.dtype).expand(x.shape)
    dweight = dy.T @ x.float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx, dweight, dy.sum(dim=0)
