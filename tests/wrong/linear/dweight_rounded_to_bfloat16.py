# expect: wrong_gradient
"""A bfloat16 product cast to float32: the bits are gone before the cast."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)
    dweight = (grad_output.T @ x).float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx, dweight, dy.sum(dim=0)
