"""What readers of Chrome-like JSON traces share: names, args, threads and times of events.

`args` are kept as JSON text in one arena, where an event's position points, and are decoded when someone asks.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from array import array
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.builder import FileWarnings, LineEvents, TraceBuilder
from powertui.data.formats.json_args import ArgText
from powertui.data.formats.json_batch import EventBatch, Scanner, Tokens
from powertui.data.formats.json_columns import ColumnStream
from powertui.data.formats.json_compiled import COMPILED, CompiledScanner
from powertui.data.formats.json_pure import FAR_US, PureScanner
from powertui.data.formats.json_stream import JsonStream
from powertui.data.formats.makers import TimeOrigin
from powertui.data.formats.pairing import pair
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile, describe
from powertui.data.limits import HINT
from powertui.data.model import (
    PS_PER_US,
    Clock,
    Floats,
    Int32s,
    Int64s,
    Stat,
    StatColumn,
    StatKind,
    Trace,
    UInt8s,
    UInt32s,
    UInt64s,
)
from powertui.data.texts import Texts
from powertui.errors import UnreadableFile

__all__ = [
    "BEGINS", "ENDS", "EVENT_BYTES", "IMPOSSIBLE", "OBJECT_BYTES", "OPEN", "PYTORCH", "UNIX_US", "VIZTRACER", "ArgStats",
    "Impossible", "Origin", "PairNames", "ThreadEvents", "arg_text", "as_text", "begin", "clean", "clock_of", "coded", "in_reach",
    "number_of", "picoseconds", "read", "spoken", "spread", "stat",
]  # fmt: skip

KEPT = 1 << 62  # positions of args that are kept; those below are places in the file
SCANNED = 1 << 21  # a piece for a scanner
CHUNK = 1 << 18  # a piece of text, where items are read one by one
SINGLY = False  # read all items one by one: what both scanners are held against
FIRST_PART = 20_000  # events after which the first partial trace is shown; each next one at twice as many
EVENT_BYTES = 80  # of memory for each event: as it comes, as columns, and the index that the screens draw by
OBJECT_BYTES = 400  # for a name, a thread's number of them
TELL = 2_000  # events between two calls of progress
# What only PyTorch's profiler writes into the beginning of a trace.
PYTORCH = (b'"deviceProperties"', b'"schemaVersion"', b'"baseTimeNanoseconds"', b'"distributedInfo"', b'"cpu_op"',
           b'"cuda_runtime"', b'"Operator"', b'"user_annotation"', b'"traceName"')  # fmt: skip
VIZTRACER = re.compile(rb'"viztracer_metadata"\s*:\s*\{[^{}]*\}')  # it holds one of these words, too
UNIX_US = (1e14, 4e15)  # a ts in here (three years … 2096) is Unix time in µs
_ORIGIN_NS = 1_000_000  # how well a profiler ties its own clock to the system's, once, at its start

# ── args ─────────────────────────────────────────────────────────────────────────────────────────


class ArgStats:
    """The `args` of all events (model.StatSource): where they stand in the text, which is read again when someone asks.

    Those of events that Python read itself are kept as text, one after the other: a position beyond any file.
    """

    def __init__(self, text: ArgText | None = None) -> None:
        self._arena = bytearray()
        self._text = text

    def add(self, args: dict[str, Any], raw: str) -> int:
        """Keep these, which stand somewhere in the event's text `raw`; where they lie now.

        The text is cut out rather than written anew: that is five times as fast. It may have a tail.
        """
        position = len(self._arena)
        own = '"args"' if '"args"' in raw else '"attr"'
        if raw.count(own) == 1 and "\0" not in raw:
            text = raw[raw.index(own) + 6 :].lstrip(" \t\r\n:")
        else:
            text = json.dumps(args, ensure_ascii=True)
        self._arena += text.encode("utf-8", "replace")
        self._arena += b"\0"
        return KEPT + position

    @property
    def memory(self) -> int:
        """How many bytes are kept."""
        return len(self._arena)

    def _line(self, position: int) -> bytes:
        end = self._arena.find(b"\0", position - KEPT)
        return bytes(self._arena[position - KEPT : end]) if end >= 0 else b"{}"

    def of(self, position: int) -> tuple[Stat, ...]:
        """All args of the event at this position, in file order."""
        if not position:
            return ()
        if position >= KEPT:
            args = _args(self._line(int(position)))
        else:
            args = self._text.one(int(position)) if self._text is not None else {}
        return tuple(stat(name, value) for name, value in args.items())

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named arg for each of these events. Numbers that were written as text count as numbers."""
        texts: dict[str, list[str | None]] = {name: [None] * len(positions) for name in names}
        floats: dict[str, list[tuple[int, float]]] = {name: [] for name in names}

        def put(row: int, name: str, value: Any) -> None:
            texts[name][row] = as_text(value)
            if isinstance(value, float):
                floats[name].append((row, value))

        kept = np.flatnonzero(positions >= KEPT)
        marks = {name: name.encode() if name.isidentifier() and name.isascii() else b"" for name in names}
        for row in kept.tolist():
            line = self._line(int(positions[row]))
            wanted = [name for name, mark in marks.items() if mark in line]
            args = _args(line) if wanted else {}
            for name in wanted:
                if name in args:
                    put(row, name, args[name])
        stored = np.flatnonzero((positions > 0) & (positions < KEPT))
        if len(stored) and self._text is not None:
            for row, name, value in self._text.values(positions[stored].astype(np.int64), names):
                put(int(stored[row]), name, value)
        out = {}
        for name in texts:
            column = stat_columns.from_texts(texts[name])
            for row, value in floats[name]:  # exactly, and infinities too
                column.floats[row] = value
            out[name] = column
        return out


