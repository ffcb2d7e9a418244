"""Whom to name for a stretch of time: the function of the program, or the call of its framework."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.category import Category, work_category
from powertui.data.conclusions.makers import library_modules
from powertui.data.conclusions.makers.purposes import DECISIVE, Purpose, purpose_of
from powertui.data.model import Bools, Events, Int64s, Track, UInt8s
from powertui.data.name_shapes import name_shapes
from powertui.data.opened import Profile
from powertui.data.run.stat_carriers import rows_named
from powertui.data.sorted_columns import open_at
from powertui.data.tools import activity
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.tools.name_classes import NameClass, name_classes
from powertui.data.tools.python_frames import without_lightning
from powertui.data.tools.thread_time import FRAME_LINE_SUFFIX
from powertui.data.tools.wall_time import Periods, WallTime
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern
from powertui.plain import plain
from powertui.value_types import dataclass

# Share of a stretch that a function has to take to be named for it, the deepest one that does.
# Chosen, not measured; at 0.95 the write that ends a checkpoint hides the function that saves it.
_MIN_SHARE = 0.85
# With less than that nobody is named. Chosen, not measured.
_MIN_FALLBACK_SHARE = 0.5
# What takes less says nothing of what the stretch is for. Chosen, not measured: a checkpoint that
# is written and then synchronized to disk spends about half its time in each.
_MIN_PURPOSE_SHARE = 0.2
# Python that calls no function for longer probably waits for a lock, which leaves no frame.
# Chosen, not measured.
_MAX_CALL_PERIOD_PS = 5_000_000_000
# What takes more time than this outside the stretches, as a multiple of theirs, is no cause of them
# but common. Chosen, not measured.
_MAX_COMMON_TIMES = 1.5
_MAX_NAME = 60
_MAX_READ_NAME = 300  # letters: templates of C++ have thousands

_KINETO_FRAME = late_pattern(r"^(?P<path>.+\.py)\((?P<line>\d+)\): (?P<name>.+)$")
_XPLANE_FRAME = late_pattern(r"^\$(?P<path>.+\.py):(?P<line>\d+) (?P<name>.+)$")
_FUNCTION = late_pattern(
    r"^EagerLocalExecute: __inference_(?P<name>.+)_\d+$|^PjitFunction\((?P<jit>.+)\)$"
)
_BUILT_IN = late_pattern(
    r"(?:^<built-in (?:function|method) |^\$\S+ )"
    r"(?P<name>sleep|acquire|select|poll|recv|recv_into|recvfrom|accept|wait|waitpid|connect)\b"
)
_ANY_BUILT_IN = late_pattern(
    r"^<built-in (?:function|method) (?P<kineto>\w+)|^\$[\w.]+ (?P<xplane>\w+)$"
)
_LIBRARY = late_pattern(
    r"site-packages|dist-packages|/python3\.\d+/|^python3|^torch[/\\]|^<|[/\\]torch[/\\]"
    r"|^(?:tensorflow|keras|jax|numpy|pandas|scipy|sklearn|matplotlib|PIL|optax|flax|lightning"
    r"|pytorch_lightning|transformers|accelerate|datasets)[/\\]"
)
# Frames that a person finds by the function around them.
_NAMELESS = late_pattern(r"<(?:listcomp|setcomp|dictcomp|genexpr|lambda|module)>$")
_WRAPPER = late_pattern(
    r"^(?:TFE_(?!DeleteTensorHandle)|Eager|KernelAndDeviceFunc|FunctionRun|ExecutorState"
    r"|CommonPjRt|PjRt|Handle inputs|ThunkExecutor|Optional|Iterator|ProfilerStep|ParseArguments"
    r"|Allocate|convert_to_tensor|tf\.constant|Validate|np\.asarray\(jax\.Array\))"
)

# Calls in which the host waits until the results are there, of JAX, PyTorch, CUDA and HIP.
_WAITS_FOR_RESULTS = late_pattern(
    r"block_until_ready|array\.py(?::\d+|\(\d+\):) _value|^aten::(?:item|_local_scalar_dense)$"
    r"|^(?:cuda|hip)(?:Memcpy(?:Async)?|\w*Synchronize)$"
)


@dataclass(frozen=True)
class Named:
    """A function or a call that takes much of a stretch."""

    label: str  # "resize in image_processing.py:214"
    name: str  # as the profile has it
    ps: int
    is_frame: bool


@dataclass(frozen=True)
class Blame:
    """Who takes a stretch of time."""

    whom: Named | None
    purpose: Purpose | None
    calls_nothing: bool = False  # for long stretches: a loop without calls, or a lock
    waits_in: str = ""  # the built-in function in which it waits: "sleep", "acquire"
    function: Named | None = None  # where nobody takes it: the function that it is in
    built_in: str = ""  # what it calls most of the time, of those functions that are not in Python

    @property
    def label(self) -> str:
        """For a sentence; empty when nobody is known."""
        return "" if self.whom is None else self.whom.label


NOBODY = Blame(None, None)


def blame(
    profile: Profile,
    wall: WallTime,
    stretches: CoveredTime,
    *,
    with_function: bool = False,
) -> Blame:
    """Who takes these stretches: the deepest function of the program, else the outermost call.

    Where that is nobody, the answer can hold the function that they are in, whatever else is in it.
    """
    total = stretches.length
    if not total:
        return NOBODY
    calls = _calls_to_blame(profile, wall, stretches)
    chain = _chain(profile, calls.special)
    large = [named for named in chain if named.ps >= _MIN_FALLBACK_SHARE * total]
    frames = [named for named in large if named.is_frame]
    functions = _of_program(frames)
    whom = _deepest(functions, total, _MIN_SHARE)
    if whom is None:
        whom = _deepest(functions, total, _MIN_FALLBACK_SHARE)
    if whom is None:
        whom = _outermost_call(large)
    function = None
    if whom is None and with_function:
        function = _function_around(_chain(profile, calls.large), total)
    built_in = _called_built_in(frames, whom)
    return Blame(
        whom=whom,
        purpose=_purpose_of_stretches(
            profile=profile,
            wall=wall,
            stretches=stretches,
            whom=whom,
            chain=chain,
            functions=functions,
        ),
        calls_nothing=whom is not None
        and whom.is_frame
        and not built_in
        and _calls_nothing(profile, stretches),
        waits_in=_waits_in(frames),
        function=function,
        built_in=built_in,
    )


def _called_built_in(frames: Sequence[Named], whom: Named | None) -> str:
    """The innermost of these frames, where it is no Python and the function to name calls it."""
    if whom is None or whom not in frames or frames[-1] is whom:
        return ""
    match = _ANY_BUILT_IN.match(frames[-1].name)
    return "" if match is None else match["kineto"] or match["xplane"]


def _of_program(frames: Sequence[Named]) -> list[Named]:
    """The program's own functions among some frames; nameless ones where there are no others."""
    of_program = [named for named in frames if not _is_library(named.name)]
    with_name = [named for named in of_program if not _NAMELESS.search(named.name)]
    return with_name or of_program


