# problem: relu_squared
# language: pytorch
# must: timed_out
# seconds: 3
"""Strategy: Take the call and never answer.
Surface: the judge's patience
Stopped by: every question has a deadline.
Listed as: A10
"""

import signal


def backward(grad_output, x):
    while True:
        signal.pause()
