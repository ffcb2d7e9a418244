"""Which framework a program is written with, by what its profile contains."""

from __future__ import annotations

from enum import Enum

from powertui.data import name_shapes
from powertui.data.model import Trace

# Beginnings of names that only one framework writes.
_TENSORFLOW_NAMES = ("Iterator::", "EagerExecute", "EagerKernelExecute", "FunctionRun", "tf.data")
_JAX_NAMES = ("PjitFunction(", "TfrtCpuExecutable", "ThunkExecutor", "PjRt", "jit_")
_PYTORCH_NAMES = ("aten::", "torch::", "ProfilerStep#")


class Framework(Enum):
    """What a program is written with."""

    TENSORFLOW = "TensorFlow"
    JAX = "JAX"
    PYTORCH = "PyTorch"
    UNKNOWN = ""


def framework_of(trace: Trace) -> Framework:
    """The framework of the program that a profile shows."""
    if trace.format == "kineto":
        return Framework.PYTORCH
    for framework, beginnings in (
        (Framework.PYTORCH, _PYTORCH_NAMES),
        (Framework.TENSORFLOW, _TENSORFLOW_NAMES),
        (Framework.JAX, _JAX_NAMES),
    ):
        if any(name_shapes.beginning(trace.names, beginning).any() for beginning in beginnings):
            return framework
    return Framework.UNKNOWN
