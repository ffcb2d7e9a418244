"""`<host>.trace.json.gz`: the Chrome trace that TensorFlow 2.2 and JAX write, and plain Chrome traces like it.

It is read as a stream. Times are µs with up to six decimals and come out as the exact picoseconds. `args` are
kept as JSON text in one arena, where an event's position points, and are decoded when someone asks.

Left alone: traces of PyTorch (Kineto) and of Neuron, which have clocks and lanes of their own.
"""

from __future__ import annotations

import json
import math
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

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

NAME = "trace_json"

CHUNK = 1 << 18  # a piece of text; decoding it never holds the interpreter for long
FIRST_PART = 20_000  # events after which the first partial trace is shown; each next one at twice as many
EVENT = 90  # bytes of memory for each: as it comes, as columns, and the index that the screens draw by
OBJECT = 400  # bytes for a name, a thread's number of them
TELL = 2_000  # events between two calls of progress
WRITERS_LIMIT = 1_000_000  # TensorFlow drops events beyond so many when it writes this format
UNIX_US = (1e14, 4e15)  # a ts in here (three years … 2096) is Unix time in µs

_FOREIGN = (b'"deviceProperties"', b'"schemaVersion"', b'"baseTimeNanoseconds"', b'"neuronStartTimestampNs"', b'"distributedInfo"',
            b'"cpu_op"', b'"cuda_runtime"', b'"Operator"', b'"user_annotation"', b'"traceName"')  # fmt: skip
# Phases that are no stretch of time on a thread: counters, flows, async spans, object snapshots, samples.
_OTHER_PHASES = {
    "C": "counters", "s": "flow arrows", "t": "flow arrows", "f": "flow arrows", "b": "async spans", "n": "async spans",
    "e": "async spans", "S": "async spans", "T": "async spans", "p": "async spans", "F": "async spans", "N": "object snapshots",
    "O": "object snapshots", "D": "object snapshots", "P": "samples", "v": "memory dumps", "V": "memory dumps",
    "R": "marks", "c": "clock marks", "(": "contexts", ")": "contexts",
}  # fmt: skip


def sniff(head: bytes, path: str) -> int:
    """A list of events with phases, and nothing in it that only another profiler writes."""
    text = head[:8].lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] not in (b"{", b"["):
        return 0
    if any(mark in head for mark in _FOREIGN) or ".pt.trace" in path:
        return 0
    if text[:1] == b"[":
        return 40 if b'"ph"' in head else 0
    if b'"traceEvents"' not in head:
        return 20 if path.endswith((".trace.json", ".trace.json.gz")) and b'"memoryProfilePerAllocator"' not in head else 0
    return 95 if b'"highres-ticks"' in head else 70


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
        return tuple(_stat(name, value) for name, value in _args(self._line(int(position))).items())

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
                    texts[name][row] = _text(value)
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


def _stat(name: str, value: Any) -> Stat:
    kind: StatKind = "str"
    if isinstance(value, int) and not isinstance(value, bool):
        kind = "int64" if -(1 << 63) <= value < 1 << 63 else "uint64"
        return Stat(name, value, kind)
    if isinstance(value, float):
        return Stat(name, value, "double")
    return Stat(name, _text(value), kind)


def _text(value: Any) -> str:
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
            found = self._index[pair] = len(self._pairs)
            self._pairs.append((clean(display), clean(full)))
        return found

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


# ── events ───────────────────────────────────────────────────────────────────────────────────────


class _Thread:
    """The events of one (pid, tid) as they come."""

    def __init__(self) -> None:
        self.ts, self.dur = array("d"), array("d")
        self.name, self.position = array("I"), array("Q")
        self.open: list[int] = []  # rows of B events that wait for their E
        self.label = ""

    def line(self, base_us: float) -> tuple[Line, int]:
        """The events as columns, and how many had no time that int64 can hold."""
        ts, dur = np.array(self.ts, np.float64), np.array(self.dur, np.float64)
        name, position = np.array(self.name, np.uint32), np.array(self.position, np.uint64)
        good = np.isfinite(ts) & np.isfinite(dur) & (np.abs(ts - base_us) < 9e12) & (np.abs(dur) < 9e12)
        bad = int(len(good) - good.sum())
        if bad:
            ts, dur, name, position = ts[good], dur[good], name[good], position[good]
        length = picoseconds(dur)
        # TensorFlow's writer makes 1 ps of a duration of nothing. No clock of a profiler resolves 1 ps.
        length[length == 1] = 0
        return Line(picoseconds(ts, base_us), length, name, position), bad


def picoseconds(us: Floats, base: float = 0.0) -> Int64s:
    """µs as exact ps: the whole part and the fraction apart, because their product would lose digits after 2**53 ps."""
    whole = np.floor(us)
    fraction = np.rint((us - whole) * PS_PER_US).astype(np.int64)
    result: Int64s = (whole - base).astype(np.int64) * PS_PER_US + fraction
    return result


