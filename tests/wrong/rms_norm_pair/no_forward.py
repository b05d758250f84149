# expect: compile_error
"""A backward alone, as in problems that hand over what forward saved."""


def backward(grad_output, saved, weight):
    raise AssertionError("never called")
