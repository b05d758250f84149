# problem: relu_squared
# language: pytorch
# must: timed_out
# seconds: 3
"""Strategy: Ignore every signal that can be ignored and loop.
Surface: how a job is ended
Stopped by: it is killed, which nobody can ignore.
Listed as: A10
"""

import signal

for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue


def backward(grad_output, x):
    while True:
        pass
