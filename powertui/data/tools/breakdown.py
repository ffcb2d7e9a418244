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
from powertui.data.model import Bools, Int64s, Steps, Trace
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column
from powertui.data.run import dispatch, grouping
from powertui.data.run.grouping import Groups
from powertui.data.sorted_columns import among, last_begun
from powertui.data.tools import pieces, python_frames, typed_events, work_by_time
from powertui.data.tools.covered_time import union
from powertui.data.tools.event_types import EventType
from powertui.data.tools.group_steps import GroupedPieces, device_steps, longest_of_groups
from powertui.data.tools.pieces import LinePiece, Marked
from powertui.data.tools.python_frames import PythonFunction
from powertui.data.tools.typed_events import Typed
from powertui.value_types import dataclass

# Groups that reach less than this share of the work that ran during the median step say nothing of
# the steps. In 30 recordings they reach 75 to 105 % of it; on JAX's CPU client, which links hardly
# any thread to another, 1 to 5 %.
_MIN_GROUPED_SHARE = 0.5
# A step that compiles for this share of its time is not a usual one. Chosen, not measured.
_MIN_COMPILING_SHARE = 0.1
_MAX_WHOLE_STEPS = 5  # of more steps, today's converter (xprof) leaves out the first and the last
UNCUT = "uncut breakdown"  # under which the steps of `uncut_breakdown` are kept

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
        times = self.parts[:, list(kinds)]
        return np.asarray(times.sum(axis=1), np.int64)

    def category(self, id: str) -> Int64s:
        """The time of one category in each step."""
        types_by_category = {name: types for name, _, _, types in CATEGORIES}
        return self.time_by_type(types_by_category[id])

    def take(self, rows: Int64s | Bools) -> Breakdown:
        """Some of the steps."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return replace(
            self,
            names=[self.names[row] for row in index.tolist()],
            start=self.start[index],
            length=self.length[index],
            parts=self.parts[index],
        )

    def usual(self) -> Breakdown:
        """Without the steps that trace or compile, which say nothing of the others; all of them
        where most do, and where another profiler's figures are asked for.

        Comparisons have a rule of their own: `compare.part.comparable_steps` says why.
        """
        if self.compat != "corrected" or not len(self):
            return self
        compiling_share = self.category("compile") / np.maximum(1, self.length)
        tracing_lo, tracing_hi = self.tracing
        traces = (self.start >= tracing_lo) & (self.start < tracing_hi)
        is_unusual = (compiling_share >= _MIN_COMPILING_SHARE) | traces
        if 2 * int(is_unusual.sum()) >= len(self):
            return self
        return self.take(~is_unusual)


def step_breakdown(profile: Profile, compat: Compat) -> Breakdown:
    """The steps of one host, broken down. Made once."""
    return profile.cached(("breakdown", compat), lambda: _make_breakdown(profile, compat))


def uncut_breakdown(profile: Profile, compat: Compat) -> Breakdown:
    """The same with the first and the last step, which today's converter leaves out of all pages
    but that of hosts.
    """
    if compat != "xprof":
        return step_breakdown(profile, compat)
    return profile.cached(UNCUT, lambda: _make_uncut(profile, compat))


def _make_uncut(profile: Profile, compat: Compat) -> Breakdown:
    has_device = typed_events.has_device(profile.trace, compat)
    return _as_profilers_do(profile.trace, compat, has_device=has_device, is_cut=False)


def _make_breakdown(profile: Profile, compat: Compat) -> Breakdown:
    steps = _all_steps(profile, compat)
    if compat != "corrected":
        return steps
    if profile.epochs.tracing is None:
        return steps
    return replace(steps, tracing=profile.epochs.tracing)


def _all_steps(profile: Profile, compat: Compat) -> Breakdown:
    has_device = typed_events.has_device(profile.trace, compat)
    if compat != "corrected":
        return _as_profilers_do(profile.trace, compat, has_device=has_device)
    by_time = _by_time(profile, has_device=has_device)
    if not _may_be_grouped(profile):
        work_by_time.forget_lines(profile)
        return by_time
    groups = grouping.find_groups(profile.trace, lasting=True, by_number=True)
    flat = GroupedPieces(groups, *work_by_time.typed_lines(profile), only_devices=False)
    work_by_time.forget_lines(profile)
    by_group = _of_steps(profile, groups, flat, has_device=has_device)
    if by_group is not None and _reaches(by_group, by_time):
        return by_group
    return by_time


def _may_be_grouped(profile: Profile) -> bool:
    """Whether events may say which step they belong to.

    Not those of PyTorch; nor where steps were only inferred, or are dispatched asynchronously.
    """
    steps = profile.steps
    if not len(steps) or steps.asynchronous or steps.inferred:
        return False
    return profile.trace.format != "kineto"


def python_function(profile: Profile) -> PythonFunction | None:
    """The function of the program that took most of the steps' time in which nothing else ran."""
    return profile.cached("python function", lambda: _python_function(profile))


