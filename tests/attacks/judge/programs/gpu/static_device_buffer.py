# problem: relu_squared
# language: triton
# must: refused
# needs: gpu
"""Strategy: Keep the warm-up's gradients on the device and only copy them in timed calls.
Surface: memory that outlives a call
Stopped by: values are new in every call, and timed calls are checked.
Listed as: B18 device replay
"""

kept = {}


def backward(grad_output, x):
    if x.shape not in kept:
        kept[x.shape] = 2 * grad_output * x.relu()
    return kept[x.shape].clone()
