"""Linear cross-entropy, backward. Two TODOs stand between this file and correct gradients."""

import torch


def backward(grad_output, hidden, weight, target, lse):
    """Gradients of the mean of lse[i] - logits[i, target[i]], logits = hidden @ weight.T.

    grad_output  ()     float32, the gradient with respect to that mean
    hidden       (M, K) bfloat16, any strides
    weight       (V, K) bfloat16, any strides
    target       (M,)   int64, a class from 0 to V - 1, or -100: a row that does not count
    lse          (M,)   float32, the log-sum-exp of each row's logits, saved by forward

    Returns dhidden (M, K) bfloat16 and dweight (V, K) float32.
    """
    M, V = len(hidden), len(weight)
    kept = target != -100
    scale = torch.where(kept, grad_output / kept.sum().clamp(min=1), 0.0)[:, None]
    dhidden = torch.zeros(hidden.shape)
    dweight = torch.zeros(weight.shape)

    # A piece of the vocabulary at a time: with the saved lse, a logit needs nothing else of its row.
    for first in range(0, V, 4096):
        piece = weight[first : first + 4096].float()
        dlogits = torch.exp(hidden.float() @ piece.T - lse[:, None])
        # TODO 1: the target's own logit has a second term, if the target is in this piece.
        dlogits *= scale
        dhidden += dlogits @ piece
        # TODO 2: this is the first block of tokens. The weight was used by all M of them.
        rows = slice(0, min(M, 64))
        dweight[first : first + 4096] = dlogits[rows].T @ hidden[rows].float()
    return dhidden.to(hidden.dtype), dweight