def _outermost_call(chain: Sequence[Named]) -> Named | None:
    """The first call that is more than a wrapper around what others do."""
    for named in chain:
        if not named.is_frame and not _WRAPPER.search(named.name):
            return named
    return None


def _purpose_of_stretches(
    profile: Profile,
    wall: WallTime,
    stretches: CoveredTime,
    whom: Named | None,
    chain: Sequence[Named],
    functions: Sequence[Named],
) -> Purpose | None:
    """What the stretches are for: by whom to name, then by what that calls, then by its callers."""
    if whom is None:
        return _decisive(profile, wall, stretches) or _purpose(chain)
    if whom in chain:
        called = chain[chain.index(whom) :]
    else:
        called = chain
    purpose = _purpose([whom]) or _purpose(called)
    if purpose is None and whom in functions:
        # What calls the function may say what it is for: __getitem__, on_train_batch_end.
        purpose = _purpose(functions)
    return purpose


def _function_around(chain: Sequence[Named], total: int) -> Named | None:
    """The deepest function of the program in a chain that stretches of this length are in."""
    functions = []
    for named in chain:
        if not named.is_frame or _is_library(named.name) or _NAMELESS.search(named.name):
            continue
        functions.append(named)
    return _deepest(functions, total, _MIN_SHARE)


def _calls_nothing(profile: Profile, stretches: CoveredTime) -> bool:
    """Whether most of the time passes without any call of a function, which Python rarely does."""
    moments = [stretches.start, stretches.end]
    for track in activity.frame_tracks(profile.trace):
        starts = track.events.start
        moments.append(starts[stretches.hold(starts)])
    ordered = np.sort(np.concatenate(moments))
    gaps = np.diff(ordered)
    is_long = stretches.hold(ordered[:-1]) & (gaps > _MAX_CALL_PERIOD_PS)
    return bool(2 * gaps[is_long].sum() > stretches.length)


