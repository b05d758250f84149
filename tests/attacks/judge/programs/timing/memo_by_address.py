# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Remember gradients by the addresses of the arguments.
Surface: memory that is used again
Stopped by: values are new in every call.
Listed as: B16 cache by id/data_ptr/_version
"""

memo = {}


def backward(grad_output, x):
    key = (grad_output.data_ptr(), x.data_ptr(), x.shape)
    if key not in memo:
        memo[key] = 2 * grad_output * x.relu()
    return memo[key].clone()
