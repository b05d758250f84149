# problem: relu_squared
# language: pytorch
# must: refused
"""Strategy: Send every reply twice, so that the judge always reads the answer to the question
  before and its clock stops at once.
Surface: the order of questions and answers
Stopped by: an answer repeats the question's token, which cannot be known before it is asked.
Listed as: B13 (work outside of the timed span); A1
"""

import sys

channel = sys.modules["harness.channel"].Channel
send = channel.send


def twice(self, message):
    send(self, message)
    send(self, message)


channel.send = twice


def honest(grad_output, x):
    return (2 * grad_output.float() * x.float().relu()).to(x.dtype)


def backward(grad_output, x):
    return honest(grad_output, x)