def _waits_in(frames: Sequence[Named]) -> str:
    """The function of Python itself in which the program waits; empty for none."""
    match = _BUILT_IN.search(frames[-1].name) if frames else None
    return match["name"] if match is not None else ""


def _deepest(chain: Sequence[Named], total: int, share: float) -> Named | None:
    for named in reversed(chain):
        if named.ps >= share * total:
            return named
    return None


def _purpose(chain: Sequence[Named]) -> Purpose | None:
    # "_read_status" of a client reads an answer, and no input.
    return purpose_of(
        named.name for named in chain if not library_modules.is_client(_module(named.name))
    )


_PsByPlace: TypeAlias = dict[tuple[int, int], int]  # by depth and name


class _Calls(NamedTuple):
    """What takes much of some stretches, without the marks of steps."""

    large: _PsByPlace
    special: _PsByPlace  # without what takes as much of the rest of the profile


def _calls_to_blame(profile: Profile, wall: WallTime, stretches: CoveredTime) -> _Calls:
    """What takes much of some stretches, on the thread of the steps alone where that shows it.

    Another thread that does something all the time is no cause of what this one does, unless this
    one waits for it.
    """
    threads = list(activity.frame_tracks(profile.trace))
    all_calls = _calls_in(profile, wall, stretches, threads)
    own_threads = _lines_of_driver(wall, threads)
    if len(own_threads) == len(threads):
        return all_calls
    own_calls = _calls_in(profile, wall, stretches, own_threads)
    around = [named for named in _chain(profile, own_calls.large) if named.is_frame]
    if _deepest(_of_program(around), stretches.length, _MIN_SHARE) is None:
        return all_calls
    frames = [named for named in _chain(profile, own_calls.special) if named.is_frame]
    if any(_purpose([named]) is Purpose.WAIT for named in around):
        return all_calls
    if _deepest(_of_program(frames), stretches.length, _MIN_SHARE) is None:
        return _Calls(large=own_calls.large, special=all_calls.special)
    return own_calls


def _lines_of_driver(wall: WallTime, threads: Sequence[Track]) -> list[Track]:
    """The lines of the thread that marks the steps: its calls, and its frames of Python."""
    if wall.driver is None:
        return list(threads)
    thread = wall.driver.name.removesuffix(FRAME_LINE_SUFFIX)
    names = (thread, thread + FRAME_LINE_SUFFIX)
    return [track for track in threads if track is wall.driver or track.name in names]


def _calls_in(
    profile: Profile,
    wall: WallTime,
    stretches: CoveredTime,
    threads: Sequence[Track],
) -> _Calls:
    total = stretches.length
    classes = name_classes(profile)
    lengths_before = stretches.lengths_before()
    calls = _Calls({}, {})
    for track in threads:
        for depth in range(track.lane_count):
            lane = track.lane(depth)
            rows = stretches.touched(lane.start, lane.end)
            if not len(rows):
                continue
            inside = stretches.inside(lane.start[rows], lane.end[rows], lengths_before)
            names = lane.name[rows]
            is_launch = np.isin(names, _launching_names(lane, wall.periods.start))
            is_launch &= ~_is_frame(classes[names])
            is_inside = (inside > 0) & ~is_launch
            rows = rows[is_inside]
            if not len(rows):
                continue
            names = names[is_inside]
            ps_inside = np.bincount(names, inside[is_inside].astype(np.float64))
            ps_in_all = np.bincount(names, lane.duration[rows].astype(np.float64))
            is_special = ps_in_all <= _MAX_COMMON_TIMES * total + ps_inside
            for name in np.flatnonzero(ps_inside >= _MIN_PURPOSE_SHARE * total).tolist():
                ps = int(ps_inside[name])
                calls.large.setdefault((depth, name), ps)
                if is_special[name]:
                    calls.special.setdefault((depth, name), ps)
    return calls


def _chain(profile: Profile, ps_by_place: _PsByPlace) -> list[Named]:
    """These calls with their names, the outermost first."""
    classes = name_classes(profile)
    chain = []
    for (_, index), ps in sorted(ps_by_place.items()):
        name = profile.trace.names.full(index)[:_MAX_READ_NAME]
        is_frame = bool(_is_frame(classes[index : index + 1])[0])
        chain.append(Named(label=_label(name), name=name, ps=ps, is_frame=is_frame))
    return chain


def says_little(name: str) -> bool:
    """Whether a call only holds or waits for what others do. An iterator's name tells a lot."""
    if waits_for_results(name):
        return True
    is_wrapper = _WRAPPER.search(name) is not None and not name.startswith("Iterator")
    return is_wrapper or _module(name) == "threading" or work_category(name) is Category.IDLE


