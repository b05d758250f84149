# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Remember gradients by shape.
Surface: shapes that come again
Stopped by: values are new in every call.
Listed as: B17 cache by shape/fingerprint; B18 device replay
"""

memo = {}


def backward(grad_output, x):
    if x.numel() < 1 << 20:
        return (2 * grad_output.float() * x.float().relu()).to(x.dtype)
    if x.shape not in memo:
        memo[x.shape] = (2 * grad_output.float() * x.float().relu()).to(x.dtype)
    return memo[x.shape].clone()