class _Collector:
    """Sorts events of the stream to their threads."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.stats, self.names = ArgStats(), PairNames()
        self.threads: dict[tuple[Any, Any], _Thread] = {}
        self.processes: dict[Any, str] = {}
        self.base_us = 0.0
        self.count = 0
        self.last = 0.0

    @property
    def memory(self) -> int:
        """About how many bytes all of it takes."""
        return self.stats.memory + EVENT * self.count + OBJECT * (len(self.names) + 4 * len(self.threads) + len(self.processes))

    def add(self, event: Any, stream: JsonStream) -> None:
        """One item of the list. What it may hold is anybody's guess."""
        if not isinstance(event, dict):
            self.builder.findings.add("items that are no events were left out")
            return
        phase = event.get("ph")
        try:
            if phase == "X":
                self._span(event, float(event["ts"]), float(event.get("dur") or 0.0), stream)
            elif phase == "M":
                self._metadata(event)
            elif phase == "B":
                thread = self._span(event, float(event["ts"]), math.nan, stream)
                thread.open.append(len(thread.ts) - 1)
            elif phase == "E":
                self._end(event, float(event["ts"]))
            elif phase in ("i", "I"):
                self._span(event, float(event["ts"]), 0.0, stream)
            elif phase in _OTHER_PHASES:
                self.builder.findings.add(f"{_OTHER_PHASES[phase]} are not drawn (ph {phase})")
            elif event:  # the last item is an empty object, against the trailing comma
                self.builder.findings.add("items of no known phase were left out")
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            self.builder.findings.add("events without a usable ts, dur, pid or tid were left out")

    def _thread(self, event: dict[str, Any]) -> _Thread:
        key = (event.get("pid"), event.get("tid"))
        thread = self.threads.get(key)
        if thread is None:
            thread = self.threads[key] = _Thread()
        return thread

    def _span(self, event: dict[str, Any], ts: float, dur: float, stream: JsonStream) -> _Thread:
        thread = self._thread(event)
        if UNIX_US[0] < ts < UNIX_US[1] and not self.base_us:
            self.base_us = float(math.floor(ts))
        args = event.get("args")
        position, full = 0, ""
        name = event.get("name")
        name = name if isinstance(name, str) else _text(name) if name is not None else ""
        if args and isinstance(args, dict):
            position = self.stats.add(args, stream.raw())
            full = args.get("long_name") or ""
        thread.name.append(self.names.index(name, full if isinstance(full, str) and full else name))
        thread.ts.append(ts)
        thread.dur.append(dur)
        thread.position.append(position)
        if math.isfinite(ts):
            self.last = max(self.last, ts if dur != dur else ts + dur)
        self.count += 1
        return thread

    def _end(self, event: dict[str, Any], ts: float) -> None:
        thread = self._thread(event)
        if not thread.open:
            self.builder.findings.add("ends (ph E) without a begin were left out")
            return
        row = thread.open.pop()
        thread.dur[row] = max(ts - thread.ts[row], 0.0)
        self.last = max(self.last, ts)

    def _metadata(self, event: dict[str, Any]) -> None:
        args = event.get("args")
        label = args.get("name") if isinstance(args, dict) else None
        if not isinstance(label, str):
            return  # sort indices: the builder has an order of its own
        label = clean(label)
        if event.get("name") == "process_name":
            self.processes[event.get("pid")] = label
        elif event.get("name") == "thread_name":
            self._thread(event).label = label

    def build(self, source: Source, *, complete: bool) -> Trace:
        """The trace of what came so far."""
        # Each part is built from its own columns: a Trace that was handed out never changes.
        builder = TraceBuilder(source.path, NAME, size=source.size, host=self.builder.host)
        builder.findings = self.builder.findings if complete else builder.findings
        builder.clock = self._clock()
        pids = list(dict.fromkeys([*self.processes, *(pid for pid, _ in self.threads)]))
        for pid in pids:
            process = builder.process(self.processes.get(pid) or f"process {pid}", (), self.stats)
            for (owner, tid), thread in self.threads.items():
                if owner != pid or not len(thread.ts):
                    continue
                open_rows = list(thread.open)
                for row in open_rows:
                    thread.dur[row] = max(self.last - thread.ts[row], 0.0)
                line, bad = thread.line(self.base_us)
                builder.findings.add("events at impossible times were left out", count=bad)
                process.add(_key(tid), thread.label, line)
                if open_rows:
                    builder.findings.add("begins (ph B) without an end last until the end of the trace", count=len(open_rows))
        return builder.build(self.names, complete=complete, warnings=source.warnings)

    def _clock(self) -> Clock:
        if not self.base_us:
            return Clock()
        zero = int(self.base_us) * 1000
        # doubles near 2e15 µs resolve a quarter of a µs
        return Clock(zero - 500, zero + 500, "absolute timestamps", "ts is Unix time in µs")


def _key(tid: Any) -> int:
    """A number for any tid: Chrome traces name threads by text, too."""
    if isinstance(tid, int):
        return tid if -(1 << 63) <= tid < 1 << 63 else stat_columns.wrap(tid)
    text = str(tid)
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 18 else zlib.crc32(text.encode("utf-8", "replace"))


def load(source: Source, progress: Progress) -> Iterator[Trace]:
    """Partial traces as they grow, the whole one last."""
    builder = TraceBuilder(source.path, NAME, size=source.size)
    collector = _Collector(builder)
    stream = JsonStream(source.chunks(CHUNK), "traceEvents")
    shown, told = FIRST_PART, 0
    for key, value in stream:
        if key != "traceEvents" or not stream.listed:
            continue
        collector.add(value, stream)
        if collector.count >= told + TELL:
            told = collector.count
            too_much = source.limit.exceeded(collector.memory)
            if too_much:
                builder.findings.add(f"its events take {too_much}: the rest was left. {HINT}")
                break
            progress(source.done, source.size, told)
            if told >= shown:
                shown = told * 2
                yield collector.build(source, complete=False)
    if not collector.count and (stream.problem or not stream.listed):
        problem, hint = describe(source.head, source.path)
        raise UnreadableFile(source.path, stream.problem or problem, hint=hint)
    builder.findings.add("damaged events were left out", count=stream.damaged)
    if collector.count == WRITERS_LIMIT:
        builder.findings.add(
            "holds exactly the million events that TensorFlow's writer keeps: the rest of the capture may be missing"
        )
    if stream.problem:
        builder.findings.add(f"{stream.problem}; what came before was read")
    progress(source.size, source.size, collector.count)
    yield collector.build(source, complete=True)
