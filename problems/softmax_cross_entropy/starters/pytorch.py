"""Softmax cross-entropy, backward. Two TODOs stand between this file and a correct gradient."""

import torch


def backward(grad_output, logits, target, lse):
    """The gradient of the mean of lse[i] - logits[i, target[i]] over rows with target[i] != -100.

    grad_output  ()     float32, the gradient with respect to that mean
    logits       (M, V) bfloat16, any strides
    target       (M,)   int64, a class from 0 to V - 1, or -100
    lse          (M,)   float32, the log-sum-exp of each row, saved by forward

    Returns dlogits (M, V) bfloat16.
    """
    # bfloat16 is for memory; compute in float32.
    dlogits = torch.exp(logits.float() - lse[:, None])

    # TODO 1: the target's own logit has a second term.
    # TODO 2: the mean is over the rows whose target is not -100, not over all rows.
    scale = torch.where(target == -100, 0.0, grad_output / len(target))
    dlogits *= scale[:, None]
    return dlogits.to(logits.dtype).contiguous()
