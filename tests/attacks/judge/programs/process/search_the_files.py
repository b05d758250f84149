# problem: relu_squared
# language: pytorch
# must: wrong_gradient
"""Strategy: Look for the problem's own code, and whatever else lies below /job, /proc and the
  libraries' folders, and call the reference found there.
Surface: files that the job can see
Stopped by: a job sees Python, its libraries and the harness; problems and references are not
  among them.
Listed as: A5; A11
"""

import importlib
import os
import sys

import torch


def reference():
    for folder in ("/job", "/", "/tmp", "/work", os.getcwd(), *sys.path):
        sys.path.insert(0, folder)
        for name in ("problems", "kernels", "runner.compare"):
            try:
                return importlib.import_module(name).get_problem("relu_squared").baseline
            except (ImportError, AttributeError):
                sys.modules.pop(name, None)
        sys.path.pop(0)
    for folder, _, files in os.walk("/job"):
        if "problem.py" in files or "answers" in files:
            raise RuntimeError(folder)
    return None


found = reference()


def backward(grad_output, x):
    return found(grad_output, x)[0] if found else torch.zeros_like(x)