_decode = json.JSONDecoder(strict=False).raw_decode


def _args(line: bytes) -> dict[str, Any]:
    try:
        args = _decode(line.decode("utf-8", "replace"))[0]
    except (ValueError, RecursionError):
        return {}
    return args if isinstance(args, dict) else {}


def stat(name: str, value: Any) -> Stat:
    """One arg, by the kind that its value has."""
    kind: StatKind = "str"
    if isinstance(value, int) and not isinstance(value, bool):
        kind = "int64" if -(1 << 63) <= value < 1 << 63 else "uint64"
        return Stat(name, value, kind)
    if isinstance(value, float):
        return Stat(name, value, "double")
    return Stat(name, as_text(value), kind)


def as_text(value: Any) -> str:
    """An arg as text; true and false as TensorFlow writes them into stats."""
    return clean(value) if isinstance(value, str) else json.dumps(value)


def clean(text: str) -> str:
    """Text that can be written anywhere: half a surrogate pair (JSON allows it) shows as ?."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# ── names ────────────────────────────────────────────────────────────────────────────────────────


class PairNames:
    """Event names with the long name that TensorFlow puts into args beside the short one (model.Names)."""

    def __init__(self) -> None:
        self._index: dict[tuple[str, str], int] = {}
        self._pairs: list[tuple[str, str]] = []

    def index(self, display: str, full: str) -> int:
        """The index of this name; a new one when it is new."""
        pair = (display, full)
        found = self._index.get(pair)
        if found is None:
            found = self._index[pair] = self.add(display, full)
        return found

    def add(self, display: str, full: str) -> int:
        """A name more, whether there is one like it or not."""
        self._pairs.append((clean(display), clean(full)))
        return len(self._pairs) - 1

    def __len__(self) -> int:
        return len(self._pairs)

    def full(self, index: int) -> str:
        """The name as recorded in `long_name`, else as shown."""
        return self._pairs[index][1]

    def display(self, index: int) -> str:
        """The short name."""
        return self._pairs[index][0]

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        """Many full names at once; or the short ones, each empty where it is the full one."""
        pairs = [self._pairs[i] for i in indices.tolist()]
        return Texts.of([short if short != full else "" for short, full in pairs] if display else [full for _, full in pairs])

    def stats(self, index: int) -> tuple[Stat, ...]:
        """Chrome traces say nothing of a name."""
        return ()


# ── times and threads ────────────────────────────────────────────────────────────────────────────


def picoseconds(us: Floats, base: float = 0.0, digits: int = 6) -> Int64s:
    """µs as exact ps: the whole part and the fraction apart, because their product would lose digits after 2**53 ps.

    `digits`: decimals that the writer writes. With three (ns) a double of a far clock gives back exactly what was written.
    """
    whole = np.floor(us)
    grid = 10**digits
    fraction = np.rint((us - whole) * grid).astype(np.int64) * (PS_PER_US // grid)
    result: Int64s = (whole - base).astype(np.int64) * PS_PER_US + fraction
    return result


def number_of(tid: Any) -> int:
    """A number for any tid: Chrome traces name threads by text, too."""
    if isinstance(tid, int):
        return tid if -(1 << 63) <= tid < 1 << 63 else stat_columns.wrap(tid)
    text = str(tid)
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 18 else zlib.crc32(text.encode("utf-8", "replace"))


IMPOSSIBLE = "events at impossible times were left out"
BEGINS, ENDS = 1, 2  # of `spread`
OPEN = -(1 << 62)  # the duration of a begin that waits for its end
_PLACES = 1000  # of times that cannot be
_REACH_US = 9e12  # from the first event: nothing that can be lies farther
_TS = re.compile(r'"ts"\s*:\s*"?(-?\d{1,17})(?:\.(\d{1,6}))?"?\s*[,}]')


class Impossible(ValueError):
    """A time that no event can have."""


class Origin:
    """What the times of a trace are counted from while it is read: the whole µs before the first event."""

    def __init__(self, digits: int = 6) -> None:
        self.us: int | None = None
        self._refused: dict[int, tuple[int, int]] = {}  # times too far from it: how many, and the first, by where they lie
        self.digits = digits  # decimals that the writer writes
        self._grid, self._unit = 10**digits, 10 ** (6 - digits)
        self._inexact_us = FAR_US * self._unit

    def ps(self, ts: float, raw: str = "") -> int:
        """A time in µs as ps from the origin. Raises `Impossible` for one that cannot be.

        `raw` is the event's text: a double of a far clock is not what was written.
        """
        if not math.isfinite(ts):
            raise Impossible
        whole = math.floor(ts)
        part = round((ts - whole) * self._grid) * self._unit
        if abs(ts) > self._inexact_us and raw.count('"ts"') == 1 and (match := _TS.search(raw)) is not None:
            part = int((match[2] or "").ljust(6, "0"))
            whole = int(match[1])
            if match[1][0] == "-":
                whole, part = (whole - 1, PS_PER_US - part) if part else (whole, 0)
        whole, part = int(whole), int(part)
        if self.us is None:
            self.us = whole
        if abs(whole - self.us) > _REACH_US:
            self.refuse(whole)
            raise Impossible
        return (whole - self.us) * PS_PER_US + part

    def refuse(self, us: int) -> None:
        """A time lies too far from the origin."""
        where = us // int(_REACH_US)
        if where in self._refused or len(self._refused) < _PLACES:
            count, first = self._refused.get(where, (0, us))
            self._refused[where] = count + 1, min(first, us)

    def better(self, kept: int) -> int | None:
        """An origin from which more events than so many lie within reach; None where there is none."""
        count, first = max(self._refused.values(), default=(0, 0))
        return first if count > kept else None

    def length(self, us: float) -> int:
        """A duration in µs as ps."""
        if not abs(us) < _REACH_US:
            raise Impossible
        whole = math.floor(us)
        return int(whole) * PS_PER_US + int(round((us - whole) * self._grid) * self._unit)


class ThreadEvents:
    """The events of one (pid, tid) as they come: ps from the trace's `Origin`."""

    def __init__(self) -> None:
        self.start, self.duration = array("q"), array("q")
        self.name, self.position = array("I"), array("Q")
        self.marks, self.ends = array("q"), array("q")  # begins (their rows) and ends (-1) as they came, and when those ended
        self.stray = self.left = 0  # ends without a begin, begins without an end: known once `line` was asked
        self.label = ""

    def __len__(self) -> int:
        return len(self.start)

    def add(self, start: int, duration: int, name: int, position: int) -> None:
        """One event."""
        self.start.append(start)
        self.duration.append(duration)
        self.name.append(name)
        self.position.append(position)

    def extend(self, start: Int64s, duration: Int64s, name: UInt32s, position: UInt64s) -> None:
        """Many."""
        self.start.frombytes(start.tobytes())
        self.duration.frombytes(duration.tobytes())
        self.name.frombytes(name.tobytes())
        self.position.frombytes(position.tobytes())

    def begin(self) -> None:
        """The last event waits for its end."""
        self.marks.append(len(self) - 1)

    def end(self, at: int) -> None:
        """The last one that waits ends."""
        self.marks.append(-1)
        self.ends.append(at)

    def _paired(self, start: Int64s, duration: Int64s) -> None:
        """Durations of what began and ended."""
        marks, ends = np.array(self.marks, np.int64), np.array(self.ends, np.int64)
        found = pair(marks >= 0)
        self.stray, self.left = found.stray, int((found.end < 0).sum())
        closed = found.end >= 0
        rows = marks[found.begin[closed]]
        number = np.cumsum(marks < 0) - 1  # of each end among `ends`
        duration[rows] = np.maximum(ends[number[found.end[closed]]] - start[rows], 0)

    def line(self, shift_ps: int, last_ps: int, *, final: bool) -> LineEvents:
        """The events as columns. `shift_ps`: the trace's zero; what still waits for its end lasts until `last_ps`.

        `final`: no more of them will come, and the columns are given away.
        """
        arrays = (self.start, self.duration, self.name, self.position)
        kinds = (np.int64, np.int64, np.uint32, np.uint64)
        start, duration, name, position = (
            np.frombuffer(column, kind) if final else np.array(column, kind) for column, kind in zip(arrays, kinds, strict=True)
        )
        if self.marks:
            self._paired(start, duration)
        if final:
            self.start, self.duration, self.name, self.position = array("q"), array("q"), array("I"), array("Q")
            self.marks, self.ends = array("q"), array("q")
        waits = np.flatnonzero(duration == OPEN)
        duration[waits] = np.maximum(last_ps - start[waits], 0)
        # TensorFlow's writer makes 1 ps of a duration of nothing. No clock of a profiler resolves 1 ps.
        duration[duration == 1] = 0
        if shift_ps:
            start -= shift_ps
        return LineEvents(start, duration, name, position)


