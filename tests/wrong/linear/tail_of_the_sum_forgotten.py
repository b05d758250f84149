# expect: wrong_gradient
"""dx adds up whole blocks of 32 output features and forgets those left over."""


def backward(grad_output, x, weight):
    dy = grad_output.float()
    whole = max(1, dy.shape[1] // 32 * 32)
    dx = dy[:, :whole] @ weight[:whole].float()
    return dx.to(x.dtype), dy.T @ x.float(), dy.sum(dim=0)
