# expect: wrong_gradient
"""Adds each half of the batch to the buffer, then adds their sum once more."""


def backward(grad_output, x, weight, dweight_buffer):
    dy = grad_output.float()
    dx = (dy @ weight.float()).to(x.dtype)
    half = len(dy) // 2
    parts = [dy[:half].T @ x[:half].float(), dy[half:].T @ x[half:].float()]
    dweight = parts[0] + parts[1]
    if dweight_buffer is not None:
        for part in (*parts, dweight):
            dweight_buffer.add_(part)
        dweight = dweight_buffer
    return dx, dweight, dy.sum(dim=0)
