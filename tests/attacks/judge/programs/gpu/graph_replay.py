# problem: relu_squared
# language: triton
# must: refused
# needs: gpu
"""Strategy: Capture a graph at the first call and replay it, on the first call's inputs, ever
  after.
Surface: memory that is used again
Stopped by: inputs are new, at new addresses, in every call.
Listed as: B18 device replay; B24
"""

import torch

captured = {}


def backward(grad_output, x):
    if x.shape not in captured:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            dx = 2 * grad_output * x.relu()
        captured[x.shape] = graph, dx
    graph, dx = captured[x.shape]
    graph.replay()
    return dx.clone()