def waits_for_results(name: str) -> bool:
    """Whether the host only waits in this call for what it launched before."""
    return _WAITS_FOR_RESULTS.search(name) is not None


def _launching_names(lane: Events, starts: Int64s) -> npt.NDArray[np.uint32]:
    """The names of a lane whose events mark or launch most steps."""
    is_around, row = open_at(lane.start, lane.end, starts)
    names, count = np.unique(lane.name[row[is_around]], return_counts=True)
    return names[2 * count > len(starts)]


def _is_frame(classes: UInt8s) -> Bools:
    return np.asarray(np.isin(classes, (NameClass.FRAME, NameClass.WAITING_FRAME)))


def _is_library(name: str) -> bool:
    """Whether a frame is of Python, of a framework or built in, and none of the program's own."""
    match = _frame(name)
    if match is None:
        return True
    path = match["path"]
    if _LIBRARY.search(path):
        return True
    module = _module(name)
    if module == path.removesuffix(".py") and library_modules.is_known(module):
        return True
    return module.startswith("_") or module in sys.stdlib_module_names


def _frame(name: str) -> re.Match[str] | None:
    """The parts of a Python frame's name: path, line and function."""
    return _KINETO_FRAME.match(name) or _XPLANE_FRAME.match(name)


def _file(frame: re.Match[str]) -> str:
    """The file of a frame, without its folders."""
    return re.split(r"[/\\]", frame["path"])[-1]


def _module(name: str) -> str:
    """The module of a frame, without its packages; empty for what is no frame."""
    frame = _frame(name)
    return "" if frame is None else _file(frame).removesuffix(".py")


def dispatched(profile: Profile, wall: WallTime, windows: CoveredTime) -> Blame:
    """The compiled function that is called in these windows and in no step: its work runs on other
    threads, so that the call itself is short.
    """
    if wall.driver is None:
        return NOBODY
    events = wall.driver.events
    names = profile.trace.names
    steps = joined([CoveredTime(wall.periods.start, wall.periods.mark_end)])
    names_in_steps = wire.distinct(events.name[steps.hold(events.start)])
    called, count = np.unique(events.name[windows.hold(events.start)], return_counts=True)
    most_often_first = called[np.argsort(-count, kind="stable")]
    for index in most_often_first.tolist():
        name = names.full(index)[:_MAX_READ_NAME]
        if index not in names_in_steps and _FUNCTION.match(name) is not None:
            function = Named(_label(name), name, 0, is_frame=False)
            return Blame(function, _purpose([function]))
    return NOBODY


def _label(name: str) -> str:
    """A name as a sentence has it: "resize in image_processing.py:214"."""
    frame = _frame(name)
    if frame is not None:
        return plain(f"{frame['name']} in {_file(frame)}:{frame['line']}", 2 * _MAX_NAME)
    function = _FUNCTION.match(name)
    if function is not None:
        return plain(function["name"] or function["jit"], _MAX_NAME)
    name, _, type_ = without_lightning(name).rpartition(":")
    words = type_ if name in ("", type_) else f"{name}:{type_}"  # "Flush:Flush" says it twice
    without_address = re.sub(r" at 0x[0-9a-f]+", "", words)
    return plain(without_address, _MAX_NAME)


def _decisive(profile: Profile, wall: WallTime, stretches: CoveredTime) -> Purpose | None:
    """What operations that do only one thing say, if they run in most of the stretches."""
    driver = wall.driver
    if driver is None:
        return None
    shapes = name_shapes(profile.trace.names)
    for purpose, pattern in DECISIVE:
        is_decisive = shapes.found(pattern)
        if is_decisive.any() and _meets(driver, is_decisive, stretches, wall.periods):
            return purpose
    return None


def _meets(track: Track, chosen: Bools, stretches: CoveredTime, periods: Periods) -> bool:
    """Whether calls of the chosen names lie in the steps that most of the stretches are in."""
    # A summary that is written once says nothing of what a program does after each step.
    rows = rows_named(track.events.name, chosen)
    start = track.events.start[rows]
    inside = stretches.inside(start, track.events.end[rows])
    step = periods.start.searchsorted(start[inside > 0], side="right")
    met = wire.distinct(step)
    first = np.append(stretches.start[:1], periods.start)
    last = np.append(periods.start, stretches.end[-1:])
    begin = np.minimum(first[met], last[met])
    return bool(2 * stretches.inside(begin, last[met]).sum() > stretches.length)
