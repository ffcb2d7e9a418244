"""Every step by categories of time, as TensorBoard's overview has it: what of it was compute,
input, launching, waiting.

An event counts for the step whose group it belongs to (`run.grouping`), whatever thread it ran on.
`tf2` and `xprof` take steps, and the events that count, as those profilers do. `corrected`, the
default, follows the first of them on the steps that powertui finds: also where those have none
(Keras 3, loops inside the graph), and from start to start where a step is dispatched
asynchronously. There, and where little or nothing says which step an event belongs to, it counts
for the time at which it ran.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.asked import Compat
from powertui.data.model import Bools, Int64s, ProcessKind, Steps, Trace, TrackKind
from powertui.data.opened import Profile
from powertui.data.run import dispatch, grouping
from powertui.data.run.grouping import Groups
from powertui.data.tools import event_types, pieces, python_frames, work_by_time
from powertui.data.tools.covered_time import union
from powertui.data.tools.event_types import EventType, Typed
from powertui.data.tools.pieces import LinePiece, Marked
from powertui.data.tools.python_frames import PythonFunction
from powertui.value_types import dataclass

# Groups that reach less than this share of the work that ran during the median step say nothing of
# the steps. In 30 recordings they reach 75 to 105 % of it; on JAX's CPU client, which links hardly
# any thread to another, 1 to 5 %.
_MIN_GROUPED_SHARE = 0.5
# A step that compiles for this share of its time is not a usual one. Chosen, not measured.
_MIN_COMPILING_SHARE = 0.1
_MAX_WHOLE_STEPS = 5  # of more steps, today's converter (xprof) leaves out the first and the last

# The categories of the page: (id, label, TensorBoard's id of the same, its types).
CATEGORIES: tuple[tuple[str, str, str, tuple[EventType, ...]], ...] = (
    (
        "device_compute",
        "Device compute",
        "deviceComputeTimeMs",
        (EventType.COMPUTE_16, EventType.COMPUTE_32),
    ),
    (
        "device_to_device",
        "Device to device",
        "deviceToDeviceTimeMs",
        (EventType.DEVICE_TO_DEVICE, EventType.WAIT_DEVICE),
    ),
    (
        "collectives",
        "Device collective communication",
        "deviceCollectivesTimeMs",
        (EventType.COLLECTIVES,),
    ),
    (
        "host_compute",
        "Host compute",
        "hostComputeTimeMs",
        (EventType.HOST_COMPUTE, EventType.RUNTIME, EventType.PYTHON),
    ),
    ("kernel_launch", "Kernel launch", "kernelLaunchTimeMs", (EventType.HOST_PREPARE,)),
    (
        "input",
        "Input",
        "infeedTimeMs",
        (EventType.WAIT_INPUT, EventType.HOST_TO_DEVICE, EventType.WAIT_HOST),
    ),
    ("output", "Output", "outfeedTimeMs", (EventType.DEVICE_TO_HOST,)),
    ("compile", "Compilation", "compileTimeMs", (EventType.HOST_COMPILE,)),
    ("other", "All others", "otherTimeMs", (EventType.UNKNOWN,)),
)


@dataclass(frozen=True, eq=False)
class Breakdown:
    """Steps by start, and how much time of each every type of event has."""

    names: list[str]
    start: Int64s
    length: Int64s  # what the parts add up to
    parts: Int64s  # [steps × types], ps
    compat: Compat
    has_device: bool
    by: str  # how events were given to steps: "group", "time"
    notes: tuple[str, ...] = ()
    tracing: tuple[int, int] = (0, 0)  # when the first step traced: from, to

    def __len__(self) -> int:
        return len(self.start)

    def time_by_type(self, kinds: tuple[EventType, ...]) -> Int64s:
        """The time of some types in each step."""
        return np.asarray(self.parts[:, list(kinds)].sum(axis=1), np.int64)

    def category(self, id: str) -> Int64s:
        """The time of one category in each step."""
        return self.time_by_type(next(kinds for name, _, _, kinds in CATEGORIES if name == id))

    def take(self, rows: Int64s | Bools) -> Breakdown:
        """Some of the steps."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return Breakdown(
            names=[self.names[i] for i in index.tolist()],
            start=self.start[index],
            length=self.length[index],
            parts=self.parts[index],
            compat=self.compat,
            has_device=self.has_device,
            by=self.by,
            notes=self.notes,
            tracing=self.tracing,
        )

    def usual(self) -> Breakdown:
        """Without the steps that trace or compile, which say nothing of the others; all of them
        where most do, and where another profiler's figures are asked for.
        """
        if self.compat != "corrected" or not len(self):
            return self
        share = self.category("compile") / np.maximum(1, self.length)
        lo, hi = self.tracing
        left_out = (share >= _MIN_COMPILING_SHARE) | ((self.start >= lo) & (self.start < hi))
        return self if 2 * int(left_out.sum()) >= len(self) else self.take(~left_out)


