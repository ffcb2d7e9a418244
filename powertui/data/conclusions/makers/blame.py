"""Whom to name for a stretch of time: the function of the program, or the call of its framework."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from enum import Enum

import numpy as np

from powertui.data.category import Category, work_category
from powertui.data.conclusions.makers import library_modules
from powertui.data.model import Bools, Events, Int64s, ProcessKind, Trace, Track, UInt8s
from powertui.data.opened import Profile
from powertui.data.tools import activity
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.tools.name_classes import NameClass, name_classes
from powertui.data.tools.python_frames import without_lightning
from powertui.data.tools.wall_time import WallTime
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
_MAX_NAME = 60

_KINETO_FRAME = re.compile(r"^(?P<path>.+\.py)\((?P<line>\d+)\): (?P<name>.+)$")
_XPLANE_FRAME = re.compile(r"^\$(?P<path>.+\.py):(?P<line>\d+) (?P<name>.+)$")
_FUNCTION = re.compile(
    r"^EagerLocalExecute: __inference_(?P<name>.+)_\d+$|^PjitFunction\((?P<jit>.+)\)$"
)
_BUILT_IN = re.compile(
    r"(?:^<built-in (?:function|method) |^\$\S+ )"
    r"(?P<name>sleep|acquire|select|poll|recv|recv_into|recvfrom|accept|wait|waitpid|connect)\b"
)
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/python3\.\d+/|^python3|^torch[/\\]|^<|[/\\]torch[/\\]"
    r"|^(?:tensorflow|keras|jax|numpy|pandas|scipy|sklearn|matplotlib|PIL|optax|flax|lightning"
    r"|pytorch_lightning|transformers|accelerate|datasets)[/\\]"
)
# Frames that a person finds by the function around them.
_NAMELESS = re.compile(r"<(?:listcomp|setcomp|dictcomp|genexpr|lambda|module)>$")
_WRAPPER = re.compile(
    r"^(?:TFE_(?!DeleteTensorHandle)|Eager|KernelAndDeviceFunc|FunctionRun|ExecutorState"
    r"|CommonPjRt|PjRt|Handle inputs|ThunkExecutor|Optional|Iterator|ProfilerStep|ParseArguments"
    r"|Allocate|convert_to_tensor|tf\.constant|Validate|np\.asarray\(jax\.Array\))"
)

# Calls in which the host waits until the results are there, of JAX, PyTorch, CUDA and HIP.
_WAITS_FOR_RESULTS = re.compile(
    r"block_until_ready|array\.py(?::\d+|\(\d+\):) _value|^aten::(?:item|_local_scalar_dense)$"
    r"|^(?:cuda|hip)(?:Memcpy(?:Async)?|\w*Synchronize)$"
)


class Purpose(Enum):
    """What a function is for, as far as its name shows."""

    GARBAGE = "garbage"
    CHECKPOINT = "checkpoint"
    VALIDATION = "validation"
    LOGGING = "logging"
    CALLBACK = "callback"
    INPUT = "input"
    WAIT = "wait"


_WORDS: dict[Purpose, tuple[str, ...]] = {
    # The most telling first: a callback that saves is a checkpoint.
    Purpose.GARBAGE: (
        r"\bgc\W+collect\b",
        r"built-in (?:function|method) collect\b",
        r"\$gc\b",
    ),
    Purpose.CHECKPOINT: (
        r"check_?point",
        r"\bsavez?(?:_|\b)|_save(?:_|\b)",
        r"serializ|pickle|\bdump|state_dict|orbax",
        r"SaveV2|SaveSlices|ShardedFilename",
    ),
    Purpose.VALIDATION: (
        r"(?:^|[^a-z])(?:eval|valid(?!ate_?(?:input|arg|shape))|test_step|predict)",
    ),
    Purpose.LOGGING: (
        r"summary|histogram|add_scalar|metrics?_writer|report",
        r"(?:write|record|flush|append|post|push|send|publish|upload)_(?:scalars?|metrics?|stat(?:s|istics)|loss(?:es)?)\b",
        r"(?:^|[^a-z])log(?:s|ger|ging|_|\b)|\bprint\b",
        r"wandb|mlflow|tensorboard",
    ),
    Purpose.CALLBACK: (r"callback|\bon_(?:train|test|epoch|batch|predict)|_hook\b",),
    Purpose.INPUT: (
        r"__getitem__|data_?load|pre_?fetch|collate|decode|augment|resize|im_?read|pre_?process|tokeni[sz]",
        r"(?:^|[^a-z])(?:load|read|fetch|prepare)_|next_batch|next_data|transform_",
    ),
    Purpose.WAIT: (r"\b(?:sleep|acquire|lock|select|poll|recv|wait|accept)\b",),
}
_PURPOSES = tuple(
    (purpose, re.compile("|".join(words), re.IGNORECASE)) for purpose, words in _WORDS.items()
)
# Operations that decide what a stretch between steps is for, however short they are.
DECISIVE: tuple[tuple[Purpose, re.Pattern[str]], ...] = (
    (Purpose.LOGGING, re.compile(r"Write\w*Summary|FlushSummaryWriter|HistogramSummary")),
    (Purpose.CHECKPOINT, re.compile(r"SaveV2|ShardedFilename|MergeV2Checkpoints|torch::save")),
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

    told: Named | None  # whom to name
    purpose: Purpose | None
    calls_nothing: bool = False  # for long stretches: a loop without calls, or a lock
    waits_in: str = ""  # the built-in function in which it waits: "sleep", "acquire"

    @property
    def label(self) -> str:
        """For a sentence; empty when nobody is known."""
        return "" if self.told is None else self.told.label


NOBODY = Blame(None, None)


def blame(profile: Profile, wall: WallTime, stretches: CoveredTime) -> Blame:
    """Who takes these stretches: the deepest function of the program, else the outermost call."""
    total = stretches.length
    if not total:
        return NOBODY
    chain = _chain(profile, wall, stretches)
    large = [named for named in chain if named.ps >= _MIN_FALLBACK_SHARE * total]
    frames = [named for named in large if named.is_frame]
    own = [named for named in frames if not _is_library(named.name)]
    own = [named for named in own if not _NAMELESS.search(named.name)] or own
    calls = [named for named in large if not named.is_frame and not _WRAPPER.search(named.name)]
    told = _deepest(own, total, _MIN_SHARE) or _deepest(own, total, _MIN_FALLBACK_SHARE)
    if told is None:
        told = next(iter(calls), None)
    purpose = _decisive(profile, wall, stretches) if told is None else None
    if purpose is None:
        own_purpose = _purpose([told]) if told is not None else None
        purpose = own_purpose or _purpose(chain[chain.index(told) :] if told in chain else chain)
    if purpose is None and told in own:
        # What calls the function may say what it is for: __getitem__, on_train_batch_end.
        purpose = _purpose(own)
    silent = told is not None and told.is_frame and _calls_nothing(profile, stretches)
    return Blame(told, purpose, silent, _waits_in(frames))


def function_around(profile: Profile, wall: WallTime, stretches: CoveredTime) -> Named | None:
    """The deepest function of the program that these stretches are in, whatever else is in it."""
    own = [
        named
        for named in _chain(profile, wall, stretches, with_common=True)
        if named.is_frame and not _is_library(named.name) and not _NAMELESS.search(named.name)
    ]
    return _deepest(own, stretches.length, _MIN_SHARE)


def _calls_nothing(profile: Profile, stretches: CoveredTime) -> bool:
    """Whether most of the time passes without any call of a function, which Python rarely does."""
    starts = [
        track.events.start[stretches.hold(track.events.start)] for track in _threads(profile.trace)
    ]
    moments = np.sort(np.concatenate([*starts, stretches.start, stretches.end]))
    gaps = np.diff(moments)
    within = stretches.hold(moments[:-1])
    long = gaps[within & (gaps > _MAX_CALL_PERIOD_PS)].sum()
    return bool(2 * long > stretches.length)


def _waits_in(frames: Sequence[Named]) -> str:
    """The function of Python itself in which the program waits; empty for none."""
    match = _BUILT_IN.search(frames[-1].name) if frames else None
    return match["name"] if match is not None else ""


def _deepest(chain: Sequence[Named], total: int, share: float) -> Named | None:
    return next((named for named in reversed(chain) if named.ps >= share * total), None)


def _purpose(chain: Sequence[Named]) -> Purpose | None:
    # "_read_status" of a client reads an answer, and no input.
    telling = [named for named in chain if not library_modules.is_client(_module(named.name))]
    for purpose, pattern in _PURPOSES:
        if any(pattern.search(named.name) for named in telling):
            return purpose
    return None


def _chain(
    profile: Profile, wall: WallTime, stretches: CoveredTime, *, with_common: bool = False
) -> list[Named]:
    """Everything that takes much of the stretches, the outermost first, without the marks of steps;
    without what takes as much of the rest of the profile, if that is not asked for.
    """
    trace, total = profile.trace, stretches.length
    classes = name_classes(profile)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for track in _threads(trace):
        for depth in range(track.lane_count):
            lane = track.lane(depth)
            inside = stretches.inside(lane.start, lane.end)
            launch = _launches(lane, wall.periods.start)
            called = ~_is_frame(classes[lane.name])
            rows = np.flatnonzero((inside > 0) & ~(launch & called))
            if not len(rows):
                continue
            sums = np.bincount(lane.name[rows], inside[rows].astype(np.float64))
            wholes = np.bincount(lane.name[rows], lane.duration[rows].astype(np.float64))
            large = sums >= _MIN_PURPOSE_SHARE * total
            if not with_common:
                large &= wholes <= 1.5 * total + sums
            for name in np.flatnonzero(large).tolist():
                found.setdefault((depth, name), (int(sums[name]), int(wholes[name])))
    out = []
    for (_, name), (ps, _) in sorted(found.items()):
        text = trace.names.full(name)[:300]
        kind = classes[name]
        out.append(Named(_label(text), text, ps, bool(_is_frame(np.array([kind]))[0])))
    return out


def says_little(name: str) -> bool:
    """Whether a call only holds or waits for what others do. An iterator's name tells a lot."""
    if waits_for_results(name):
        return True
    is_wrapper = _WRAPPER.search(name) is not None and not name.startswith("Iterator")
    return is_wrapper or _module(name) == "threading" or work_category(name) is Category.IDLE


