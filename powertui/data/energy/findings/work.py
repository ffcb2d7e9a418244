"""What ran, kind by kind, as far as it may draw power: the columns that a reading is a sum of.

`predict` says which kind of work filled every moment. Two things are told apart here in addition. Host work that goes on
for longer than a step without any computing is of another kind than the host's part of a step: it may wait or work, and
only the readings can tell. And beside devices the host counts where they are idle: compiling draws power, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from powertui.data.energy import predict
from powertui.data.energy.predict import Activity
from powertui.data.model import PS_PER_S, Floats, Int64s, Trace

BETWEEN = len(predict.NAMES)  # host work, or nothing, for longer than a step
BETWEEN_NAME = "between steps"
_NAMES = (*predict.NAMES, BETWEEN_NAME)
_LONG_S = 0.2  # where no step says how long one is
_SHARE = 0.01  # of the profile: a kind that filled less joins the next weaker one


@dataclass(frozen=True, eq=False)
class Work:
    """Seconds of each kind of work up to any moment. What is no kind of its own is the idle machine."""

    names: tuple[str, ...]
    span: tuple[float, float]  # of the profile, s
    devices: tuple[tuple[Floats, Floats], ...]  # of each device: moments (s), and [moments, kinds] seconds up to there

    def shares(self, lo: Floats, hi: Floats) -> Floats:
        """[windows, kinds]: the share of each window that each kind filled."""
        out = np.zeros((len(lo), len(self.names)))
        for at, seconds in self.devices:
            for column in range(len(self.names)):
                out[:, column] += np.interp(hi, at, seconds[:, column]) - np.interp(lo, at, seconds[:, column])
        return np.asarray(out / (len(self.devices) * np.maximum(hi - lo, 1e-12))[:, None])


def of(trace: Trace, activities: Sequence[Activity], step_s: float | None) -> Work:
    """The work of one trace."""
    long_ps = round((step_s or _LONG_S) * PS_PER_S)
    pieces = [_told_apart(one, long_ps) for one in activities]
    length = max(trace.span[1] - trace.span[0], 1)
    filled = np.zeros(len(_NAMES))
    for edges, kind in pieces:
        filled += np.bincount(kind, np.diff(edges), len(_NAMES)) / (len(pieces) * length)
    joins = np.arange(len(_NAMES))
    for one in range(predict.COMPUTE, predict.WAIT, -1):
        if filled[one] < _SHARE:
            joins[joins == one] = one - 1
            filled[one - 1] += filled[one]
            filled[one] = 0.0
    kinds = [one for one in range(predict.HOST, len(_NAMES)) if filled[one] > 0]
    devices = []
    for edges, kind in pieces:
        joined = joins[kind]
        running = [np.concatenate([[0.0], np.cumsum(np.where(joined == one, np.diff(edges), 0))]) / PS_PER_S for one in kinds]
        devices.append((edges / PS_PER_S, np.stack(running, axis=1) if running else np.zeros((len(edges), 0))))
    return Work(tuple(_NAMES[one] for one in kinds), (trace.span[0] / PS_PER_S, trace.span[1] / PS_PER_S), tuple(devices))


def _told_apart(one: Activity, long_ps: int) -> tuple[Int64s, Int64s]:
    """The activity with long stretches of host work as a kind of their own."""
    length = np.diff(one.edges)
    long = (one.kind == predict.HOST) & (length > long_ps)
    return one.edges, np.where(long, BETWEEN, one.kind)
