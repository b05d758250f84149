"""Softmax cross-entropy, backward. Two TODOs stand between this file and a correct gradient."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_backward(
    dloss_ptr,
    logits_ptr,
    target_ptr,
    lse_ptr,
    dlogits_ptr,
    M,
    V,
    logits_row,
    logits_col,
    BLOCK_V: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(target_ptr + row)
    lse = tl.load(lse_ptr + row)
    dloss = tl.load(dloss_ptr)

    # TODO 2: the mean is over the rows whose target is not -100, not over all M.
    scale = tl.where(target == -100, 0.0, dloss / M)

    for start in range(0, V, BLOCK_V):
        cols = start + tl.arange(0, BLOCK_V)
        inside = cols < V
        # bfloat16 is for memory; compute in float32.
        z = tl.load(
            logits_ptr + row * logits_row + cols * logits_col, mask=inside, other=-float("inf")
        ).to(tl.float32)

        # TODO 1: the target's own logit has a second term.
        dz = tl.exp(z - lse) * scale
        tl.store(dlogits_ptr + row * V + cols, dz.to(dlogits_ptr.dtype.element_ty), mask=inside)


def backward(grad_output, logits, target, lse):
    """The gradient of the mean of lse[i] - logits[i, target[i]] over rows with target[i] != -100.

    grad_output  ()     float32, the gradient with respect to that mean
    logits       (M, V) bfloat16, any strides
    target       (M,)   int64, a class from 0 to V - 1, or -100
    lse          (M,)   float32, the log-sum-exp of each row, saved by forward

    Returns dlogits (M, V) bfloat16.
    """
    M, V = logits.shape
    dlogits = torch.empty((M, V), dtype=logits.dtype, device=logits.device)
    cross_entropy_backward[(M,)](
        grad_output,
        logits,
        target,
        lse,
        dlogits,
        M,
        V,
        *logits.stride(),
        BLOCK_V=min(triton.next_power_of_2(V), 4096),
    )
    return dlogits
