"""What each event stands for in the breakdown of a step: TensorBoard's types, by its rules, from
the least telling to the most.

At each moment the most telling type that is active counts (`sweep`). Which type an event has, its
name says, and for a few names a stat. Two of the rules differ by mode: collectors write copies as
`MemcpyH2D`, which TensorFlow's rules do not know, so that they count as compute there; `corrected`
takes them for what they are.
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

import numpy as np

from powertui.data import category, texts
from powertui.data.asked import Compat
from powertui.data.category import Category
from powertui.data.model import (
    Bools,
    Int32s,
    Int64s,
    Names,
    Process,
    ProcessKind,
    Trace,
    Track,
    UInt8s,
)
from powertui.data.run.device_intervals import work_tracks
from powertui.data.run.marks import carried, rows_named, whole_numbers
from powertui.data.tools import python_frames
from powertui.data.tools.sorted_columns import begins_run, ends_run


class EventType(enum.IntEnum):
    """The types, by priority: TensorBoard's, and below them two of ours.

    Only `corrected` has the two. A thread that runs Python or the runtime computes nothing, and
    is no idle thread either.
    """

    UNKNOWN = 0
    PYTHON = 1
    RUNTIME = 2
    HOST_COMPUTE = 3
    HOST_COMPILE = 4
    HOST_TO_HOST = 5
    HOST_TO_DEVICE = 6
    HOST_PREPARE = 7
    COLLECTIVES = 8
    WAIT_INPUT = 9
    DEVICE_TO_DEVICE = 10
    DEVICE_TO_HOST = 11
    COMPUTE_32 = 12
    COMPUTE_16 = 13
    WAIT_DEVICE = 14
    WAIT_HOST = 15


_READ_CHARACTERS = 64  # of a name: what it stands for is said at its beginning
KINDS = len(EventType)
MARK = 254  # marks a step: no work itself
NOTHING = 255  # counts nowhere

_DROPPED = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
# While XLA's executor on a CPU waits here, its program runs: partly in threads that record nothing.
_COMPLETION = "ThunkExecutor::Execute (wait for completion)"
_POOLS = "ThreadpoolListener::"  # marks of no length, of which there are very many
_MARKS = ("train", "test", "TraceContext")
_SPEAKING = (
    *_MARKS,
    "ProfilerStep#",
    *_DROPPED,
    _POOLS,
    "InfeedEnqueue",
    "memcpy",
    "ExecutorState::Process",
    "iteratorgetnext",
    "gloo:",
    "mpi:",
    "ucc:",
    "xccl:",
    "c10d::",
    "record_param_comms",
)
_COPY_AS_PARSED = re.compile(r"(?i)^memcpy(htod|dtoh|dtod|htoh)")
_COPY = re.compile(
    r"(?i)(?:^|hip|cuda)(?:memcpy|copy)[ _]?"
    r"(host ?to ?device|device ?to ?host|device ?to ?device|[hd](?:to|2)[hd]|p(?:to|2)p)"
)
_WAYS = {
    "htod": EventType.HOST_TO_DEVICE,
    "h2d": EventType.HOST_TO_DEVICE,
    "hosttodevice": EventType.HOST_TO_DEVICE,
    "dtoh": EventType.DEVICE_TO_HOST,
    "d2h": EventType.DEVICE_TO_HOST,
    "devicetohost": EventType.DEVICE_TO_HOST,
    "dtod": EventType.DEVICE_TO_DEVICE,
    "d2d": EventType.DEVICE_TO_DEVICE,
    "devicetodevice": EventType.DEVICE_TO_DEVICE,
    "ptop": EventType.DEVICE_TO_DEVICE,
    "p2p": EventType.DEVICE_TO_DEVICE,
    "htoh": EventType.HOST_TO_HOST,
    "h2h": EventType.HOST_TO_HOST,
}
_COLLECTIVE = re.compile(r"(?i)^(?:nccl|rccl|msccl)")
_HOST_COLLECTIVE = re.compile(
    r"^(?:gloo|mpi|ucc|xccl):|^c10d::|^record_param_comms$"
)  # without a device nothing else runs them
_HALF = re.compile(
    r"(?i)half|fp16|bf16|bfloat16|[_.](?:h|s)16816|h884|h1688|hgemm|_f16|_hhs_|_bbs_"
)
_INPUT = re.compile(
    r"^(?:iteratorgetnext|enumerate\(dataloader\)|.*dataloader.*__next__|.*dataloader.*_next_data)"
)
_COMPILING = re.compile(
    r"(?i)^(?:xlacompile|compile|.*::compile\b|backend_compile|pjrtcompile|.*\bautotun)"
)
# What an op of a TPU does, by the name of its HLO instruction.
_TPU_WAIT_HOST = re.compile(r"(?i)^%?(?:infeed|recv-?from-?host|host-?recv)")
_TPU_TO_HOST = re.compile(r"(?i)^%?(?:outfeed|send-?to-?host|host-?send)")
_TPU_COLLECTIVE = re.compile(
    r"(?i)^%?(?:all-reduce|all-gather|all-to-all|reduce-scatter|collective|cross-replica)"
)
_TPU_BETWEEN = re.compile(r"(?i)^%?(?:send|recv)\b")
_TPU_IDLE = re.compile(r"(?i)^%?(?:idle|wait|.*barrier)")

# Annotations that PyTorch sets itself: around code that works, and records no event of its own.
_WORKING_ANNOTATIONS = ("Optimizer.", "enumerate(DataLoader)")

_STATS = ("correlation_id", "step_name", "step_num", "shape", "_ipl_stage_id")
_NONE = np.empty(0, np.int64)


class Typed(NamedTuple):
    """One line: the type of its events by their names, and of those that say more themselves."""

    number: int  # of the line, over Trace.tracks()
    process: Process
    track: Track
    by_name: UInt8s  # for each name of the trace an EventType, MARK or NOTHING
    rows: Int64s  # events whose type their stats tell, ascending
    kinds: UInt8s  # of those

    @property
    def types(self) -> UInt8s:
        """The types of all events."""
        kind = self.by_name[self.track.events.name]
        kind[self.rows] = self.kinds
        return kind

    def types_for(self, rows: Int64s | Int32s) -> UInt8s:
        """The types of these events."""
        kind = self.by_name[self.track.events.name[rows]]
        if not len(self.rows):
            return kind
        place = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
        has_own_type = self.rows[place] == rows
        return np.where(has_own_type, self.kinds[place], kind)

    def times(self, rows: Int64s | Int32s) -> tuple[Int64s, Int64s]:
        """(when these events start, when they end)."""
        events = self.track.events
        start = events.start[rows]
        return start, start + events.duration[rows]

    def with_marks(self, marks: Int32s) -> Typed:
        """The same line; these rows, ascending, mark steps, whatever their names are."""
        rows = np.concatenate([self.rows, marks.astype(np.int64)])
        mark_kinds = np.full(len(marks), MARK, np.uint8)
        kinds = np.concatenate([self.kinds, mark_kinds])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        kinds = kinds[order]
        # A row that had a type of its own stands twice now: its mark comes last and counts.
        counts = ends_run(rows)
        return self._replace(rows=rows[counts], kinds=kinds[counts])

    def telling(self) -> Int64s:
        """The events that are more than the host's computing, or that mark a step, ascending."""
        names = (self.by_name != NOTHING) & (self.by_name != EventType.HOST_COMPUTE)
        rows_by_name = rows_named(self.track.events.name, names)
        if not len(self.rows):
            return rows_by_name
        rows_by_stat = self.rows[self.kinds != NOTHING]
        rows = np.sort(np.concatenate([rows_by_name, rows_by_stat]), kind="stable")
        return rows[begins_run(rows)]


