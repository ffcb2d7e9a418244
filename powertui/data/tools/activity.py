"""What the profiled process does at each moment: one activity for each, the most telling one.

Every second of the profile has exactly one activity, so that times of activities add up. Of several
that go on at once the highest counts: an operation that runs on any thread hides what other threads
wait for, and a wait hides nothing. What the events say is told by their names alone.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.model import Bools, Events, Int64s, ProcessKind, Trace, Track, UInt8s
from powertui.data.opened import Profile
from powertui.data.run.repeated_annotations import holding_annotations
from powertui.data.tools import covered_time, name_classes, op_sums, work_by_time
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined, time_of
from powertui.data.tools.event_types import MARK, EventType
from powertui.data.tools.framework import Framework, framework_of
from powertui.data.tools.name_classes import NameClass, any_class, inheritance
from powertui.data.tools.replica_meetings import DEVICE_COMPUTING, DEVICE_MEETING, attendance
from powertui.data.tools.small_ops import (
    MAX_USUAL_PERIOD_PS,
    crowded_time,
    long_by_name,
    passed_down,
    small_calls,
)
from powertui.data.tools.typed_events import Typed
from powertui.data.wire.types import CODES
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

if TYPE_CHECKING or not wire.COMPILED:
    from powertui.data.wire.pure import codes as wire_codes
else:
    from powertui.data.wire import compiled_codes as wire_codes


class ActivityKind(enum.IntEnum):
    """What a moment is spent on, the least telling first."""

    NOTHING = 0  # no event at all
    WAITING = 1  # a named wait: sleeping, a lock, a result that is not there
    INPUT_AHEAD = 2  # threads of the input pipeline work, and nobody else does
    PYTHON = 3  # Python's frames alone
    RUNTIME = 4  # the framework's own calls, while no operation runs
    INPUT_PYTHON = 5  # Python of the input pipeline, which keeps other Python from running
    PROGRAM = 6  # a compiled program, of whose operations none is named
    SHORT_OPS = 7
    SMALL_OPS = 8  # operations so short that calling them takes the time
    CALLED_PYTHON = 9  # Python that an operation calls: the graph waits for it
    COMPILING = 10
    COLLECTIVE = 11
    COPYING = 12
    COMPUTING = 13
    INPUT = 14  # waiting for the next batch, whoever prepares it
    DEVICE_COPYING = 15
    DEVICE_COMPUTING = 16
    WAITING_FOR_REPLICA = 17  # some replicas have arrived at a collective, others have not


ACTIVITIES = len(ActivityKind)
# Operations that are what the program is for.
WORK = (
    ActivityKind.PROGRAM,
    ActivityKind.SHORT_OPS,
    ActivityKind.COMPUTING,
    ActivityKind.DEVICE_COMPUTING,
)


# Python of the input pipeline delays the program's own small operations, where it goes on for more
# than this share of their time: both need the interpreter. Chosen, not measured; it is 0.6 to 0.9
# where such Python is the cause (make causes: keras_numpy_map, keras_generator, tf_generator).
_MIN_DELAYED_SHARE = 0.5

# The profiler's own start and stop are within this part (1/100) of a profile's beginning and end.
# Chosen, not measured.
_PROFILER_BORDER_PARTS = 100

_INPUT_LINE = late_pattern(r"tf_data|iterator|pin_?memory", re.IGNORECASE)
_POOL_LINE = late_pattern(r"^tf_|eigen|pool", re.IGNORECASE)


def is_pool(line: str) -> bool:
    """Whether a thread belongs to a pool: what runs there, the program asked for elsewhere."""
    return _POOL_LINE.search(line) is not None


@dataclass(frozen=True, eq=False)
class ActivityTimeline:
    """For each activity the stretches in which it is what the process does; they lie apart."""

    span: tuple[int, int]  # without the profiler's own start and stop
    by_activity: tuple[CoveredTime, ...]
    small_ops: int  # how many operations the crowds of small ones hold, without what these call
    collectives: int  # how many replicas meet in collectives, at the most

    def __getitem__(self, activity: ActivityKind) -> CoveredTime:
        return self.by_activity[activity]

    def inside(self, windows: CoveredTime, activities: Iterable[ActivityKind]) -> CoveredTime:
        """Where some activities go on in these windows."""
        # Windows may be few: a million stretches are cut before they are joined.
        return joined([self[activity].common(windows) for activity in activities])

    def parts(self, lo: Int64s, hi: Int64s) -> Int64s:
        """[windows × activities]: how long each goes on in each [lo, hi)."""
        columns = [stretches.inside(lo, hi) for stretches in self.by_activity]
        return np.stack(columns, axis=1)


def activity_timeline(profile: Profile) -> ActivityTimeline:
    """What one host does at each moment. Made once."""
    return profile.cached("activity timeline", lambda: _timeline(profile))


class _Layers:
    """CoveredTime by activity, before the higher ones hide the lower ones."""

    def __init__(self) -> None:
        self._parts: list[list[CoveredTime]] = [[] for _ in ActivityKind]

    def add(self, activity: ActivityKind, start: Int64s, end: Int64s) -> None:
        """Some more of one activity."""
        self.add_time(activity, joined([CoveredTime(start, end)]))

    def add_events(self, activity: ActivityKind, events: Events, chosen: Bools) -> None:
        """The chosen events of a line are of one activity."""
        self.add_time(activity, time_of(events, chosen))

    def add_time(self, activity: ActivityKind, added: CoveredTime) -> None:
        """Some more time of one activity, united already."""
        if len(added.start):
            self._parts[activity].append(added)

    def give_what_is_delayed(self, delayed: ActivityKind, delaying: ActivityKind) -> None:
        """Where the one mostly goes on beside the other, their common time is the other's."""
        delayed_time = joined(self._parts[delayed])
        delaying_time = joined(self._parts[delaying])
        common = delayed_time.common(delaying_time)
        if common.length > _MIN_DELAYED_SHARE * delayed_time.length:
            self._parts[delayed] = [delayed_time.without(delaying_time)]

    def hidden(self, span: tuple[int, int]) -> tuple[CoveredTime, ...]:
        """Each without what a higher one covers, inside the span; nothing is what is left."""
        window = covered_time.window(*span)
        covered = NO_TIME
        by_activity: list[CoveredTime] = []
        for activity in sorted({*ActivityKind} - {ActivityKind.NOTHING}, reverse=True):
            parts = self._parts[activity]
            if not parts:  # what is covered may be a million stretches: not joined with nothing
                by_activity.append(NO_TIME)
                continue
            # Each part is united already.
            united = parts[0] if len(parts) == 1 else joined(parts)
            going_on = united.common(window)
            by_activity.append(going_on.without(covered))
            covered = joined([covered, going_on])
        by_activity.append(window.without(covered))
        return tuple(reversed(by_activity))