def waits_for_results(name: str) -> bool:
    """Whether the host only waits in this call for what it launched before."""
    return _WAITS_FOR_RESULTS.search(name) is not None


def _launches(lane: Events, starts: Int64s) -> Bools:
    """Which events of a lane mark or launch steps: those whose name does so for most of them."""
    at = lane.start.searchsorted(starts, side="right") - 1
    around = (at >= 0) & (starts < lane.end[np.maximum(at, 0)]) if len(lane) else at >= 0
    if not around.any():
        return np.zeros(len(lane), np.bool_)
    names, count = np.unique(lane.name[at[around]], return_counts=True)
    return np.asarray(np.isin(lane.name, names[2 * count > len(starts)]))


def _is_frame(classes: UInt8s) -> Bools:
    return np.asarray(np.isin(classes, (NameClass.FRAME, NameClass.WAITING_FRAME)))


def _threads(trace: Trace) -> list[Track]:
    return [
        track
        for process in trace.processes
        if process.kind is ProcessKind.HOST
        for track in process.tracks
        if len(track.events) and not activity.is_pool(track.name)
    ]


def _is_library(name: str) -> bool:
    """Whether a frame is of Python, of a framework or built in, and none of the program's own."""
    match = _KINETO_FRAME.match(name) or _XPLANE_FRAME.match(name)
    if match is None:
        return True
    path = match["path"]
    if _LIBRARY.search(path):
        return True
    module = _module(name)
    if module == path.removesuffix(".py") and library_modules.is_known(module):
        return True
    return module.startswith("_") or module in sys.stdlib_module_names


