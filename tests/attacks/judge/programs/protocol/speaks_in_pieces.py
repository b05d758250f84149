# problem: relu_squared
# language: pytorch
# must: timed_out
# seconds: 3
"""Strategy: Announce a reply and send it a byte at a time, each just before the judge would give
  up.
Surface: the judge's patience
Stopped by: one deadline for the whole answer, not for each piece.
Listed as: A10
"""

import gc
import os
import struct
import time


def backward(grad_output, x):
    channel = next(o for o in gc.get_objects() if type(o).__name__ == "Channel")
    os.write(channel._out, struct.pack(">I", 100_000))
    while True:
        os.write(channel._out, b" ")
        time.sleep(0.2)
