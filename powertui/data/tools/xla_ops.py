"""The ops of op_profile and hlo_stats: those of the devices; where there are none, XLA's ops on the
host.
"""

from __future__ import annotations

import numpy as np

from powertui.data import hlo
from powertui.data.asked import Compat
from powertui.data.model import Int64s, Process, ProcessKind, Trace, Track
from powertui.data.opened import Profile
from powertui.data.run import stat_carriers
from powertui.data.tools import device_ops, op_costs, op_names, op_stack, op_sums
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.tools.device_ops import DeviceOp, DeviceOps
from powertui.data.window import touches
from powertui.value_types import dataclass

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
    """The ops of a window. TensorBoard lists those of devices alone."""
    ops: DeviceOps = device_ops.device_ops(profile, lo, hi, compat)
    if ops.devices or compat != "corrected":
        return XlaOps(ops.ops, ops.idle, False)
    return _on_host(profile, lo, hi)


def _on_host(profile: Profile, lo: int, hi: int) -> XlaOps:
    """Every event of a host that names its HLO op, its self time within its thread."""
    trace = profile.trace
    programs = hlo.modules(profile)
    ops: dict[tuple[str, str], DeviceOp] = {}
    idle = 0
    numbers = trace.track_numbers()
    for process, track, rows in _lines(trace, lo, hi):
        positions = track.events.positions(rows)
        columns = process.source.columns(positions, _STATS)
        start, end = op_sums.inside(track.events[rows], lo, hi)
        length = end - start
        times = op_stack.self_times(start, length, like_tensorflow=False)
        self_time = times.self_time
        line_ps = int(end.max() - start.min())
        busy_ps = int(self_time.sum())
        # Threads work side by side: the idle time of each is counted by itself.
        idle += max(0, line_ps - busy_ps)
        number = numbers[id(track)]
        for place, row in enumerate(rows.tolist()):
            stats = {}
            for stat in _STATS:
                stats[stat] = columns[stat].text(place) or ""
            name = stats["hlo_op"].rpartition("::")[2]
            program = stats["program_id"] or stats["hlo_module"]
            key = (program, name)
            if key not in ops:
                module = hlo.find(programs, stats["program_id"], stats["hlo_module"])
                ops[key] = _new(name, stats, module)
            _add(
                ops[key],
                int(length[place]),
                int(self_time[place]),
                (number, row),
            )
    for op in ops.values():
        op.runs = op.occurrences
    op_costs.fill_costs(profile, ops.values(), "corrected")
    return XlaOps(tuple(ops.values()), idle, True)


def _add(op: DeviceOp, length: int, self_time: int, event: tuple[int, int]) -> None:
    op.occurrences += 1
    op.total += length
    op.self_time += self_time
    if not op.events or length > op.events[1][0]:
        op.events = [event, (length, length)]


def covered(trace: Trace, lo: int, hi: int) -> int:
    """How long at least one of XLA's ops ran on the host in a window, ps."""
    ran: list[CoveredTime] = []
    for _, track, rows in _lines(trace, lo, hi):
        events = track.events[rows]
        start, end = op_sums.inside(events, lo, hi)
        ran.append(CoveredTime(start, end))
    return joined(ran).length


def _lines(trace: Trace, lo: int, hi: int) -> list[tuple[Process, Track, Int64s]]:
    """The lines of hosts that ran HLO ops in a window, with the rows of those, by start."""
    lines = []
    for process in trace.processes:
        tracks = process.recorded_tracks
        if process.kind is not ProcessKind.HOST or not tracks:
            continue
        carried = stat_carriers.carried(trace, process, tracks, ("hlo_op",))
        may_have_op = carried["hlo_op"]
        for track in tracks:
            events = track.events
            rows = np.flatnonzero(may_have_op[events.name])
            start = events.start[rows]
            end = start + events.duration[rows]
            rows = rows[touches(start, end, lo, hi)]
            if not len(rows):
                continue
            # Events of one name may carry an op or none.
            column = stat_carriers.stat_column(process, track, rows, "hlo_op")
            rows = rows[column.present]
            if not len(rows):
                continue
            start = events.start[rows]
            by_start = np.lexsort((-events.duration[rows], start))
            lines.append((process, track, rows[by_start]))
    return lines


def _new(name: str, stats: dict[str, str], module: hlo.Module | None) -> DeviceOp:
    """An op without occurrences yet, with what its program's text says of it."""
    label = f"{stats['hlo_module']}({stats['program_id']})"
    instruction = None
    if module is not None:
        label = module.label
        instruction = module.instructions.get(name)
    framework = None
    category = op_names.hlo(name).type
    source = ""
    if instruction is not None:
        category = instruction.category
        source = instruction.source
        if instruction.provenance:
            framework = op_names.of_hlo(instruction.provenance)
    return DeviceOp(
        name=name,
        framework=framework,
        category=category,
        program=label,
        program_id=stats["program_id"],
        hlo_op=name,
        source=source,
        instruction=instruction,
    )
