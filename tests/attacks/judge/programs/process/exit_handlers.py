# problem: relu_squared
# language: pytorch
# must: runtime_error
"""Strategy: Leave through exit handlers that write a good reply.
Surface: atexit
Stopped by: an ending is an ending: what was said before it is not an answer to a later
  question.
Listed as: A10 daemon / atexit / late thread
"""

import atexit
import gc
import os
import signal
import struct


def forge():
    channel = next(o for o in gc.get_objects() if type(o).__name__ == "Channel")
    body = b'{"seconds": 0.0001, "modified": [], "alive": true}'
    os.write(channel._out, (struct.pack(">I", len(body)) + body) * 3)


atexit.register(forge)
signal.signal(signal.SIGTERM, lambda *_: forge())


def backward(grad_output, x):
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()