def _timeline(profile: Profile) -> ActivityTimeline:
    trace = profile.trace
    layers = _Layers()
    classes = name_classes.name_classes(profile).copy()
    # What the program puts around its own work is no call of the framework.
    is_runtime = classes == NameClass.RUNTIME
    classes[holding_annotations(trace) & is_runtime] = NameClass.SILENT
    devices, hosts = work_by_time.typed_lines(profile)
    small_ops = 0
    no_copies = name_classes.without_copies(profile)
    for line in hosts:
        small_ops += _add_host_line(profile, layers, line, classes, no_copies)
    frames, profiler = _frames(trace, classes)
    layers.add(ActivityKind.PYTHON, *frames)
    layers.give_what_is_delayed(ActivityKind.SMALL_OPS, ActivityKind.INPUT_PYTHON)
    for line in devices:
        _add_device_line(layers, line)
    is_torch = framework_of(trace) is Framework.PYTORCH
    replicas = attendance([*devices, *hosts], classes, one_a_process=is_torch)
    layers.add_time(ActivityKind.COLLECTIVE, replicas.all_present)
    layers.add_time(ActivityKind.WAITING_FOR_REPLICA, replicas.some_present)
    span = _without_profiler(trace.span, profiler)
    return ActivityTimeline(
        span=span,
        by_activity=layers.hidden(span),
        small_ops=small_ops,
        collectives=replicas.most,
    )


def _without_profiler(span: tuple[int, int], profiler: CoveredTime) -> tuple[int, int]:
    """The span without the profiler's own start at its beginning and stop at its end."""
    lo, hi = span
    if not len(profiler.start):
        return lo, hi
    # The profiler's frames in the middle of a profile are a session of the program's own.
    border_ps = (hi - lo) // _PROFILER_BORDER_PARTS
    start_begin = int(profiler.start[0])
    start_end = int(profiler.end[0])
    stop_begin = int(profiler.start[-1])
    stop_end = int(profiler.end[-1])
    stops_at_end = hi - stop_end <= border_ps
    if stops_at_end and stop_begin - lo > border_ps:
        hi = stop_begin
    starts_at_beginning = start_begin - lo <= border_ps
    if starts_at_beginning and start_end < hi:
        lo = start_end
    return lo, max(lo, hi)


def is_innermost(profile: Profile, track: Track) -> Bools:
    """Which events do more by themselves than in the events they hold. Found once.

    Of an operation these are the innermost ones: what it calls to look at its arguments takes
    little.
    """
    return profile.cached(("innermost events", track), lambda: _is_innermost(track))


