"""Rotary embedding, backward, in plain PyTorch: blocks of tokens, each half written where it belongs.

See notes.md for what each line costs.
"""

import torch

BLOCK = 1 << 17  # elements of a block: its float32 temporaries, 256 KB each, stay in a core's cache


def backward(grad_output, cos, sin):
    """dx (M, H, 2P) in grad_output's dtype; any strides of all three."""
    M, H, width = grad_output.shape
    P = width // 2
    dx = torch.empty((M, H, width), dtype=grad_output.dtype, device=grad_output.device)
    # A GPU has no use for small blocks: each costs launches, and its memory is fast.
    tokens = max(1, BLOCK // (H * width)) if dx.device.type == "cpu" else M
    for start in range(0, M, tokens):
        block = slice(start, start + tokens)
        c, s = cos[block, None], sin[block, None]
        first, second = grad_output[block, :, :P], grad_output[block, :, P:]
        # bfloat16 times float32 is computed, and kept, in float32.
        dx[block, :, :P] = (first * c).addcmul_(second, s)
        dx[block, :, P:] = (second * c).addcmul_(first, s, value=-1)
    return dx
