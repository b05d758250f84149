# problem: relu_squared
# language: pytorch
# must: timed_out
# seconds: 4
"""Strategy: Print without end, so that the judge's memory or disk is filled.
Surface: the judge's memory of what was printed
Stopped by: what is kept is cut; the rest is read and thrown away.
Listed as: A2
"""


def backward(grad_output, x):
    while True:
        print("x" * 1_000_000)
