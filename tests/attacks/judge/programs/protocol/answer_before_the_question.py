# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: While taking the arguments, compute and store the gradients, and send the answer to a
  call that was not asked for yet: the judge finds it at once.
Surface: the order of questions and answers
Stopped by: an answer repeats the question's token, which cannot be known before it is asked.
Listed as: B21 precompute early; B13
"""

import gc
import sys

import torch

tensors = sys.modules["harness.tensors"]
harness = next(o for o in gc.get_objects() if type(o).__name__ == "Harness")
conversation = harness._conversation
send = conversation.send


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


SCRATCH = torch.ones(1 << 22)


def slow(grad_output, x):
    """The honest work after much other work, which needs no new memory."""
    for _ in range(20):
        SCRATCH[: x.numel()].sin_()
    return honest(grad_output, x)


def early(message):
    if "seconds" in message:
        return  # it was answered before it was asked
    send(message)
    if "prepared" in message:
        outputs = [slow(*harness._arguments.tensors)]
        tensors.store(outputs, harness._asked["outputs"], harness._outputs)
        send({**message, "seconds": 1e-3})


conversation.send = early


def backward(grad_output, x):
    return slow(grad_output, x)
