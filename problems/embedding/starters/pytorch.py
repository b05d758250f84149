"""Embedding, backward. Two TODOs stand between this file and a correct gradient."""

import torch


def backward(grad_output, ids, weight):
    """The gradient of y = weight[ids] with respect to weight; row 0 is padding and stays zero.

    grad_output  (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    ids          (M,)   int64, for each token a row of weight
    weight       (V, N) bfloat16; only its shape is of use here

    Returns dweight (V, N) float32.
    """
    dweight = torch.zeros(weight.shape, dtype=torch.float32, device=ids.device)
    for token in range(len(ids)):
        # bfloat16 is for memory; add in float32.
        # TODO 1: ids repeat. This keeps the last token of each id; the gradient is the sum of all.
        # TODO 2: id 0 is padding, and its row is not trained.
        dweight[ids[token]] = grad_output[token].float()
    # Once it is right: index_add_ does it without a loop.
    return dweight
