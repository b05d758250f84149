# problem: relu_squared
# language: pytorch
# must: runtime_error
"""Strategy: Crash the process by reading far outside of its memory.
Surface: the judge's trust in an orderly ending
Stopped by: the ending is seen from outside.
Listed as: C36 partial/failed launch
"""

import ctypes


def backward(grad_output, x):
    return ctypes.string_at(8)