def step_breakdown(profile: Profile, compat: Compat) -> Breakdown:
    """The steps of one host, broken down. Made once."""
    return profile.cached(("breakdown", compat), lambda: _make_breakdown(profile, compat))


def _make_breakdown(profile: Profile, compat: Compat) -> Breakdown:
    made = _all_steps(profile, compat)
    if compat != "corrected":
        return made
    phases = (phase for phase in profile.epochs.phases if phase.name == "tracing")
    traced = next(((phase.start, phase.end) for phase in phases), (0, 0))
    return replace(made, tracing=traced)


def _all_steps(profile: Profile, compat: Compat) -> Breakdown:
    trace, steps = profile.trace, profile.steps
    has_device = event_types.has_device(trace, compat)
    if compat == "corrected" and (
        not len(steps) or steps.asynchronous or steps.inferred or trace.format == "kineto"
    ):
        return _by_time(profile, has_device=has_device)
    typed = event_types.typed_events(trace, compat)
    by_number = compat == "corrected" or trace.format != "xplane"
    groups = grouping.find_groups(trace, lasting=compat == "corrected", by_number=by_number)
    if compat != "corrected":
        devices, hosts = typed
        typed = devices, _with_roots_as_marks(groups, hosts)
    flat = _Flat(groups, *typed, only_devices=compat == "xprof" and has_device)
    if compat == "corrected":
        by_group = _of_steps(profile, groups, flat, has_device=has_device)
        by_time = _by_time(profile, has_device=has_device)
        return by_group if by_group is not None and _reaches(by_group, by_time) else by_time
    return _of_groups(trace, groups, flat, compat, has_device=has_device)


def python_function(profile: Profile) -> PythonFunction | None:
    """The function of the program that took most of the steps' time in which nothing else ran."""
    return profile.cached("python function", lambda: _python_function(profile))


def _python_function(profile: Profile) -> PythonFunction | None:
    steps, trace = profile.steps, profile.trace
    if not python_frames.has_frames(trace):
        return None
    within = union(steps.start, steps.start + np.maximum(steps.lengths(), 0))
    free = within.without(work_by_time.at_work(work_by_time.work_by_time(profile)))
    return python_frames.heaviest_function(trace, free)


def _reaches(by_group: Breakdown, by_time: Breakdown) -> bool:
    """Whether the groups reach most of the work of the median step."""
    ran = _work(by_time)
    share = _work(by_group)[ran > 0] / ran[ran > 0]
    return not len(share) or float(np.median(share)) >= _MIN_GROUPED_SHARE


def _work(steps: Breakdown) -> Int64s:
    """How long events say what ran in each step: not Python, and not the unknown."""
    return steps.length - steps.time_by_type((EventType.UNKNOWN, EventType.PYTHON))


def _with_roots_as_marks(groups: Groups, hosts: list[Typed]) -> list[Typed]:
    """The same lines: the profilers take any event that starts a group for the mark of a step,
    unless the runtime itself made it one (`FunctionRun` …).
    """
    return [
        line.with_marks(groups.roots[line.number]) if line.number in groups.roots else line
        for line in hosts
    ]


