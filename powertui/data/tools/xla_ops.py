"""The ops that op_profile and hlo_stats tell of: those of the devices; where there is none, XLA's
ops on the host.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from powertui.data import hlo
from powertui.data.asked import Compat
from powertui.data.model import Int64s, Process, ProcessKind, Trace, Track
from powertui.data.opened import Profile
from powertui.data.run import device_intervals, marks
from powertui.data.tools import device_ops, op_names, op_stack
from powertui.data.tools.device_ops import DeviceOp, DeviceOps
from powertui.data.window import touches

_STATS = ("hlo_op", "hlo_module", "program_id")


@dataclass(frozen=True, eq=False)
class XlaOps:
    """Ops, and on what they ran."""

    ops: tuple[DeviceOp, ...]
    idle: int
    on_host: bool

    @property
    def busy(self) -> int:
        """Self time of all ops."""
        return sum(op.self_time for op in self.ops)


def xla_ops(profile: Profile, lo: int, hi: int, compat: Compat) -> XlaOps:
    """The ops of a window. TensorBoard tells of devices alone."""
    found: DeviceOps = device_ops.device_ops(profile, lo, hi, compat)
    if found.devices or compat != "corrected":
        return XlaOps(found.ops, found.idle, False)
    return _on_host(profile, lo, hi)


def _on_host(profile: Profile, lo: int, hi: int) -> XlaOps:
    """Every event of a host that says which HLO op it is, its self time within its thread."""
    trace, programs = profile.trace, hlo.modules(profile)
    found: dict[tuple[str, str], DeviceOp] = {}
    idle = 0
    numbers = {id(track): number for number, (_, track) in enumerate(trace.tracks())}
    for process, track, rows in _lines(trace, lo, hi):
        columns = process.source.columns(track.events.positions(rows), _STATS)
        start = np.maximum(track.events.start[rows], lo)
        end = np.minimum(track.events.end[rows], hi)
        own = op_stack.self_times(start, end - start, like_tensorflow=False).self_time
        idle += max(0, int(end.max() - start.min()) - int(own.sum()))
        for i, row in enumerate(rows.tolist()):
            told = {stat: columns[stat].text(i) or "" for stat in _STATS}
            key = (told["program_id"] or told["hlo_module"], told["hlo_op"].rpartition("::")[2])
            op = found.get(key)
            if op is None:
                op = found[key] = _new(
                    key[1], told, hlo.find(programs, told["program_id"], told["hlo_module"])
                )
            length = int(end[i] - start[i])
            op.occurrences += 1
            op.total += length
            op.self_time += int(own[i])
            if not op.events or length > op.events[1][0]:
                op.events = [(numbers[id(track)], row), (length, length)]
    return XlaOps(tuple(found.values()), idle, True)


def covered(trace: Trace, lo: int, hi: int) -> int:
    """How long at least one of XLA's ops ran on the host in a window, ps."""
    parts = [
        (track.events.start[rows], track.events.end[rows])
        for _, track, rows in _lines(trace, lo, hi)
    ]
    if not parts:
        return 0
    start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(start, kind="stable")
    start, end = np.maximum(start[order], lo), np.minimum(end[order], hi)
    return max(0, int(device_intervals.covered(np.zeros(len(start), np.int64), start, end, 1)[0]))


def _lines(trace: Trace, lo: int, hi: int) -> list[tuple[Process, Track, Int64s]]:
    out = []
    for process in trace.processes:
        tracks = [track for track in process.tracks if not track.derived and len(track.events)]
        if process.kind is not ProcessKind.HOST or not tracks:
            continue
        carry = marks.carried(trace, process, tracks, ("hlo_op",))["hlo_op"]
        for track in tracks:
            events = track.events
            rows = np.flatnonzero(carry[events.name])
            rows = rows[
                touches(events.start[rows], events.start[rows] + events.duration[rows], lo, hi)
            ]
            if len(rows):
                there = process.source.columns(events.positions(rows), ("hlo_op",))[
                    "hlo_op"
                ].present
                rows = rows[there]
                rows = rows[np.lexsort((-events.duration[rows], events.start[rows]))]
            if len(rows):
                out.append((process, track, rows))
    return out


def _new(name: str, told: dict[str, str], module: hlo.Module | None) -> DeviceOp:
    known = module.instructions.get(name) if module is not None else None
    label = module.label if module is not None else f"{told['hlo_module']}({told['program_id']})"
    framework = (
        op_names.of_hlo(known.provenance) if known is not None and known.provenance else None
    )
    category = known.category if known is not None else op_names.hlo(name).type
    source = known.source if known is not None else ""
    return DeviceOp(
        name=name,
        framework=framework,
        category=category,
        program=label,
        program_id=told["program_id"],
        hlo_op=name,
        source=source,
        instruction=known,
    )
