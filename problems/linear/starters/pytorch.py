"""Linear layer, backward. Two TODOs stand between this file and a correct gradient."""


def backward(grad_output, x, weight, dweight_buffer):
    """Gradients of y = x @ weight.T + bias.

    grad_output     (M, N) bfloat16, any strides: the gradient of the loss with respect to y
    x               (M, K) bfloat16, any strides
    weight          (N, K) bfloat16, any strides
    dweight_buffer  None, or (N, K) float32 with an earlier gradient: add dweight to it and return it

    Returns dx (M, K) bfloat16, dweight (N, K) float32 and dbias (N,) float32.
    """
    dx = grad_output @ weight

    # TODO 1: a product of bfloat16 matrices is rounded to bfloat16, and casting does not bring it back.
    dweight = (grad_output.T @ x).float()
    if dweight_buffer is not None:
        dweight = dweight_buffer.add_(dweight)

    # TODO 2: the bias was added to every row. So far this is the share of row 0 alone.
    dbias = grad_output[0].float()
    return dx, dweight, dbias