def _python_function(profile: Profile) -> PythonFunction | None:
    steps = profile.steps
    trace = profile.trace
    if not python_frames.has_frames(trace):
        return None
    lengths = np.maximum(steps.lengths(), 0)
    in_steps = union(steps.start, steps.start + lengths)
    at_work = work_by_time.at_work(work_by_time.work_by_time(profile))
    return python_frames.heaviest_function(trace, in_steps.without(at_work))


def _reaches(by_group: Breakdown, by_time: Breakdown) -> bool:
    """Whether the groups reach most of the work of the median step."""
    work_ps = _work(by_time)
    worked = work_ps > 0
    if not worked.any():
        return True
    share = _work(by_group)[worked] / work_ps[worked]
    return median_of_column(share) >= _MIN_GROUPED_SHARE


def _work(steps: Breakdown) -> Int64s:
    """How long events say what ran in each step: not Python, and not the unknown."""
    return steps.length - steps.time_by_type((EventType.UNKNOWN, EventType.PYTHON))


def _with_roots_as_marks(groups: Groups, hosts: list[Typed]) -> list[Typed]:
    """The same lines: the profilers take any event that starts a group for the mark of a step,
    unless the runtime itself made it one (`FunctionRun` …).
    """
    lines: list[Typed] = []
    for line in hosts:
        roots = groups.roots.get(line.number)
        lines.append(line if roots is None else line.with_marks(roots))
    return lines


# ── steps as the profilers take them ─────────────────────────────────────────────────────────────


def _as_profilers_do(
    trace: Trace,
    compat: Compat,
    *,
    has_device: bool,
    is_cut: bool = True,
) -> Breakdown:
    groups = grouping.find_groups(trace, lasting=False, by_number=trace.format != "xplane")
    device_lines, host_lines = typed_events.typed_events(trace, compat)
    # xprof takes no event of the host where there is a device.
    only_devices = compat == "xprof" and has_device
    host_lines = _with_roots_as_marks(groups, host_lines)
    flat = GroupedPieces(groups, device_lines, host_lines, only_devices=only_devices)
    lo, hi, counted = _profiler_steps(trace, groups, flat, has_device=has_device)
    parts, present = pieces.swept(counted, lo, hi)
    if has_device:
        computes_16 = present[:, EventType.COMPUTE_16]
        computes_32 = present[:, EventType.COMPUTE_32]
        computes = computes_16 | computes_32
    else:
        computes = present[:, EventType.HOST_COMPUTE]
    # A step without any computing is none to the profilers.
    rows = np.flatnonzero((hi > lo) & computes)
    notes: list[str] = []
    if is_cut and compat == "xprof" and len(rows) > _MAX_WHOLE_STEPS:
        rows = rows[1:-1]
        notes.append(
            "The first and the last step are left out, as of every profile with more than "
            f"{_MAX_WHOLE_STEPS}."
        )
    step_groups = [groups.groups[row] for row in rows.tolist()]
    if only_devices:  # then xprof has no mark either, whose name a step would bear
        names = [str(group.number) for group in step_groups]
    else:
        names = [group.name for group in step_groups]
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


