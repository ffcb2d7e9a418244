"""What Python did on the host, from the frames that profilers record: when a thread ran Python and
nothing else, and which function took that time.

PyTorch writes frames on a line of their own ("thread 7 (python) Python"), as
`torch/_tensor.py(566): backward`; JAX and TensorFlow write them among the other events of a thread,
as `$api.py:2479 block_until_ready`. A frame lies around everything that it calls, so the innermost
event of a thread says what the thread does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from powertui.data import category, texts, wire
from powertui.data.category import Category
from powertui.data.model import Bools, Int64s, ProcessKind, Trace, Track
from powertui.data.opened import Profile
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.op_stack import parents
from powertui.data.tools.thread_time import FRAME_LINE_SUFFIX

_KINETO_FRAME = re.compile(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<name>.+)$")
_XPLANE_FRAME = re.compile(r"^\$(?P<file>.+):(?P<line>\d+) (?P<name>.+)$")
_BUILT_IN = re.compile(r"^(?:<built-in (?:method|function) |\$\S+ )(?P<name>\w+)")
# Lightning's names: "[pl][profile][Callback]make_plots.<locals>.PlotWeights.on_train_batch_end".
_LIGHTNING = re.compile(r"^\[pl\]\[\w+\](?:\[\w+\])?\.?(?:[\w.<>]*?\.)??(?P<name>(?:\w+\.)?\w+)$")
# Functions in which a thread waits for another one, for a device or for time to pass.
_WAITING = frozenset(
    (
        "_value",
        "_wait",
        "_wait_for_tstate_lock",
        "accept",
        "acquire",
        "block_until_ready",
        "epoll_wait",
        "join",
        "poll",
        "recv",
        "recv_into",
        "result",
        "select",
        "sleep",
        "synchronize",
        "wait",
    )
)
# The deepest function that holds this share of all of Python's time is named: in a video pipeline
# recorded with stacks that is `preprocess`, where 0.5 went on to one of its three parts and 0.95
# stopped at the library's `__call__`.
_MIN_NAMED_SHARE = 0.8
# A callee that holds more than this share of its caller's time is followed further down.
_MAJORITY = 0.5


class PythonFunction(NamedTuple):
    """A function of the program, and how long it kept its thread busy."""

    name: str  # "resize"
    file: str  # "image_processing_video.py"; "" where the profile does not say
    line: int  # -1 where the profile does not say
    ps: int
    callee: str = ""  # the built-in function that took most of it: "sleep"; "" for none
    inner: PythonFunction | None = None  # the function deeper down that took most of it

    @property
    def label(self) -> str:
        """As a person reads it: "resize in image_processing_video.py:214"."""
        place = f" in {self.file}:{self.line}" if self.file else ""
        return f"{self.name}{place}"


class _ThreadFrames(NamedTuple):
    """The events of a thread with frames: by start, of equal starts the longest first."""

    name: Int64s
    start: Int64s
    end: Int64s
    parent: Int64s  # the event around each; -1 for none
    depth: Int64s
    is_frame: Bools
    idle: CoveredTime  # when another line of the same thread says that it waits


def has_frames(trace: Trace) -> bool:
    """Whether any frames of Python were recorded."""
    return next(_lines(trace), None) is not None


def is_frame_line(trace: Trace, track: Track) -> bool:
    """Whether a line holds the frames of a thread and nothing else."""
    return trace.format == "kineto" and track.name.endswith(FRAME_LINE_SUFFIX)


def frame_names(trace: Trace) -> Bools:
    """Which names of a trace are frames that stand among other events."""
    return texts.beginning(trace.names, "$")


def working_stretches(profile: Profile) -> CoveredTime:
    """When at least one thread ran Python: its innermost event is a frame that does not wait. Made
    once.
    """
    return profile.cached("working Python", lambda: _working_stretches(profile.trace))


def _working_stretches(trace: Trace) -> CoveredTime:
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    waiting = _Waiting(trace)
    for thread in _threads(trace, waiting):
        mine = _innermost(thread, thread.is_frame & ~waiting.of(thread.name))
        mine = mine.without(thread.idle)
        starts.append(mine.start)
        ends.append(mine.end)
    return union(np.concatenate(starts), np.concatenate(ends))


def heaviest_function(trace: Trace, free: CoveredTime) -> PythonFunction | None:
    """The function that held its thread longest in these stretches; None without frames.

    From the outermost frame on, the callee that holds most of its caller's time is followed, until
    the time is spread over several. Only one thread is looked at, the one that ran Python longest:
    the others of a program wait for it.
    """
    waiting = _Waiting(trace)
    busiest: _ThreadFrames | None = None
    longest = 0
    for thread in _threads(trace, waiting):
        mine = _innermost(thread, thread.is_frame & ~waiting.of(thread.name))
        inside = int(free.inside(mine.start, mine.end).sum())
        # A thread that only waits counts for little, but for more than none at all.
        any_frames = free.inside(thread.start[:1], thread.end.max(keepdims=True))
        inside += int(any_frames[0]) // 1000
        if inside > longest:
            busiest, longest = thread, inside
    return _heaviest_path(trace, busiest, free) if busiest is not None else None


def _heaviest_path(trace: Trace, thread: _ThreadFrames, free: CoveredTime) -> PythonFunction | None:
    held = free.inside(thread.start, thread.end)
    caller = _calling_frame(thread)
    inside = thread.is_frame & (held > 0)
    rows = np.flatnonzero(inside & (caller < 0))
    path: list[PythonFunction] = []
    above = 0
    for _ in range(wire.MAX_LANES + 1):
        if not len(rows):
            break
        names, which = np.unique(thread.name[rows], return_inverse=True)
        sums = np.bincount(which.ravel(), weights=held[rows].astype(np.float64))
        best = int(np.argmax(sums))
        if sums[best] <= _MAJORITY * above:
            break
        above = int(sums[best])
        function = parse_frame(trace.names.full(int(names[best])), above)
        if function.file:
            path.append(function)
        elif path and not path[-1].callee:
            path[-1] = path[-1]._replace(callee=function.name)
        in_best = np.zeros(len(held), np.bool_)
        in_best[rows[which.ravel() == best]] = True
        rows = np.flatnonzero(inside & (caller >= 0) & in_best[np.maximum(caller, 0)])
    if not path:
        return None
    total = int((free.end - free.start).sum())
    named = [function for function in path if function.ps >= _MIN_NAMED_SHARE * total]
    chosen = named[-1] if named else path[0]
    return chosen if chosen is path[-1] else chosen._replace(inner=path[-1])


def parse_frame(text: str, ps: int = 0) -> PythonFunction:
    """The function that a frame's name stands for. Addresses in it are left out."""
    match = _KINETO_FRAME.match(text) or _XPLANE_FRAME.match(text)
    if match is not None:
        file = match["file"].replace("\\", "/").rpartition("/")[2]
        return PythonFunction(match["name"], file, int(match["line"][:9]), ps)
    built_in = _BUILT_IN.match(text)
    name = built_in["name"] if built_in is not None else text.removeprefix("$")
    return PythonFunction(name, "", -1, ps)


