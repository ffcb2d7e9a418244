"""What readers of Chrome-like JSON traces share: names, args, threads and times of events.

`args` are kept as JSON text in one arena, where an event's position points, and are decoded when someone asks.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from powertui.data.formats import stat_columns
from powertui.data.formats.builder import Line, TraceBuilder
from powertui.data.formats.json_stream import JsonStream
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import Source, describe
from powertui.data.limits import HINT
from powertui.data.model import PS_PER_US, Clock, Floats, Int64s, Stat, StatColumn, StatKind, Trace, UInt64s
from powertui.data.texts import Texts
from powertui.errors import UnreadableFile

__all__ = [
    "EVENT_BYTES", "OBJECT_BYTES", "PYTORCH", "UNIX_US", "ArgStats", "PairNames", "Thread", "as_text", "clean", "clock_of",
    "number_of", "picoseconds", "read", "stat",
]  # fmt: skip

CHUNK = 1 << 18  # a piece of text; decoding it never holds the interpreter for long
FIRST_PART = 20_000  # events after which the first partial trace is shown; each next one at twice as many
EVENT_BYTES = 90  # of memory for each event: as it comes, as columns, and the index that the screens draw by
OBJECT_BYTES = 400  # for a name, a thread's number of them
TELL = 2_000  # events between two calls of progress
# What only PyTorch's profiler writes into the beginning of a trace.
PYTORCH = (b'"deviceProperties"', b'"schemaVersion"', b'"baseTimeNanoseconds"', b'"distributedInfo"', b'"cpu_op"',
           b'"cuda_runtime"', b'"Operator"', b'"user_annotation"', b'"traceName"')  # fmt: skip
UNIX_US = (1e14, 4e15)  # a ts in here (three years … 2096) is Unix time in µs
_ORIGIN_NS = 1_000_000  # how well a profiler ties its own clock to the system's, once, at its start

# ── args ─────────────────────────────────────────────────────────────────────────────────────────


class ArgStats:
    """The `args` of all events as JSON text, one after the other (model.StatSource)."""

    def __init__(self) -> None:
        self._arena = bytearray(b"{}\0")  # position 0: an event without args

    def add(self, args: dict[str, Any], raw: str) -> int:
        """Keep these, which stand somewhere in the event's text `raw`; where they lie now.

        The text is cut out rather than written anew: that is five times as fast. It may have a tail.
        """
        position = len(self._arena)
        if raw.count('"args"') == 1 and "\0" not in raw:
            text = raw[raw.index('"args"') + 6 :].lstrip(" \t\r\n:")
        else:
            text = json.dumps(args, ensure_ascii=True)
        self._arena += text.encode("utf-8", "replace")
        self._arena += b"\0"
        return position

    @property
    def memory(self) -> int:
        """How many bytes are kept."""
        return len(self._arena)

    def _line(self, position: int) -> bytes:
        end = self._arena.find(b"\0", position)
        return bytes(self._arena[position:end]) if 0 <= position < end else b"{}"

    def of(self, position: int) -> tuple[Stat, ...]:
        """All args of the event at this position, in file order."""
        return tuple(stat(name, value) for name, value in _args(self._line(int(position))).items())

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named arg for each of these events. Numbers that were written as text count as numbers."""
        texts: dict[str, list[str | None]] = {name: [None] * len(positions) for name in names}
        floats: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
        marks = {name: name.encode() if name.isidentifier() and name.isascii() else b"" for name in names}
        for row, position in enumerate(positions.tolist()):
            line = self._line(position)
            wanted = [name for name, mark in marks.items() if mark in line]
            args = _args(line) if wanted else {}
            for name in wanted:
                if name in args:
                    value = args[name]
                    texts[name][row] = as_text(value)
                    if isinstance(value, float):
                        floats[name].append((row, value))
        out = {}
        for name in texts:
            column = stat_columns.from_texts(texts[name])
            for row, value in floats[name]:  # exactly, and infinities too
                column.floats[row] = value
            out[name] = column
        return out


_decode = json.JSONDecoder(strict=False).raw_decode


def _args(line: bytes) -> dict[str, Any]:
    args: dict[str, Any] = _decode(line.decode("utf-8", "replace"))[0]
    return args


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


class Thread:
    """The events of one (pid, tid) as they come."""

    def __init__(self) -> None:
        self.ts, self.dur = array("d"), array("d")
        self.name, self.position = array("I"), array("Q")
        self.open: list[int] = []  # rows of B events that wait for their E
        self.label = ""

    def line(self, base_us: float, digits: int = 6) -> tuple[Line, int]:
        """The events as columns, and how many had no time that int64 can hold."""
        ts, dur = np.array(self.ts, np.float64), np.array(self.dur, np.float64)
        name, position = np.array(self.name, np.uint32), np.array(self.position, np.uint64)
        good = np.isfinite(ts) & np.isfinite(dur) & (np.abs(ts - base_us) < 9e12) & (np.abs(dur) < 9e12)
        bad = int(len(good) - good.sum())
        if bad:
            ts, dur, name, position = ts[good], dur[good], name[good], position[good]
        length = picoseconds(dur, digits=digits)
        # TensorFlow's writer makes 1 ps of a duration of nothing. No clock of a profiler resolves 1 ps.
        length[length == 1] = 0
        return Line(picoseconds(ts, base_us, digits), length, name, position), bad


def clock_of(base_us: float, origin_ns: int | None) -> Clock:
    """Where a trace's zero lies in Unix time. `base_us`: the ts that is zero; `origin_ns`: what ts count from, if that is said."""
    if origin_ns is not None:
        zero = origin_ns + int(base_us) * 1000
        return Clock(zero - _ORIGIN_NS, zero + _ORIGIN_NS, "absolute timestamps", "ts counts from the file's baseTimeNanoseconds")
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

    @property
    def memory(self) -> int: ...
    def add(self, event: Any, stream: JsonStream) -> None: ...
    def member(self, key: str, value: Any) -> None: ...
    def build(self, source: Source, *, complete: bool) -> Trace: ...


def read(source: Source, progress: Progress, collector: Collector) -> Iterator[Trace]:
    """Every event to the collector, in bounded memory: partial traces as they grow, the whole one last."""
    findings = collector.builder.findings
    stream = JsonStream(source.chunks(CHUNK), "traceEvents")
    shown, told = FIRST_PART, 0
    for key, value in stream:
        if key != "traceEvents" or not stream.listed:
            collector.member(key, value)
            continue
        collector.add(value, stream)
        if collector.count >= told + TELL:
            told = collector.count
            too_much = source.limit.exceeded(collector.memory)
            if too_much:
                findings.add(f"its events take {too_much}: the rest was left out. {HINT}")
                break
            progress(source.done, source.size, told)
            if told >= shown:
                shown = told * 2
                yield collector.build(source, complete=False)
    if not collector.count and (stream.problem or not stream.listed):
        problem, hint = describe(source.head, source.path)
        raise UnreadableFile(source.path, stream.problem or problem, hint=hint)
    findings.add("damaged events were left out", count=stream.damaged)
    if stream.problem:
        findings.add(f"{stream.problem}; what came before was read")
    progress(source.size, source.size, collector.count)
    yield collector.build(source, complete=True)