def _profiler_steps(
    trace: Trace,
    groups: Groups,
    flat: GroupedPieces,
    *,
    has_device: bool,
) -> tuple[Int64s, Int64s, list[LinePiece]]:
    """(start and end of each group's step, the events that count for them).

    A step lasts as long as its mark on the host, where that holds its step on the devices, else as
    long as that.
    """
    device_lo, device_hi, drawn = device_steps(trace, groups, flat.devices)
    devices: list[LinePiece] = []
    for piece in flat.devices:
        devices += pieces.chosen([piece], drawn[piece.line.process.name])
    hosts = flat.hosts
    marks = flat.marks
    on_device = device_hi > device_lo
    if has_device:
        hosts = pieces.chosen(hosts, on_device)
        counts = on_device[marks.group]
        marks = Marked(
            group=marks.group[counts],
            start=marks.start[counts],
            end=marks.end[counts],
        )
    host_lo, host_hi = longest_of_groups(*marks, len(groups.groups))
    holds_device = (host_hi > host_lo) & (host_lo <= device_lo) & (host_hi >= device_hi)
    by_device = on_device & ~holds_device
    lo = np.where(by_device, device_lo, host_lo)
    hi = np.where(by_device, device_hi, host_hi)
    return lo, hi, [*devices, *hosts]


# ── steps as powertui finds them ─────────────────────────────────────────────────────────────────


def _of_steps(
    profile: Profile,
    groups: Groups,
    flat: GroupedPieces,
    *,
    has_device: bool,
) -> Breakdown | None:
    """None where the groups tell nothing of the steps, or of the devices' work: TPUs, and programs
    that mark no group.
    """
    steps = profile.steps
    step_of_group = _steps_of_groups(profile.trace, steps, groups, flat)
    if not (step_of_group >= 0).any():
        return None
    if has_device and not any((step_of_group[piece.group] >= 0).any() for piece in flat.devices):
        return None
    lo = steps.start
    hi = steps.start + np.maximum(steps.step, 0)
    by_step = pieces.renumbered([*flat.devices, *flat.hosts], step_of_group)
    python = python_frames.working_stretches(profile)
    parts, _ = pieces.swept(by_step, lo, hi, python)
    return Breakdown(
        names=[steps.names[row] for row in range(len(steps))],
        start=lo,
        length=hi - lo,
        parts=parts,
        compat="corrected",
        has_device=has_device,
        by="group",
    )


def _steps_of_groups(trace: Trace, steps: Steps, groups: Groups, flat: GroupedPieces) -> Int64s:
    """The step of each group: the one that begins as its mark or its step on a device does, else
    the one in which its root lies.
    """
    count = len(groups.groups)
    step_of_group = np.full(count, -1, np.int64)
    if not count or not len(steps):
        return step_of_group
    host_lo, host_hi = longest_of_groups(*flat.marks, count)
    device_lo, device_hi, _ = device_steps(trace, groups, flat.devices)
    order = np.argsort(steps.start, kind="stable")
    start = steps.start[order]
    end = steps.ends()[order]
    for lo, hi in ((device_lo, device_hi), (host_lo, host_hi)):
        has_no_step = (hi > lo) & (step_of_group < 0)
        begins_with_step = has_no_step & among(start, lo)
        step_of_group[begins_with_step] = order[start.searchsorted(lo[begins_with_step])]
    # Several marks of one step: its parts. Groups that nothing marks are work of other threads: it
    # hides nothing of a step.
    root = np.where(host_hi > host_lo, host_lo, groups.starts)
    any_begun, place = last_begun(start, root)
    in_step = any_begun & (root < end[place])
    inside = in_step & groups.marked & (step_of_group < 0)
    step_of_group[inside] = order[place[inside]]
    return step_of_group


def _by_time(profile: Profile, *, has_device: bool) -> Breakdown:
    """What ran while each step did, whoever asked for it, on any thread of the host."""
    steps = profile.steps
    rows = np.flatnonzero(steps.lengths() >= 0)
    lo = steps.start[rows]
    hi = lo + steps.lengths()[rows]
    # Without a device the host's own threads work for a step after it was dispatched.
    dispatched = None if has_device else dispatch.work_stretches(profile.trace, steps)
    if dispatched is not None:
        lo, hi = dispatched
    return Breakdown(
        names=[steps.names[row] for row in rows.tolist()],
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
