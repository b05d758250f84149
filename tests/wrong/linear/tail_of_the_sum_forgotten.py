# expect: wrong_gradient
"""dx adds up whole blocks of 32 output features and forgets those left over."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    whole = max(1, dy.shape[1] // 32 * 32)
    dx = dy[:, :whole] @ weight[:whole].float()
    dweight = dy.T @ x.float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)
    return dx.to(x.dtype), dweight, dy.sum(dim=0)
