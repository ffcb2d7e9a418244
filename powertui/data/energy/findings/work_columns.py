"""What ran, kind by kind, as far as it may draw power: the columns that a reading is a sum of.

`predict` says which kind of work filled every moment. Told apart here in addition: host work, or an
idle device, for longer than a step, and work that most steps do not hold. That is of another kind
than the same within a step: the host may wait or work, a checkpoint may compute or write, and only
the readings can tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import expected_work
from powertui.data.energy.expected_work import Activity, Intervals
from powertui.data.energy.findings import unusual
from powertui.data.model import PS_PER_S, Floats, Int64s, ProcessKind, Steps, Trace
from powertui.value_types import dataclass

_BETWEEN = len(expected_work.NAMES)
_BETWEEN_NAME = "other work"
LOOSE_KINDS = (
    expected_work.NAMES[expected_work.COMPILE],
    _BETWEEN_NAME,
)  # what draws now this and now that
_NAMES = (*expected_work.NAMES, _BETWEEN_NAME)
_LONG_GAP_S = 0.2  # where no steps say how long one is
# Gaps between steps that show how long one is. Chosen, not measured.
_MIN_STEPS = 3
# A kind that filled less of the profile joins the next weaker one. Half and twice: no change in
# docs/energy-evidence.md.
_MIN_KIND_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class KindSeconds:
    """Seconds of each kind of work up to any moment.

    What is no kind of its own is the idle machine.
    """

    names: tuple[str, ...]
    span: tuple[float, float]  # of the profile, s
    devices: tuple[
        tuple[Floats, Floats], ...
    ]  # of each device: moments (s), and [moments, kinds] seconds up to there

    def shares(self, lo: Floats, hi: Floats) -> Floats:
        """[windows, kinds]: the share of each window that each kind filled."""
        out = np.zeros((len(lo), len(self.names)))
        for at, seconds in self.devices:
            out += _running(at, seconds, hi) - _running(at, seconds, lo)
        return np.asarray(out / (len(self.devices) * np.maximum(hi - lo, 1e-12))[:, None])


def _running(at: Floats, seconds: Floats, when: Floats) -> Floats:
    """[moments, kinds]: seconds of each kind up to these moments."""
    when = np.clip(when, at[0], at[-1])
    row = np.clip(np.searchsorted(at, when, side="right") - 1, 0, len(at) - 2)
    part = (when - at[row]) / np.maximum(at[row + 1] - at[row], 1e-12)
    low = seconds.take(row, axis=0)
    return np.asarray(low + part[:, None] * (seconds.take(row + 1, axis=0) - low))


def kind_seconds(trace: Trace, steps: Steps, activities: Sequence[Activity]) -> KindSeconds:
    """The work of one trace."""
    distance = steps.usual_distance(_MIN_STEPS)
    long_ps = int(distance) if distance is not None else round(_LONG_GAP_S * PS_PER_S)
    rare, around = unusual.unusual_intervals(trace, steps), unusual.untraced_edges(trace, steps)
    rare = expected_work.union(
        np.concatenate([rare.start, around.start]), np.concatenate([rare.end, around.end])
    )
    device = any(process.kind is ProcessKind.DEVICE for process in trace.processes)
    pieces = [_told_apart(kind_, long_ps, rare, device) for kind_ in activities]
    length = max(trace.span[1] - trace.span[0], 1)
    filled = np.zeros(len(_NAMES))
    for edges, kind in pieces:
        filled += np.bincount(kind, np.diff(edges), len(_NAMES)) / (len(pieces) * length)
    joins = np.arange(len(_NAMES))
    for kind_ in range(expected_work.COMPUTE, expected_work.WAIT, -1):
        if filled[kind_] < _MIN_KIND_SHARE:
            joins[joins == kind_] = kind_ - 1
            filled[kind_ - 1] += filled[kind_]
            filled[kind_] = 0.0
    kinds = [kind_ for kind_ in range(expected_work.HOST, len(_NAMES)) if filled[kind_] > 0]
    devices = []
    for edges, kind in pieces:
        joined = joins[kind]
        running = [
            np.concatenate([[0.0], np.cumsum(np.where(joined == kind_, np.diff(edges), 0))])
            / PS_PER_S
            for kind_ in kinds
        ]
        devices.append(
            (edges / PS_PER_S, np.stack(running, axis=1) if running else np.zeros((len(edges), 0)))
        )
    return KindSeconds(
        tuple(_NAMES[kind_] for kind_ in kinds),
        (trace.span[0] / PS_PER_S, trace.span[1] / PS_PER_S),
        tuple(devices),
    )


def _told_apart(
    activity: Activity, long_ps: int, rare: Intervals, device: bool
) -> tuple[Int64s, Int64s]:
    """The activity with what is not part of usual steps as a kind of its own."""
    waits = (activity.kind == expected_work.HOST) | ((activity.kind == expected_work.IDLE) & device)
    kind = np.where(waits & (np.diff(activity.edges) > long_ps), _BETWEEN, activity.kind)
    edges = np.unique(
        np.concatenate(
            [
                activity.edges,
                np.clip(
                    np.concatenate([rare.start, rare.end]), activity.edges[0], activity.edges[-1]
                ),
            ]
        )
    )
    kind = kind[np.searchsorted(activity.edges, edges[:-1], side="right") - 1]
    # A device that works does what it does whatever else the host begins meanwhile.
    open_ = (kind <= expected_work.HOST) if device else (kind != expected_work.COMPILE)
    return edges, np.where(open_ & rare.holds(edges[:-1]), _BETWEEN, kind)