def spread(
    threads: Sequence[ThreadEvents], which: Int64s, start: Int64s, duration: Int64s, name: UInt32s, position: UInt64s,
    marks: UInt8s | None = None,
) -> None:  # fmt: skip
    """Give each thread its events of a batch, in their order; `which` counts `threads`, `marks` tells begins and ends (B, E)."""
    order = np.argsort(which.astype(np.uint16) if len(threads) < 1 << 16 else which, kind="stable")  # of short numbers a radix sort
    bounds = np.searchsorted(which[order], np.arange(len(threads) + 1))
    for thread, lo, hi in zip(threads, bounds.tolist()[:-1], bounds.tolist()[1:], strict=True):
        rows = order[lo:hi]
        if marks is not None and (mine := marks[rows]).any():
            drawn = mine != ENDS
            row = len(thread) + np.cumsum(drawn) - 1
            thread.marks.frombytes(np.where(drawn, row, -1)[mine > 0].tobytes())
            thread.ends.frombytes(start[rows[~drawn]].tobytes())
            rows = rows[drawn]
        thread.extend(start[rows], duration[rows], name[rows], position[rows])


def coded(*columns: Int64s | Int32s) -> tuple[list[tuple[int, ...]], Int64s]:
    """Each combination once, and which of them every row has."""
    together = _one_number(columns)
    if together is not None:
        code, size = together
        first_row = np.full(size, -1, np.int64)
        first_row[code[::-1]] = np.arange(len(code) - 1, -1, -1)
        there = first_row >= 0
        first = first_row[there]
        number = np.cumsum(there) - 1
        return list(zip(*(column[first].tolist() for column in columns), strict=True)), number[code]
    return _sorted(columns)