def _module(name: str) -> str:
    """The module of a frame, without its packages; empty for what is no frame."""
    match = _KINETO_FRAME.match(name) or _XPLANE_FRAME.match(name)
    return "" if match is None else re.split(r"[/\\]", match["path"])[-1].removesuffix(".py")


def dispatched(profile: Profile, wall: WallTime, windows: CoveredTime) -> Blame:
    """The compiled function that is called in these windows and in no step: its work runs on other
    threads, so that the call itself is short.
    """
    if wall.driver is None:
        return NOBODY
    events, names = wall.driver.events, profile.trace.names
    inside = windows.hold(events.start)
    in_steps = joined([CoveredTime(wall.periods.start, wall.periods.mark_end)])
    of_steps = np.unique(events.name[in_steps.hold(events.start)])
    called, count = np.unique(events.name[inside], return_counts=True)
    for index in called[np.argsort(-count, kind="stable")].tolist():
        name = names.full(index)[:300]
        if index not in of_steps and _FUNCTION.match(name) is not None:
            told = Named(_label(name), name, 0, is_frame=False)
            return Blame(told, _purpose([told]))
    return NOBODY


def _label(name: str) -> str:
    """A name as a sentence has it: "resize in image_processing.py:214"."""
    match = _KINETO_FRAME.match(name) or _XPLANE_FRAME.match(name)
    if match is not None:
        file = re.split(r"[/\\]", match["path"])[-1]
        return plain(f"{match['name']} in {file}:{match['line']}", 2 * _MAX_NAME)
    function = _FUNCTION.match(name)
    if function is not None:
        return plain(function["name"] or function["jit"], _MAX_NAME)
    name, _, type_ = without_lightning(name).rpartition(":")
    words = type_ if name in ("", type_) else f"{name}:{type_}"  # "Flush:Flush" says it twice
    return plain(re.sub(r" at 0x[0-9a-f]+", "", words), _MAX_NAME)


def _decisive(profile: Profile, wall: WallTime, stretches: CoveredTime) -> Purpose | None:
    """What operations that do only one thing say, if they run in most of the stretches."""
    driver = wall.driver
    if driver is None:
        return None
    used = np.unique(driver.events.name)
    for purpose, pattern in DECISIVE:
        decisive = [
            index
            for index in used.tolist()
            if pattern.search(profile.trace.names.full(index)[:200]) is not None
        ]
        if decisive and _meets(driver, np.array(decisive), stretches):
            return purpose
    return None


def _meets(track: Track, names: Int64s, stretches: CoveredTime) -> bool:
    rows = np.isin(track.events.name, names)
    inside = stretches.inside(track.events.start[rows], track.events.end[rows])
    return bool((inside > 0).any())