def _is_innermost(track: Track) -> Bools:
    innermost = track.events.duration > 0
    for depth in range(track.lane_count - 1):
        lane = track.lane(depth)
        inner = track.lane(depth + 1)
        if wire.COMPILED:
            self_time = op_sums.self_times(lane, inner)
            innermost[track.rows_of_lane(depth)] = 2 * self_time > lane.duration
            continue
        # Most operations hold no other one: only those that may are asked what they hold.
        rows = _rows_with_others(lane, inner)
        if len(rows):
            start = lane.start[rows]
            lengths = lane.duration[rows]
            held_ps = op_sums.covered(inner, start, start + lengths)
            self_time = lengths - held_ps
            innermost[track.lanes[depth] + rows] = 2 * self_time > lengths
    return innermost


def _rows_with_others(lane: Events, inner: Events) -> Int64s:
    """The events of a lane that one of the lane below may touch, ascending."""
    if len(inner) >= len(lane):
        return np.arange(len(lane))
    first = wire.ranks(lane.end, inner.start, equal_too=True)
    after_last = wire.ranks(lane.start, inner.end)
    touches = after_last > first
    # How many of the events below touch each one: they begin there, and end after the last one.
    size = len(lane) + 1
    change = np.bincount(first[touches], minlength=size)
    change -= np.bincount(after_last[touches], minlength=size)
    touching_count = np.cumsum(change[:-1])
    return np.flatnonzero(touching_count)


_NOT_CALLING = (
    NameClass.WAIT,
    NameClass.SILENT,
    NameClass.COLLECTIVE,
    NameClass.INPUT_AHEAD,
    NameClass.CALLED_PYTHON,
)
_FRAMES = (NameClass.FRAME, NameClass.WAITING_FRAME, NameClass.PROFILER)


# What an event's code says beside its class, which takes the lower four bits.
_INNERMOST = 1 << 4
_LONG = 1 << 5
_WAITS_FOR_INPUT = 1 << 6
_IS_MARK = 1 << 7
# A copy that only describes the same memory anew: no name has this class.
_VIEW = CODES - 1


class _CodeMeanings(NamedTuple):
    """What each of 256 codes says of an event on a thread of the host."""

    activities: npt.NDArray[np.uint16]  # as bits
    is_frame: Bools
    crowds: Bools  # whether it may be one of a crowd of small operations
    may_be_small: Bools


@functools.cache
def _code_meanings() -> _CodeMeanings:
    codes = np.arange(256, dtype=np.uint8)
    name_class = codes % np.uint8(CODES)
    is_frame = any_class(name_class, _FRAMES)
    is_innermost = codes & _INNERMOST != 0
    is_long = codes & _LONG != 0
    is_mark = codes & _IS_MARK != 0
    waits_for_input = codes & _WAITS_FOR_INPUT != 0
    is_call = ~is_frame & ~is_mark & ~waits_for_input
    operation = is_innermost & (name_class == NameClass.OPERATION)
    view = is_innermost & (name_class == _VIEW)
    is_copy = is_innermost & (name_class == NameClass.COPY)
    function = is_innermost & (name_class == NameClass.FUNCTION)
    calls_framework = is_call & ~any_class(name_class, _NOT_CALLING)
    activities = np.zeros(len(codes), np.uint16)
    for activity, chosen in (
        (ActivityKind.INPUT, waits_for_input),
        (ActivityKind.WAITING, name_class == NameClass.WAIT),
        # A view that takes long waited for a core.
        (ActivityKind.RUNTIME, calls_framework | (view & is_long)),
        (ActivityKind.CALLED_PYTHON, name_class == NameClass.CALLED_PYTHON),
        (ActivityKind.INPUT_AHEAD, name_class == NameClass.INPUT_AHEAD),
        (ActivityKind.PROGRAM, name_class == NameClass.PROGRAM),
        (ActivityKind.COMPILING, (name_class == NameClass.COMPILE) | function),
        (ActivityKind.SHORT_OPS, (operation | view | is_copy) & ~is_long),
        (ActivityKind.COPYING, is_copy & is_long),
        (ActivityKind.COMPUTING, operation & is_long),
    ):
        activities[chosen] |= 1 << activity
    return _CodeMeanings(
        activities=activities,
        is_frame=is_frame,
        crowds=is_innermost & is_call,
        may_be_small=~is_frame & ~is_mark,
    )


