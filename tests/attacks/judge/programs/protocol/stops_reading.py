# problem: relu_squared
# language: pytorch
# must: refused
# seconds: 3
"""Strategy: Fill no reply and read no command any more: stop the whole process by a signal.
Surface: the judge's patience
Stopped by: every write and read has a deadline.
Listed as: A10
"""

import os
import signal


def backward(grad_output, x):
    os.kill(os.getpid(), signal.SIGSTOP)
    return x + grad_output