class _Flat:
    """Events that belong to a group, and the marks of the host among them."""

    def __init__(
        self, groups: Groups, devices: list[Typed], hosts: list[Typed], *, only_devices: bool
    ) -> None:
        self.devices, _ = pieces.line_pieces(groups, devices)
        self.hosts, self.marks = pieces.line_pieces(groups, [] if only_devices else hosts)


# ── steps as the profilers take them ─────────────────────────────────────────────────────────────


def _of_groups(
    trace: Trace, groups: Groups, flat: _Flat, compat: Compat, *, has_device: bool
) -> Breakdown:
    count = len(groups.groups)
    device_lo, device_hi, drawn = _device_steps(trace, groups, flat.devices)
    devices = [
        kept
        for piece in flat.devices
        for kept in pieces.chosen([piece], drawn[piece.line.process.name])
    ]
    hosts, marks = flat.hosts, flat.marks
    on_device = device_hi > device_lo
    if has_device:
        hosts = pieces.chosen(hosts, on_device)
        kept = on_device[marks.group]
        marks = Marked(marks.group[kept], marks.start[kept], marks.end[kept])
    host_lo, host_hi = _longest(*marks, count)
    holds = on_device & (host_hi > host_lo) & (host_lo <= device_lo) & (host_hi >= device_hi)
    takes = on_device & ~holds
    lo, hi = np.where(takes, device_lo, host_lo), np.where(takes, device_hi, host_hi)
    parts, present = pieces.swept([*devices, *hosts], lo, hi)
    formed = (
        (present[:, EventType.COMPUTE_16] | present[:, EventType.COMPUTE_32])
        if has_device
        else present[:, EventType.HOST_COMPUTE]
    )
    rows = np.flatnonzero((hi > lo) & formed)
    notes = []
    if compat == "xprof" and len(rows) > _MAX_WHOLE_STEPS:
        rows = rows[1:-1]
        notes.append(
            "The first and the last step are left out, as of every profile with more than "
            f"{_MAX_WHOLE_STEPS}."
        )
    if compat == "xprof" and has_device:  # which has no event of the host, nor the mark's name
        names = [str(groups.groups[i].number) for i in rows.tolist()]
    else:
        names = [groups.groups[i].name for i in rows.tolist()]
    return Breakdown(
        names=names,
        start=lo[rows],
        length=(hi - lo)[rows],
        parts=parts[rows],
        compat=compat,
        has_device=has_device,
        by="group",
        notes=tuple(notes),
    )


def _longest(group: Int64s, lo: Int64s, hi: Int64s, count: int) -> tuple[Int64s, Int64s]:
    """The longest of each group's stretches, the first of several; both ends 0 where there
    is none.
    """
    out_lo, out_hi = np.zeros(count, np.int64), np.zeros(count, np.int64)
    order = np.lexsort((lo, -(hi - lo), group))
    which, first = np.unique(group[order], return_index=True)
    out_lo[which], out_hi[which] = lo[order[first]], hi[order[first]]
    return out_lo, out_hi


def _device_steps(
    trace: Trace, groups: Groups, work: list[LinePiece]
) -> tuple[Int64s, Int64s, dict[str, Bools]]:
    """(start and end of each group's longest step on a device, which groups each device has a step
    of).

    What the device's line of steps says; where it has none, from the first to the last of the
    group's work there.
    """
    count = len(groups.groups)
    drawn: dict[str, Bools] = {}
    parts: list[tuple[Int64s, Int64s, Int64s]] = []
    for number, (process, track) in enumerate(trace.tracks()):
        if (
            process.kind is ProcessKind.DEVICE
            and track.kind is TrackKind.STEPS
            and len(track.events)
        ):
            group = groups.groups_on_line(number).astype(np.int64)
            has = group >= 0
            drawn.setdefault(process.name, np.zeros(count, np.bool_))[group[has]] = True
            parts.append((group[has], track.events.start[has], track.events.end[has]))
    for name in dict.fromkeys(piece.line.process.name for piece in work):
        if name not in drawn:
            lo, hi = pieces.bounds(
                [piece for piece in work if piece.line.process.name == name], count
            )
            has = hi > lo
            drawn[name] = has
            parts.append((np.flatnonzero(has), lo[has], hi[has]))
    if not parts:
        return np.zeros(count, np.int64), np.zeros(count, np.int64), drawn
    group, lo, hi = (np.concatenate(column) for column in zip(*parts, strict=True))
    return (*_longest(group, lo, hi, count), drawn)


