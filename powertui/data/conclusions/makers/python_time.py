"""Python's part of a step: which function takes the time in which nothing else runs."""

from __future__ import annotations

from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import percent
from powertui.data.tools import breakdown
from powertui.data.tools.python_frames import PythonFunction
from powertui.plain import plain

# A function with this share of the time in question is named for all of it. Chosen, not measured.
_MIN_NAMED_SHARE = 0.5


def working_function(inquiry: Inquiry, ps: float) -> PythonFunction | None:
    """The function that ran most of so much Python time of all steps; None where none did."""
    function = breakdown.python_function(inquiry.profile)
    if function is None or function.ps < _MIN_NAMED_SHARE * ps:
        return None
    return function


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