def typed_events(trace: Trace, compat: Compat) -> tuple[list[Typed], list[Typed]]:
    """(work of devices, work of hosts), line by line.

    Lines that collectors drew from others are left out.
    """
    numbers = {id(track): number for number, (_, track) in enumerate(trace.tracks())}
    with_device = has_device(trace, compat)
    devices: list[Typed] = []
    hosts: list[Typed] = []
    for process in trace.processes:
        if process.kind is ProcessKind.DEVICE:
            tracks = [track for track in work_tracks(process) if len(track.events)]
            if tracks:
                devices += _device(trace, process, tracks, numbers, compat)
        elif process.kind is ProcessKind.HOST:
            tracks = [track for track in process.tracks if _is_host_work(trace, track)]
            if tracks:
                hosts += _host(
                    trace, process, tracks, numbers, has_device=with_device, compat=compat
                )
    return devices, hosts


def _is_host_work(trace: Trace, track: Track) -> bool:
    """Whether a line holds events of a thread: frames of Python say nothing of TensorBoard's
    types.
    """
    if not len(track.events) or track.derived:
        return False
    return not python_frames.is_frame_line(trace, track)


def has_device(trace: Trace, compat: Compat) -> bool:
    """Whether a trace tells of devices.

    One that recorded nothing counts for TensorFlow, and not for us.
    """
    devices = (process for process in trace.processes if process.kind is ProcessKind.DEVICE)
    return any(compat != "corrected" or process.event_count for process in devices)


# ── devices ──────────────────────────────────────────────────────────────────────────────────────