# ── steps as powertui finds them ─────────────────────────────────────────────────────────────────


def _of_steps(
    profile: Profile, groups: Groups, flat: _Flat, *, has_device: bool
) -> Breakdown | None:
    """None where the groups tell nothing of the steps, or of the devices' work: TPUs, and programs
    that mark no group.
    """
    trace, steps = profile.trace, profile.steps
    row = _rows_of(trace, steps, groups, flat)
    if not (row >= 0).any() or (
        has_device and not any((row[piece.group] >= 0).any() for piece in flat.devices)
    ):
        return None
    lo, hi = steps.start, steps.start + np.maximum(steps.step, 0)
    of_rows = pieces.renumbered([*flat.devices, *flat.hosts], row)
    parts, _ = pieces.swept(of_rows, lo, hi, python_frames.working_stretches(profile))
    return Breakdown(
        names=[steps.names[i] for i in range(len(steps))],
        start=lo,
        length=hi - lo,
        parts=parts,
        compat="corrected",
        has_device=has_device,
        by="group",
    )


def _rows_of(trace: Trace, steps: Steps, groups: Groups, flat: _Flat) -> Int64s:
    """The step of each group: the one that begins as its mark or its step on a device does, else
    the one in which its root lies.
    """
    count = len(groups.groups)
    out = np.full(count, -1, np.int64)
    if not count or not len(steps):
        return out
    host_lo, host_hi = _longest(*flat.marks, count)
    device_lo, device_hi, _ = _device_steps(trace, groups, flat.devices)
    order = np.argsort(steps.start, kind="stable")
    start, end = steps.start[order], steps.ends()[order]
    for lo, has in ((device_lo, device_hi > device_lo), (host_lo, host_hi > host_lo)):
        at = np.minimum(start.searchsorted(lo), len(start) - 1)
        same = has & (start[at] == lo) & (out < 0)
        out[same] = order[at[same]]
    # Several marks of one step: its parts. Groups that nothing marks are work of other threads: it
    # hides nothing of a step.
    root = np.where(host_hi > host_lo, host_lo, groups.starts)
    at = start.searchsorted(root, side="right") - 1
    inside = (out < 0) & groups.marked & (at >= 0) & (root < end[np.maximum(at, 0)])
    out[inside] = order[at[inside]]
    return out


def _by_time(profile: Profile, *, has_device: bool) -> Breakdown:
    """What ran while each step did, whoever asked for it, on any thread of the host."""
    steps = profile.steps
    rows = np.flatnonzero(steps.lengths() >= 0)
    lo = steps.start[rows]
    hi = lo + steps.lengths()[rows]
    dispatched = None if has_device else dispatch.work_stretches(profile.trace, steps)
    if dispatched is not None:
        lo, hi = dispatched
    return Breakdown(
        names=[steps.names[i] for i in rows.tolist()],
        start=lo,
        length=hi - lo,
        parts=work_by_time.parts_of(work_by_time.work_by_time(profile), lo, hi),
        compat="corrected",
        has_device=has_device,
        by="time",
        notes=_lost_steps(len(steps) - len(rows)),
    )


def _lost_steps(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    which = "1 step is" if count == 1 else f"{count:,} steps are"
    return (f"{which} left out: the work of the devices for them is not in the profile.",)