def _one_number(columns: Sequence[Int64s | Int32s]) -> tuple[Int64s, int] | None:
    """The combination of each row as one number below a limit; None where that would be large."""
    rows = len(columns[0])
    code, size = np.zeros(rows, np.int64), 1
    for column in columns if rows else ():
        least = int(column.min())
        width = int(column.max()) - least + 1
        size *= width
        if size > 16 * rows + 1024:
            return None
        code = code * width + (column - least)
    return (code, size) if rows else None


def _sorted(columns: Sequence[Int64s | Int32s]) -> tuple[list[tuple[int, ...]], Int64s]:
    which = np.zeros(len(columns[0]), np.int64)
    first = which[:1]
    for column in columns:
        code = which << 32 | (column.astype(np.int64) + 1)
        order = np.argsort(code, kind="stable")
        new = np.ones(len(order), np.bool_)
        new[1:] = np.diff(code[order]) != 0
        which = np.empty(len(order), np.int64)
        which[order] = np.cumsum(new) - 1
        first = order[new]
    return list(zip(*(column[first].tolist() for column in columns), strict=True)), which


def begin(collector: Collector, batch: EventBatch) -> EventBatch:
    """One by one what comes first, until it is known from where times count; the rest of the batch."""
    row = 0
    while collector.origin.us is None and row < len(batch):
        collector.add(batch.event(row), batch.text(row))
        row += 1
    return batch.after(row) if row else batch


