"""The SwiGLU MLP, forward and backward: what is saved is chosen."""