def _add_host_line(
    profile: Profile,
    layers: _Layers,
    line: Typed,
    classes: UInt8s,
    no_copies: Bools,
) -> int:
    """Put one thread into the layers; return how many small operations were called in crowds."""
    events = line.track.events
    if _INPUT_LINE.search(line.track.name):
        _add_input_line(layers, events, line.types, classes)
        return 0
    code = _codes(profile, line, classes, no_copies)
    meanings = _code_meanings()
    stretches = wire_codes.united_kinds(events.start, events.duration, code, meanings.activities)
    for activity, (start, end) in enumerate(stretches):
        layers.add_time(ActivityKind(activity), CoveredTime(start, end))
    if is_pool(line.track.name):
        return 0  # the program called these operations elsewhere
    crowds = crowded_time(events, np.flatnonzero(meanings.crowds.take(code)))
    layers.add(ActivityKind.SMALL_OPS, crowds.start, crowds.end)
    if not len(crowds.start):
        return 0
    is_small = meanings.may_be_small.take(code)
    is_small &= events.duration < MAX_USUAL_PERIOD_PS
    return small_calls(line.track, is_small, crowds)


def _codes(profile: Profile, line: Typed, classes: UInt8s, no_copies: Bools) -> UInt8s:
    """What is known of each event of a thread, as a code."""
    events = line.track.events
    kind = line.types
    is_mark = kind == MARK
    code = classes.take(events.name)
    code[is_mark] = NameClass.SILENT
    code = passed_down(line.track, code, inheritance())
    waits_for_input = kind == EventType.WAIT_INPUT
    if waits_for_input.any():
        waits_for_input &= ~_code_meanings().is_frame.take(code)
    innermost = is_innermost(profile, line.track) & ~waits_for_input
    is_long = long_by_name(events, innermost)
    if no_copies.any():
        views = (code == NameClass.COPY) & no_copies[events.name]
        code[views] = _VIEW
    for flag, is_set in (
        (_INNERMOST, innermost),
        (_LONG, is_long),
        (_WAITS_FOR_INPUT, waits_for_input),
        (_IS_MARK, is_mark),
    ):
        code |= is_set * np.uint8(flag)
    return code


def _add_input_line(layers: _Layers, events: Events, kind: UInt8s, classes: UInt8s) -> None:
    """A thread of the input pipeline: someone waits for a batch, or batches are prepared."""
    waited = kind == EventType.WAIT_INPUT
    layers.add_events(ActivityKind.INPUT, events, waited)
    python = classes[events.name] == NameClass.CALLED_PYTHON
    layers.add_events(ActivityKind.INPUT_PYTHON, events, python)
    is_ahead = (kind != MARK) & ~waited
    layers.add_events(ActivityKind.INPUT_AHEAD, events, is_ahead)


_DEVICE_COPYING = (
    EventType.HOST_TO_DEVICE,
    EventType.DEVICE_TO_HOST,
    EventType.DEVICE_TO_DEVICE,
    EventType.HOST_TO_HOST,
)
_DEVICE_INPUT = (EventType.WAIT_INPUT, EventType.WAIT_HOST)


def _add_device_line(layers: _Layers, line: Typed) -> None:
    kind = line.types
    for activity, kinds in (
        (ActivityKind.DEVICE_COMPUTING, DEVICE_COMPUTING),
        (ActivityKind.DEVICE_COPYING, _DEVICE_COPYING),
        (ActivityKind.COLLECTIVE, DEVICE_MEETING),
        (ActivityKind.INPUT, _DEVICE_INPUT),
    ):
        layers.add_events(activity, line.track.events, np.isin(kind, kinds))


# ── Python's frames ──────────────────────────────────────────────────────────────────────────────


def frame_tracks(trace: Trace) -> Iterator[Track]:
    """The lines that hold Python's frames, alone or among other events."""
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        for track in process.tracks:
            if len(track.events) and not is_pool(track.name):
                yield track


def _frames(trace: Trace, classes: UInt8s) -> tuple[CoveredTime, CoveredTime]:
    """(where Python runs and does not wait, where the profiler itself does)."""
    running: list[CoveredTime] = []
    profiler: list[CoveredTime] = []
    for track in frame_tracks(trace):
        name_class = classes[track.events.name]
        is_frame = np.isin(name_class, (NameClass.FRAME, NameClass.WAITING_FRAME))
        if not is_frame.any():
            continue
        is_waiting = name_class == NameClass.WAITING_FRAME
        is_profiler = name_class == NameClass.PROFILER
        waiting = _time_of(track.events, is_waiting)
        in_frames = _time_of(track.events, is_frame)
        running.append(in_frames.without(waiting))
        profiler.append(_time_of(track.events, is_profiler))
    return joined(running), joined(profiler)


def _time_of(events: Events, chosen: Bools) -> CoveredTime:
    """When any of the chosen events runs."""
    return time_of(events, chosen, empty_too=True)
