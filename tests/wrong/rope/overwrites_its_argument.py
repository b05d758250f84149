# expect: invalid_output
"""Turns the upstream gradient in place and returns it."""


def backward(grad_output, cos, sin):
    P = cos.shape[1]
    first, second = grad_output[..., :P].float(), grad_output[..., P:].float()
    c, s = cos[:, None], sin[:, None]
    grad_output[..., :P] = first * c + second * s
    grad_output[..., P:] = second * c - first * s
    return grad_output
