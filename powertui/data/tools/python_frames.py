"""What Python did on the host, from the frames that profilers record: when a thread ran Python and
nothing else, and which function took that time.

PyTorch writes frames on a line of their own ("thread 7 (python) Python"), as
`torch/_tensor.py(566): backward`; JAX and TensorFlow write them among the other events of a thread,
as `$api.py:2479 block_until_ready`. A frame lies around everything that it calls, so the innermost
event of a thread says what the thread does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import category, name_shapes, wire
from powertui.data.category import Category
from powertui.data.model import Bools, Int64s, Trace, Track
from powertui.data.opened import Profile
from powertui.data.tools.covered_time import CoveredTime, joined, union
from powertui.data.tools.op_stack import parents
from powertui.data.tools.thread_time import FRAME_LINE_SUFFIX
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

_KINETO_FRAME = late_pattern(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<name>.+)$")
_XPLANE_FRAME = late_pattern(r"^\$(?P<file>.+):(?P<line>\d+) (?P<name>.+)$")
_BUILT_IN = late_pattern(r"^(?:<built-in (?:method|function) |\$\S+ )(?P<name>\w+)")
# Lightning's names: "[pl][profile][Callback]make_plots.<locals>.PlotWeights.on_train_batch_end".
_LIGHTNING = late_pattern(r"^\[pl\]\[\w+\](?:\[\w+\])?\.?(?:[\w.<>]*?\.)??(?P<name>(?:\w+\.)?\w+)$")
# Functions in which a thread waits for another one, for a device or for time to pass.
_WAITING = frozenset(
    (
        "_value",
        "_wait",
        "_wait_for_tstate_lock",
        "accept",
        "acquire",
        "block_until_ready",
        "connect",
        "epoll_wait",
        "join",
        "poll",
        "recv",
        "recv_into",
        "recvfrom",
        "result",
        "select",
        "sleep",
        "synchronize",
        "try_to_block",
        "wait",
        "waitpid",
    )
)
# The deepest function that holds this share of all of Python's time is named: in a video pipeline
# recorded with stacks that is `preprocess`, where 0.5 went on to one of its three parts and 0.95
# stopped at the library's `__call__`.
_MIN_NAMED_SHARE = 0.8
# A callee that holds more than this share of its caller's time is followed further down.
_MAJORITY = 0.5
# The time of a thread that only waits counts for this part (1/1000) of one that runs. Chosen: it
# decides only where no thread runs Python.
_WAITING_WEIGHT_PARTS = 1000


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
        if self.file:
            place = f" in {self.file}:{self.line}"
        else:
            place = ""
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
    return name_shapes.beginning(trace.names, "$")


def working_stretches(profile: Profile) -> CoveredTime:
    """When at least one thread ran Python: its innermost event is a frame that does not wait. Made
    once.
    """
    return profile.cached("working Python", lambda: _working_stretches(profile.trace))


def _working_stretches(trace: Trace) -> CoveredTime:
    waiting = _WaitingNames(trace)
    return joined(_working(thread, waiting) for thread in _threads(trace, waiting))


def _working(thread: _ThreadFrames, waiting: _WaitingNames) -> CoveredTime:
    """When a thread runs Python."""
    works = thread.is_frame & ~waiting.among(thread.name)
    return _innermost(thread, works).without(thread.idle)


def heaviest_function(trace: Trace, free: CoveredTime) -> PythonFunction | None:
    """The function that held its thread longest in these stretches; None without frames.

    From the outermost frame on, the callee that holds most of its caller's time is followed, until
    the time is spread over several. Only one thread is looked at, the one that ran Python longest:
    the others of a program wait for it.
    """
    waiting = _WaitingNames(trace)
    busiest: _ThreadFrames | None = None
    longest_ps = 0
    for thread in _threads(trace, waiting):
        works = thread.is_frame & ~waiting.among(thread.name)
        running = _innermost(thread, works)
        free_ps = int(free.inside(running.start, running.end).sum())
        # A thread that only waits counts for little, but for more than none at all.
        first_start = thread.start[:1]
        last_end = thread.end.max(keepdims=True)
        recorded = free.inside(first_start, last_end)
        free_ps += int(recorded[0]) // _WAITING_WEIGHT_PARTS
        if free_ps > longest_ps:
            busiest = thread
            longest_ps = free_ps
    if busiest is not None:
        return _heaviest_path(trace, busiest, free)
    return None


def _heaviest_path(trace: Trace, thread: _ThreadFrames, free: CoveredTime) -> PythonFunction | None:
    path = _majority_callees(trace, thread, free)
    if not path:
        return None
    min_named_ps = _MIN_NAMED_SHARE * free.length
    chosen = path[0]
    for function in path:
        if function.ps >= min_named_ps:
            chosen = function
    deepest = path[-1]
    if chosen is deepest:
        return chosen
    return chosen._replace(inner=deepest)


def _majority_callees(
    trace: Trace,
    thread: _ThreadFrames,
    free: CoveredTime,
) -> list[PythonFunction]:
    """From the outermost function on, each time the callee that held most of its caller's time."""
    held_ps = free.inside(thread.start, thread.end)
    caller = _calling_frame(thread)
    is_candidate = thread.is_frame & (held_ps > 0)
    rows = np.flatnonzero(is_candidate & (caller < 0))
    path: list[PythonFunction] = []
    caller_ps = 0
    for _ in range(wire.MAX_LANES + 1):
        if not len(rows):
            break
        names, name_of_row = np.unique(thread.name[rows], return_inverse=True)
        name_of_row = name_of_row.ravel()
        held_of_rows = held_ps[rows].astype(np.float64)
        ps_by_name = np.bincount(name_of_row, weights=held_of_rows)
        heaviest = int(np.argmax(ps_by_name))
        if ps_by_name[heaviest] <= _MAJORITY * caller_ps:
            break
        caller_ps = int(ps_by_name[heaviest])
        frame = trace.names.full(int(names[heaviest]))
        function = parse_frame(frame, caller_ps)
        if function.file:
            path.append(function)
        elif path and not path[-1].callee:
            path[-1] = path[-1]._replace(callee=function.name)
        is_heaviest = np.zeros(len(held_ps), np.bool_)
        is_heaviest[rows[name_of_row == heaviest]] = True
        is_caller_heaviest = is_heaviest[np.maximum(caller, 0)]
        called_by_it = (caller >= 0) & is_caller_heaviest
        rows = np.flatnonzero(is_candidate & called_by_it)
    return path


