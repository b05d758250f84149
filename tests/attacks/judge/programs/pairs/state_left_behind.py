# problem: rms_norm_pair
# language: pytorch
# must: wrong_gradient
"""Strategy: Save nothing; leave x in a global, the environment, files and an attribute instead.
Surface: the bytes that are counted as saved
Stopped by: backward runs in another sandbox, which is given declared bytes and parameters alone.
Listed as: state between forward and backward
"""

import builtins
import os
import pathlib
import tempfile

import torch

EPS = 1e-6
LEFT = {}
NAME = "left_behind.pt"
FOLDERS = (tempfile.gettempdir(), "/dev/shm", "/tmp", "/var/tmp", ".")


def forward(x, weight):
    LEFT["x"] = builtins.left_behind = x.clone()
    os.environ["LEFT_BEHIND"] = x.reshape(-1).view(torch.uint8).numpy().tobytes().hex()[:60_000]
    for folder in FOLDERS:
        try:
            torch.save(x.clone(), pathlib.Path(folder, NAME))
        except (OSError, RuntimeError):
            continue
    mark = torch.zeros(1)
    mark.left_behind = x.clone()
    rstd = torch.rsqrt(x.float().square().mean(dim=1) + EPS)
    return (x.float() * rstd[:, None] * weight.float()).to(x.dtype), (mark,)


def found(saved, shape):
    for folder in FOLDERS:
        path = pathlib.Path(folder, NAME)
        if path.exists():
            yield torch.load(path)
    yield LEFT.get("x")
    yield getattr(builtins, "left_behind", None)
    yield getattr(saved[0], "left_behind", None)
    if text := os.environ.get("LEFT_BEHIND"):
        yield torch.frombuffer(bytearray.fromhex(text), dtype=torch.bfloat16)[: shape.numel()]
    yield torch.zeros(shape, dtype=torch.bfloat16)


def backward(grad_output, saved, weight):
    shape = grad_output.shape
    candidates = (x for x in found(saved, shape) if x is not None and x.numel() == shape.numel())
    x = next(candidates).reshape(shape)
    r = torch.rsqrt(x.float().square().mean(dim=1, keepdim=True) + EPS)
    x_hat, g = x.float() * r, grad_output.float() * weight.float()
    dx = r * (g - x_hat * (g * x_hat).mean(dim=1, keepdim=True))
    return dx.to(x.dtype), (grad_output.float() * x_hat).sum(dim=0)
