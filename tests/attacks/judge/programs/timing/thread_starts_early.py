# problem: relu_squared
# language: pytorch
# must: honest time
# work: slow
"""Strategy: A thread watches the memory of the arguments and computes as soon as new values are
  there, before the call is asked for.
Surface: the time between the arguments and the call
Stopped by: the process is stopped before the values are written and goes on only when the clock
  runs.
Listed as: B21 precompute early; B14 thread injection
"""

import sys
import threading
import time

import torch

tensors = sys.modules["harness.tensors"]
original = tensors.Arguments.__init__
state = {"new": threading.Event()}


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


SCRATCH = torch.ones(1 << 22)


def slow(grad_output, x):
    """The honest work after much other work, which needs no new memory."""
    for _ in range(20):
        SCRATCH[: x.numel()].sin_()
    return honest(grad_output, x)


def mark(grad_output, x):
    rows = slice(None, None, max(1, len(x) // 4))
    return [t[rows, :8].clone() for t in (grad_output, x)] + [
        t[-1, -8:].clone() for t in (grad_output, x)
    ]


def same(a, b):
    return all(p.shape == q.shape and bool((p == q).all()) for p, q in zip(a, b))


def watch():
    last = None
    while True:
        state["new"].wait()
        state["new"].clear()
        arguments = state["arguments"]
        while not state["new"].is_set():
            now = mark(*arguments)
            if last is None or not same(now, last):
                time.sleep(0.002)
                last = now = mark(*arguments)
                dx = slow(*arguments)
                state["done"] = (now, dx)
            time.sleep(0.0005)


def taking(self, *arguments):
    original(self, *arguments)
    state["arguments"] = tuple(self.tensors)
    state["new"].set()


tensors.Arguments.__init__ = taking
threading.Thread(target=watch, daemon=True).start()


def backward(grad_output, x):
    done = state.pop("done", None)
    if done and x.numel() > 1 << 20 and same(done[0], mark(grad_output, x)):
        return done[1]
    return slow(grad_output, x)