def parse_frame(text: str, ps: int = 0) -> PythonFunction:
    """The function that a frame's name stands for. Addresses in it are left out."""
    match = _KINETO_FRAME.match(text) or _XPLANE_FRAME.match(text)
    if match is not None:
        path = match["file"].replace("\\", "/")  # a frame of Windows, too
        file_name = path.rpartition("/")[2]
        return PythonFunction(
            name=match["name"],
            file=file_name,
            line=int(match["line"][:9]),
            ps=ps,
        )
    built_in = _BUILT_IN.match(text)
    if built_in is not None:
        name = built_in["name"]
    else:
        name = text.removeprefix("$")
    return PythonFunction(
        name=name,
        file="",
        line=-1,
        ps=ps,
    )


def readable_name(text: str) -> str:
    """An event's name as a sentence has it; of a frame the function, and where that is."""
    frame = parse_frame(text)
    if frame.file:
        return frame.label
    if text.startswith(("$", "<built-in ")):
        return frame.name
    return without_lightning(text)


def without_lightning(text: str) -> str:
    """An event's name without what Lightning writes before it."""
    match = _LIGHTNING.match(text)
    return text if match is None else match["name"]


# ── threads and their frames ─────────────────────────────────────────────────────────────────────


class _WaitingNames:
    """Which names wait: looked up once each."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._waits_by_name: dict[int, bool] = {}

    def among(self, names: Int64s) -> Bools:
        """Which of these events wait, by their names."""
        waits = np.zeros(len(self._trace.names), np.bool_)
        used = np.flatnonzero(np.bincount(names))
        for index in used.tolist():
            waits[index] = self._waits(index)
        return waits[names]

    def _waits(self, index: int) -> bool:
        if index not in self._waits_by_name:
            text = self._trace.names.full(index)
            is_idle = category.work_category(text) is Category.IDLE
            self._waits_by_name[index] = is_idle or parse_frame(text).name in _WAITING
        return self._waits_by_name[index]


def _lines(trace: Trace) -> Iterator[tuple[Track, list[Track]]]:
    """(line with frames, the other lines of the same thread)."""
    names: Bools | None = None
    for _, process, track in trace.threads():
        if is_frame_line(trace, track):
            thread = track.name.removesuffix(FRAME_LINE_SUFFIX)
            yield track, [line for line in process.tracks if line.name == thread]
        elif trace.format != "kineto":
            if names is None:
                names = frame_names(trace)
            if names[track.events.name].any():
                yield track, []


def _threads(trace: Trace, waiting: _WaitingNames) -> Iterator[_ThreadFrames]:
    is_frame_name = frame_names(trace)
    for track, siblings in _lines(trace):
        events = track.events
        rows = np.flatnonzero(events.duration > 0)
        duration = events.duration[rows]
        by_start = np.lexsort((-duration, events.start[rows]))
        rows = rows[by_start]
        if not len(rows):
            continue
        start = events.start[rows]
        duration = events.duration[rows]
        depth = wire.nest(start, duration)
        name = events.name[rows].astype(np.int64)
        if is_frame_line(trace, track):
            is_frame = np.ones(len(rows), np.bool_)
        else:
            is_frame = is_frame_name[name]
        yield _ThreadFrames(
            name=name,
            start=start,
            end=start + duration,
            parent=parents(depth)[0],
            depth=depth.astype(np.int64),
            is_frame=is_frame,
            idle=_idle(siblings, waiting),
        )


def _idle(lines: list[Track], waiting: _WaitingNames) -> CoveredTime:
    """When any of these lines says that its thread waits."""
    waits: list[CoveredTime] = []
    for track in lines:
        events = track.events
        if not len(events):
            continue
        is_wait = waiting.among(events.name.astype(np.int64))
        rows = np.flatnonzero(is_wait)
        start = events.start[rows]
        end = start + events.duration[rows]
        waits.append(CoveredTime(start, end))
    return joined(waits)


def _innermost(thread: _ThreadFrames, chosen: Bools) -> CoveredTime:
    """When one of the chosen events is the innermost of its thread."""
    count = len(thread.start)
    rows = np.arange(count)
    # Rows are by start, the outer events first. Of one moment come first what ends, the inner
    # events first; then what begins, the outer ones first.
    from_the_last = np.argsort(thread.end[::-1], kind="stable")
    by_end = count - 1 - from_the_last
    ends = thread.end[by_end]
    place_of_start = rows + ends.searchsorted(thread.start, side="right")
    place_of_end = rows + thread.start.searchsorted(ends, side="left")
    # From each moment to the next the innermost event is what began there, or what goes on around
    # what ended there.
    moments = np.empty(2 * count, np.int64)
    innermost = np.empty(2 * count, np.int64)
    moments[place_of_start] = thread.start
    innermost[place_of_start] = rows
    moments[place_of_end] = ends
    innermost[place_of_end] = thread.parent[by_end]
    start = moments[:-1]
    end = moments[1:]
    innermost = innermost[:-1]
    is_innermost_chosen = chosen[np.maximum(innermost, 0)]
    is_chosen = (innermost >= 0) & is_innermost_chosen
    stays = is_chosen & (end > start)
    return union(start[stays], end[stays])


def _calling_frame(thread: _ThreadFrames) -> Int64s:
    """The innermost frame around each event; -1 for none."""
    caller: Int64s = thread.parent.copy()
    for _ in range(wire.MAX_LANES):
        is_caller_frame = thread.is_frame[np.maximum(caller, 0)]
        is_no_frame = (caller >= 0) & ~is_caller_frame
        if not is_no_frame.any():
            break
        caller[is_no_frame] = thread.parent[caller[is_no_frame]]
    return caller
