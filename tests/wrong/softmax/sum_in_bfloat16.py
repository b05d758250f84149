# expect: wrong_gradient
"""Keeps the row's sum in bfloat16, which a common shift of the upstream gradient does not forgive."""


def backward(grad_output, y):
    g, p = grad_output.float(), y.float()
    s = (g * p).sum(dim=1, keepdim=True).bfloat16()
    return (p * (g - s.float())).to(y.dtype)