def _device(
    trace: Trace, process: Process, tracks: list[Track], numbers: dict[int, int], compat: Compat
) -> list[Typed]:
    is_tpu = "TPU" in process.name
    carry = carried(trace, process, tracks, _STATS)
    type_of_name = np.full(len(trace.names), NOTHING, np.uint8)
    used = np.unique(np.concatenate([np.unique(track.events.name) for track in tracks]))
    for index in used.tolist():
        name = trace.names.full(index)
        type_of_name[index] = _tpu_kind(name) if is_tpu else device_kind(name, compat)
    lines: list[Typed] = []
    for track in tracks:
        name_of_event = track.events.name
        rows = _NONE
        if carry["shape"].any():
            rows = rows_named(name_of_event, carry["shape"])
        kinds = type_of_name[name_of_event[rows]]
        if len(rows):
            kinds = _by_shape(process, track, rows, kinds)
        carries_id = carry["correlation_id"][name_of_event]
        if compat != "corrected" and not is_tpu and not carries_id.all():
            # To the converters an event without a correlation id counts nowhere.
            all_kinds = type_of_name[name_of_event]
            all_kinds[rows] = kinds
            rows = np.arange(len(name_of_event))
            columns = process.source.columns(track.events.position, ("correlation_id",))
            has_id = whole_numbers(columns["correlation_id"]) >= 0
            kinds = np.where(has_id, all_kinds, NOTHING).astype(np.uint8)
        lines.append(
            Typed(
                number=numbers[id(track)],
                process=process,
                track=track,
                by_name=type_of_name,
                rows=rows,
                kinds=kinds,
            )
        )
    return lines


def _by_shape(process: Process, track: Track, rows: Int64s, kinds: UInt8s) -> UInt8s:
    """The types of these events, where the shapes of their tensors say whether they compute in
    16 bit.
    """
    column = process.source.columns(track.events.positions(rows), ("shape",))["shape"]
    shapes = column.texts or [None] * len(rows)
    is_half = np.array([shape is not None and "half" in shape for shape in shapes], np.bool_)
    computes = np.isin(kinds, (EventType.COMPUTE_16, EventType.COMPUTE_32)) & column.present
    by_shape = np.where(is_half, EventType.COMPUTE_16, EventType.COMPUTE_32)
    return np.where(computes, by_shape, kinds).astype(np.uint8)


def device_kind(name: str, compat: Compat) -> EventType:
    """The type of an event of a GPU's stream."""
    if compat == "corrected":
        copy, collective, half = _COPY, _COLLECTIVE, _HALF
    else:  # as the converters know them: NCCL alone, and copies as no collector writes them
        copy, collective, half = _COPY_AS_PARSED, _NCCL, _HALF_AS_PARSED
    copied = copy.search(name)
    if copied is not None:
        return _WAYS[copied[1].lower().replace(" ", "")]
    if collective.search(name):
        return EventType.COLLECTIVES
    return EventType.COMPUTE_16 if half.search(name) else EventType.COMPUTE_32


_NCCL = re.compile(r"(?i)^nccl")
_HALF_AS_PARSED = re.compile(r"(?i)half|fp16")


def _tpu_kind(name: str) -> int:
    for pattern, kind in (
        (_TPU_IDLE, NOTHING),
        (_TPU_WAIT_HOST, EventType.WAIT_HOST),
        (_TPU_TO_HOST, EventType.DEVICE_TO_HOST),
        (_TPU_COLLECTIVE, EventType.COLLECTIVES),
        (_TPU_BETWEEN, EventType.WAIT_DEVICE),
    ):
        if pattern.search(name):
            return int(kind)
    return int(EventType.COMPUTE_16 if "bf16" in name else EventType.COMPUTE_32)


# ── hosts ────────────────────────────────────────────────────────────────────────────────────────