def readable_name(text: str) -> str:
    """An event's name as a sentence has it; of a frame the function, and where that is."""
    frame = parse_frame(text)
    if frame.file:
        return frame.label
    return frame.name if text.startswith(("$", "<built-in ")) else without_lightning(text)


def without_lightning(text: str) -> str:
    """An event's name without what Lightning writes before it."""
    match = _LIGHTNING.match(text)
    return text if match is None else match["name"]


# ── threads and their frames ─────────────────────────────────────────────────────────────────────


class _Waiting:
    """Which names wait: looked up once each."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._known: dict[int, bool] = {}

    def of(self, names: Int64s) -> Bools:
        waits = np.zeros(len(self._trace.names), np.bool_)
        for index in np.flatnonzero(np.bincount(names)).tolist():
            waits[index] = self.waits(index)
        return waits[names]

    def waits(self, index: int) -> bool:
        if index not in self._known:
            text = self._trace.names.full(index)
            self._known[index] = (
                parse_frame(text).name in _WAITING or category.work_category(text) is Category.IDLE
            )
        return self._known[index]


def _lines(trace: Trace) -> Iterator[tuple[Track, list[Track]]]:
    """(line with frames, the other lines of the same thread)."""
    names: Bools | None = None
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        for track in process.tracks:
            if track.derived or not len(track.events):
                continue
            if is_frame_line(trace, track):
                thread = track.name.removesuffix(FRAME_LINE_SUFFIX)
                yield track, [line for line in process.tracks if line.name == thread]
            elif trace.format != "kineto":
                names = frame_names(trace) if names is None else names
                if names[track.events.name].any():
                    yield track, []


def _threads(trace: Trace, waiting: _Waiting) -> Iterator[_ThreadFrames]:
    frames_of = frame_names(trace)
    for track, siblings in _lines(trace):
        events = track.events
        rows = np.flatnonzero(events.duration > 0)
        rows = rows[np.lexsort((-events.duration[rows], events.start[rows]))]
        if not len(rows):
            continue
        start, duration = events.start[rows], events.duration[rows]
        depth = wire.nest(start, duration)
        name = events.name[rows].astype(np.int64)
        whole_line = is_frame_line(trace, track)
        yield _ThreadFrames(
            name=name,
            start=start,
            end=start + duration,
            parent=parents(depth)[0],
            depth=depth.astype(np.int64),
            is_frame=np.ones(len(rows), np.bool_) if whole_line else frames_of[name],
            idle=_idle(siblings, waiting),
        )


def _idle(lines: list[Track], waiting: _Waiting) -> CoveredTime:
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for track in lines:
        if len(track.events):
            rows = np.flatnonzero(waiting.of(track.events.name.astype(np.int64)))
            starts.append(track.events.start[rows])
            ends.append(track.events.start[rows] + track.events.duration[rows])
    return union(np.concatenate(starts), np.concatenate(ends))


def _innermost(thread: _ThreadFrames, chosen: Bools) -> CoveredTime:
    """When one of the chosen events is the innermost of its thread."""
    count = len(thread.start)
    # Rows are by start, the outer events first. Of one moment come first what ends, the inner
    # events first; then what begins, the outer ones first.
    ended = count - 1 - np.argsort(thread.end[::-1], kind="stable")
    ends = thread.end[ended]
    at_start = np.arange(count) + ends.searchsorted(thread.start, side="right")
    at_end = np.arange(count) + thread.start.searchsorted(ends, side="left")
    moments, owner = np.empty((2, 2 * count), np.int64)
    moments[at_start], moments[at_end] = thread.start, ends
    owner[at_start], owner[at_end] = np.arange(count), thread.parent[ended]
    start, end = moments[:-1], moments[1:]
    owner = owner[:-1]
    keep = (end > start) & (owner >= 0) & chosen[np.maximum(owner, 0)]
    return union(start[keep], end[keep])


def _calling_frame(thread: _ThreadFrames) -> Int64s:
    """The innermost frame around each event; -1 for none."""
    caller: Int64s = thread.parent.copy()
    for _ in range(wire.MAX_LANES):
        through = (caller >= 0) & ~thread.is_frame[np.maximum(caller, 0)]
        if not through.any():
            break
        caller[through] = thread.parent[caller[through]]
    return caller
