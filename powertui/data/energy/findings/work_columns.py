"""What ran, kind by kind, as far as it may draw power: the columns that a reading is a sum of.

`predict` says which kind of work filled every moment. Told apart here in addition: host work, or an
idle device, for longer than a step, and work that most steps do not hold. That is of another kind
than the same within a step: the host may wait or work, a checkpoint may compute or write, and only
the readings can tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.energy import expected_work, settings
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
_MIN_STEPS = settings.MIN_REPEATS
# A kind that filled less of the profile joins the next weaker one. Half and twice: no change in
# docs/energy-evidence.md.
_MIN_KIND_SHARE = settings.NEGLIGIBLE_SHARE


@dataclass(frozen=True, eq=False)
class KindSeconds:
    """Seconds of each kind of work up to any moment.

    What is no kind of its own is the idle machine.
    """

    names: tuple[str, ...]
    span: tuple[float, float]  # of the profile, s
    # Of each device: moments (s), and [moments, kinds] seconds up to there.
    devices: tuple[tuple[Floats, Floats], ...]

    def shares(self, lo: Floats, hi: Floats) -> Floats:
        """[windows, kinds]: the share of each window that each kind filled."""
        filled = np.zeros((len(lo), len(self.names)))
        for moments, seconds in self.devices:
            until_hi = _running(moments, seconds, hi)
            until_lo = _running(moments, seconds, lo)
            filled += until_hi - until_lo
        lengths = np.maximum(hi - lo, 1e-12)
        device_s = len(self.devices) * lengths
        return np.asarray(filled / device_s[:, None])


def _running(moments: Floats, seconds: Floats, when: Floats) -> Floats:
    """[moments, kinds]: seconds of each kind up to these moments."""
    when = np.clip(when, moments[0], moments[-1])
    row = np.searchsorted(moments, when, side="right") - 1
    row = np.clip(row, 0, len(moments) - 2)
    start = moments[row]
    step = np.maximum(moments[row + 1] - start, 1e-12)
    part = (when - start) / step
    before = seconds.take(row, axis=0)
    after = seconds.take(row + 1, axis=0)
    gained = part[:, None] * (after - before)
    return np.asarray(before + gained)


def kind_seconds(
    trace: Trace,
    steps: Steps,
    activities: Sequence[Activity],
) -> KindSeconds:
    """The work of one trace."""
    distance = steps.usual_distance(_MIN_STEPS)
    if distance is not None:
        long_ps = int(distance)
    else:
        long_ps = round(_LONG_GAP_S * PS_PER_S)
    rare = unusual.unusual_intervals(trace, steps)
    edges = unusual.untraced_edges(trace, steps)
    rare = expected_work.union(
        np.concatenate([rare.start, edges.start]),
        np.concatenate([rare.end, edges.end]),
    )
    has_device = any(process.kind is ProcessKind.DEVICE for process in trace.processes)
    pieces = [_separated(activity, long_ps, rare, has_device) for activity in activities]
    begin, end = trace.span
    filled = _filled_shares(pieces, max(end - begin, 1))
    joined = _joined_kinds(filled)
    kinds = [kind for kind in range(expected_work.HOST, len(_NAMES)) if filled[kind] > 0]
    devices = []
    for device_edges, kind in pieces:
        running = _running_seconds(device_edges, joined[kind], kinds)
        devices.append((device_edges / PS_PER_S, running))
    return KindSeconds(
        names=tuple(_NAMES[kind] for kind in kinds),
        span=(begin / PS_PER_S, end / PS_PER_S),
        devices=tuple(devices),
    )


def _filled_shares(pieces: Sequence[tuple[Int64s, Int64s]], length: int) -> Floats:
    """The share of the profile that each kind filled, over all devices."""
    filled = np.zeros(len(_NAMES))
    for edges, kind in pieces:
        kind_ps = np.bincount(kind, np.diff(edges), len(_NAMES))
        filled += kind_ps / (len(pieces) * length)
    return filled


def _joined_kinds(filled: Floats) -> Int64s:
    """For each kind the one that it counts as: one that hardly ran joins the next weaker one.

    `filled` is changed with it.
    """
    joined = np.arange(len(_NAMES))
    for kind in range(expected_work.COMPUTE, expected_work.WAIT, -1):
        if filled[kind] < _MIN_KIND_SHARE:
            joined[joined == kind] = kind - 1
            filled[kind - 1] += filled[kind]
            filled[kind] = 0.0
    return joined


def _running_seconds(
    edges: Int64s,
    kind: Int64s,
    kinds: Sequence[int],
) -> Floats:
    """[edges, kinds]: seconds of each kind up to each edge."""
    lengths = np.diff(edges)
    running = np.zeros((len(edges), len(kinds)))
    for column, number in enumerate(kinds):
        lengths_of_kind = np.where(kind == number, lengths, 0)
        running[1:, column] = np.cumsum(lengths_of_kind)
    return running / PS_PER_S


def _separated(
    activity: Activity,
    long_ps: int,
    rare: Intervals,
    has_device: bool,
) -> tuple[Int64s, Int64s]:
    """The activity, with what is not part of usual steps as a kind of its own."""
    waits = activity.kind == expected_work.HOST
    if has_device:
        waits |= activity.kind == expected_work.IDLE
    is_long = np.diff(activity.edges) > long_ps
    kind = np.where(waits & is_long, _BETWEEN, activity.kind)
    rare_edges = np.concatenate([rare.start, rare.end])
    rare_edges = np.clip(rare_edges, activity.edges[0], activity.edges[-1])
    edges = wire.distinct(np.concatenate([activity.edges, rare_edges]))
    starts = edges[:-1]
    row = np.searchsorted(activity.edges, starts, side="right") - 1
    kind = kind[row]
    # A device that works does what it does whatever else the host begins meanwhile.
    if has_device:
        may_differ = kind <= expected_work.HOST
    else:
        may_differ = kind != expected_work.COMPILE
    return edges, np.where(may_differ & rare.holds(starts), _BETWEEN, kind)