def in_reach(batch: EventBatch, rows: Int64s, origin: Origin, findings: FileWarnings) -> tuple[Int64s, Int64s]:
    """(those of these rows whose times can be, their starts as ps from the origin)."""
    assert origin.us is not None
    whole = batch.us[rows] - origin.us
    good = np.abs(whole) <= _REACH_US
    if not good.all():
        findings.add(IMPOSSIBLE, count=int(len(good) - good.sum()))
        for us in batch.us[rows[~good]].tolist():
            origin.refuse(us)
    rows, whole = rows[good], whole[good]
    part = batch.ps[rows].astype(np.int64)
    if origin.digits == 3:
        part = (part + 500) // 1000 * 1000
    return rows, whole * PS_PER_US + part


def spoken(batch: EventBatch, rows: Int64s) -> Iterator[tuple[Any, str]]:
    """Events of a batch as Python reads them, with their texts."""
    for row in rows.tolist():
        yield batch.event(row), batch.text(row)


def clock_of(base_us: float, origin: TimeOrigin | None) -> Clock:
    """Where a trace's zero lies in Unix time. `base_us`: the ts that is zero; `origin`: what ts count from, if that is said."""
    if origin is not None:
        zero = origin.unix_ns + int(base_us) * 1000
        return Clock(zero - _ORIGIN_NS, zero + _ORIGIN_NS, "absolute timestamps", f"ts counts from the file's {origin.said}")
    if not UNIX_US[0] < base_us < UNIX_US[1]:
        return Clock()
    zero = int(base_us) * 1000
    # doubles near 2e15 µs resolve a quarter of a µs
    return Clock(zero - 500, zero + 500, "absolute timestamps", "ts is Unix time in µs")


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


class Collector(Protocol):
    """What a dialect does with the events of the stream."""

    builder: TraceBuilder
    count: int  # events so far
    origin: Origin

    @property
    def memory(self) -> int: ...
    def add(self, event: Any, raw: str) -> None: ...
    def take(self, batch: EventBatch, tokens: Tokens) -> None: ...
    def member(self, key: str, value: Any) -> None: ...
    def build(self, source: OpenedFile, *, complete: bool) -> Trace: ...


def read(source: OpenedFile, progress: Progress, make: Callable[[], Collector]) -> Iterator[Trace]:
    """Every event to a collector, in bounded memory: partial traces as they grow, the whole one last."""
    collector = make()
    stream = yield from _fill(source, progress, collector)
    better = collector.origin.better(collector.count)
    if better is not None:  # the first event was the odd one: a zero before times of the day, say
        collector = make()
        collector.origin.us = better
        stream = yield from _fill(source, progress, collector)
    findings = collector.builder.findings
    if not collector.count and (stream.problem or not stream.listed):
        problem, hint = describe(source.head, source.path)
        raise UnreadableFile(source.path, stream.problem or problem, hint=hint)
    findings.add("damaged events were left out", count=stream.damaged)
    if stream.problem:
        findings.add(f"{stream.problem}; what came before was read")
    progress(source.size, source.size, collector.count)
    yield collector.build(source, complete=True)


def _fill(source: OpenedFile, progress: Progress, collector: Collector) -> Generator[Trace, None, JsonStream]:
    """All of the stream to this collector."""
    stream = _opened(source, collector.origin.digits)
    shown, told = FIRST_PART, 0
    for key, value in stream:
        if key != "traceEvents" or not stream.listed:
            collector.member(key, value)
            continue
        if isinstance(value, EventBatch):
            assert isinstance(stream, ColumnStream)
            collector.take(value, stream.tokens)
        else:
            collector.add(value, stream.raw())
        if collector.count >= told + TELL:
            told = collector.count
            too_much = source.limit.exceeded(collector.memory)
            if too_much:
                collector.builder.findings.add(f"its events take {too_much}: the rest was left out. {HINT}")
                break
            progress(source.done, source.size, told)
            if told >= shown:
                shown = told * 2
                yield collector.build(source, complete=False)
    return stream


def _opened(source: OpenedFile, digits: int) -> JsonStream:
    """The members and events of a trace, whose times have so many decimals of a µs."""
    if SINGLY:
        return JsonStream(source.chunks(CHUNK), "traceEvents")
    scanner: Scanner = CompiledScanner() if COMPILED else PureScanner(digits)
    return ColumnStream(source.chunks(SCANNED), "traceEvents", scanner)


def arg_text(source: OpenedFile) -> ArgText | None:
    """Where `args` are read again; None where they are all kept."""
    return None if SINGLY else ArgText(source, of_events=not COMPILED)
