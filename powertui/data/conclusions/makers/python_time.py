"""Python's part of a step: which function takes the time in which nothing else runs."""

from __future__ import annotations

from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import percent
from powertui.data.tools import breakdown, framework_advice
from powertui.data.tools.framework import Framework
from powertui.data.tools.python_frames import PythonFunction
from powertui.plain import plain

# A function with this share of the time in question is named for all of it. Chosen, not measured.
_MIN_NAMED_SHARE = 0.5
# How PyTorch's profiler names the frames of a model's own modules.
_MODULE = "nn.Module: "
# Functions by which JAX and TensorFlow hand one operation after the other to the runtime.
_DISPATCHERS = frozenset(
    (
        "_pjit_call_impl",
        "_python_pjit_helper",
        "apply_primitive",
        "bind_with_trace",
        "cache_miss",
        "quick_execute",
    )
)


def working_function(inquiry: Inquiry, ps: float) -> PythonFunction | None:
    """The function that ran most of so much Python time of all steps; None where none did."""
    function = breakdown.python_function(inquiry.profile)
    if function is None or function.ps < _MIN_NAMED_SHARE * ps:
        return None
    return function


def calls_operators(label: str) -> bool:
    """Whether a function, or what it calls, hands operations to the framework one by one.

    Its Python is the price of launching them: it cannot be moved elsewhere.
    """
    return _MODULE in label or label.split(" in ", 1)[0] in _DISPATCHERS


def advice(label: str, framework: Framework) -> str:
    """What to do about a function that keeps the host busy."""
    if calls_operators(label):
        return framework_advice.LAUNCH_LESS[framework]
    return framework_advice.LESS_PYTHON[framework]


def subject(function: PythonFunction) -> str:
    """What takes the time: "resize in image_processing_video.py:214"."""
    label = plain(function.label, 120)
    if function.callee:
        return f"{plain(function.callee, 40)}, called by {label},"
    return label


def most_of_it(function: PythonFunction, ps: float) -> str:
    """Which function deeper down took most of so much time: ", 60 % of it in normalize in …"."""
    inner = function.inner
    if inner is None or ps <= 0:
        return ""
    return f", {percent(min(1.0, inner.ps / ps))} of it in {plain(inner.label, 120)}"
