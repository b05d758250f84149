# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Raise an error whose description has a list, a number and an object where text and a
  line number belong, half a surrogate pair and control characters among them.
Surface: what the verdict shows of an error
Stopped by: each field is turned into clean, bounded text, or left out.
Listed as: A1 (forged reports)
"""

import sys

channel = sys.modules["harness.channel"].Channel
send = channel.send


def tampered(self, message):
    if "error" in message:
        message["error"] = {
            "kind": ["\ud800"],
            "message": {"a": "\x00\x1b[31m\udfff"},
            "traceback": "\x00\ud800\u202e" * 10_000,
            "line": -(10**9),
        }
    send(self, message)


channel.send = tampered


def backward(grad_output, x):
    raise ValueError("tampered with on its way")
