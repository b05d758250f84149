"""What GPUs can do: see `wire.gpus`."""

from wire.gpus import GPUS, KIB, Gpu

__all__ = ["GPUS", "KIB", "Gpu"]
