# expect: wrong_gradient
"""Makes the scan a cumulative sum by dividing by running products of decays, which underflow."""


def backward(grad_output, a, h):
    products = a.cumprod(1)
    g = (products * grad_output).flip(1).cumsum(1).flip(1) / products
    da = g.clone()
    da[:, 0] = 0
    da[:, 1:] *= h[:, :-1]
    return g.contiguous(), da.contiguous()