def _host(
    trace: Trace,
    process: Process,
    tracks: list[Track],
    numbers: dict[int, int],
    *,
    has_device: bool,
    compat: Compat,
) -> list[Typed]:
    carry = carried(trace, process, tracks, _STATS)
    used = np.zeros(len(trace.names), np.bool_)
    for track in tracks:
        used[track.events.name] = True
    table = np.full(len(trace.names), EventType.HOST_COMPUTE, np.uint8)
    marks: Bools = np.zeros(len(trace.names), np.bool_)
    for index in np.flatnonzero(_speaking(trace.names, used)).tolist():
        name = trace.names.full(index)
        marks[index] = (name.startswith(_MARKS) and "/" not in name) or name.startswith(
            "ProfilerStep#"
        )
        table[index] = (
            MARK if marks[index] else host_kind(name, has_device=has_device, compat=compat)
        )
    table[carry["_ipl_stage_id"] & (table != MARK) & (table != NOTHING)] = EventType.WAIT_INPUT
    if compat == "corrected":
        table[python_frames.frame_names(trace) & used] = NOTHING
        table[_annotations(trace, used) & (table == EventType.HOST_COMPUTE)] = NOTHING
        table[carry["step_num"]] = MARK  # whatever carries a step's number marks it
    asks = (carry["step_name"] & ~marks) | (
        carry["correlation_id"] & has_device & ~np.isin(table, (MARK, NOTHING))
    )
    out = []
    for track in tracks:
        names = track.events.name
        rows = rows_named(names, asks) if asks.any() else np.empty(0, np.int64)
        kinds = table[names[rows]]
        if len(rows):
            columns = process.source.columns(
                track.events.positions(rows), ("correlation_id", "step_name")
            )
            launched = (whole_numbers(columns["correlation_id"]) >= 0) & has_device
            plain = ~np.isin(kinds, (NOTHING, EventType.HOST_TO_DEVICE, EventType.HOST_TO_HOST))
            kinds = np.where(launched & plain, EventType.HOST_PREPARE, kinds).astype(np.uint8)
            kinds[columns["step_name"].present] = MARK
        out.append(
            Typed(
                number=numbers[id(track)],
                process=process,
                track=track,
                by_name=table,
                rows=rows,
                kinds=kinds,
            )
        )
    return out


def _annotations(trace: Trace, used: Bools) -> Bools:
    """Which names a PyTorch program gave to stretches of its own (`record_function`): whether
    anything ran there, the events inside say.
    """
    out = np.zeros(len(trace.names), np.bool_)
    if trace.format != "kineto":
        return out
    for index in np.flatnonzero(used).tolist():
        kinds = {stat.value for stat in trace.names.stats(index) if stat.name == "cat"}
        works = trace.names.full(index).startswith(_WORKING_ANNOTATIONS)
        out[index] = "user_annotation" in kinds and not works
    return out


def _speaking(names: Names, used: Bools) -> Bools:
    """The used names that can stand for more than the host's computing: of hundreds of thousands a
    few.
    """
    speaks = np.zeros(len(names), np.bool_)
    rows = np.flatnonzero(used)
    for begin in range(0, len(rows), texts.BATCH):
        batch = rows[begin : begin + texts.BATCH]
        low = names.texts(batch).cut(_READ_CHARACTERS).lower()
        for prefix in _SPEAKING:
            speaks[batch] |= low.begin(prefix.lower().encode())
        for part in (b"dataloader", b"ompil", b"autotun"):
            speaks[batch] |= low.contain(part)
    return speaks


def host_kind(name: str, *, has_device: bool, compat: Compat) -> int:
    """The type of an event of a host's thread that marks no step."""
    is_corrected = compat == "corrected"
    if name.startswith(_DROPPED) or (is_corrected and name.startswith(_POOLS)):
        return NOTHING
    front = name[:_READ_CHARACTERS]
    low = front.lower()
    if name.startswith("InfeedEnqueue") or low.startswith("memcpyhtod"):
        return int(EventType.HOST_TO_DEVICE)
    if low.startswith("memcpyhtoh"):
        return int(EventType.HOST_TO_HOST)
    # With a device the executor only prepares what runs there.
    if has_device and name.startswith("ExecutorState::Process"):
        return int(EventType.HOST_PREPARE)
    # Asking for the next element is the wait for it, whoever prepares it.
    if low.startswith("iteratorgetnext") or (is_corrected and _INPUT.match(low)):
        return int(EventType.WAIT_INPUT)
    if is_corrected:
        return _corrected_host_kind(front, has_device=has_device)
    return int(EventType.HOST_COMPUTE)


def _corrected_host_kind(front: str, *, has_device: bool) -> int:
    """Types that the converters do not know of a host's events."""
    low = front.lower()
    if not has_device and _HOST_COLLECTIVE.match(low):
        return int(EventType.COLLECTIVES)
    # The test of the words is quicker than the expression, which few names get to.
    if ("ompil" in low or "autotun" in low) and _COMPILING.search(front):
        return int(EventType.HOST_COMPILE)
    return int(EventType.HOST_COMPUTE)


def waits(name: str) -> bool:
    """Whether a name is of Python or of a thread that waits: nothing is computed there."""
    return category.work_category(name) in (Category.PYTHON, Category.IDLE)


def type_by_time(name: str) -> int | None:
    """What the events of a host's name stand for where they count for the time at which they ran;
    None where that is no other than elsewhere.

    A thread that waits does nothing then: what it waits for runs on another one.
    """
    if name.startswith(_COMPLETION):
        return int(EventType.RUNTIME)
    if name in category.HAND_OVER:
        return NOTHING
    kind = category.work_category(name)
    if kind is Category.IDLE:
        return NOTHING
    return int(EventType.RUNTIME) if kind is Category.RUNTIME else None
