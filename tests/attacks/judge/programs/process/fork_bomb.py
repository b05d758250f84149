# problem: relu_squared
# language: pytorch
# must: refused
# seconds: 5
"""Strategy: Fork without end inside a call.
Surface: processes of the machine
Stopped by: a limit on processes; the tree is killed as a whole.
Listed as: A10 daemon / atexit / late thread
"""

import os


def backward(grad_output, x):
    while True:
        os.fork()
