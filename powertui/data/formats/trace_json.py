"""`<host>.trace.json.gz`: the Chrome trace that TensorFlow 2.2 and JAX write, and plain Chrome traces like it.

It is read as a stream. Times are µs with up to six decimals and come out as the exact picoseconds. `args` are
kept as JSON text in one arena, where an event's position points, and are decoded when someone asks.

Left alone: traces of PyTorch (kineto.py) and of Neuron, which have clocks and lanes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from powertui.data.formats.builder import TraceBuilder
from powertui.data.formats.json_counters import BYTES, Readings
from powertui.data.formats.json_events import (
    EVENT_BYTES,
    OBJECT_BYTES,
    PYTORCH,
    UNIX_US,
    ArgStats,
    PairNames,
    Thread,
    as_text,
    clean,
    clock_of,
    number_of,
    read,
)
from powertui.data.formats.json_stream import JsonStream
from powertui.data.formats.own_export import OwnExport
from powertui.data.formats.registry import ClockRule, Progress
from powertui.data.formats.source import Source
from powertui.data.model import Trace

NAME = "trace_json"
SUFFIXES = ("trace.json.gz", "trace.json")
CLOCK = ClockRule(batch_ns=(-1_000_000_000, 50_000_000))  # TF 2.2 saves the profile and writes `batch_<N>` then

WRITERS_LIMIT = 1_000_000  # TensorFlow drops events beyond so many when it writes this format
FAR_US = 3.6e9  # a first ts beyond this (an hour) counts from something else than a session's start: from the machine's boot, say

_FOREIGN = (*PYTORCH, b'"neuronStartTimestampNs"')
# Phases that are no stretch of time on a thread: counters, flows, async spans, object snapshots, samples.
_OTHER_PHASES = {
    "s": "flow arrows", "t": "flow arrows", "f": "flow arrows", "T": "steps of async spans", "p": "steps of async spans",
    "N": "object snapshots",
    "O": "object snapshots", "D": "object snapshots", "P": "samples", "v": "memory dumps", "V": "memory dumps",
    "R": "marks", "c": "clock marks", "(": "contexts", ")": "contexts",
}  # fmt: skip


# Spans that may overlap on their thread: paired by category and id. `S` and `F` are the old way to write them.
_ASYNCHRONOUS = {"b": "begin", "e": "end", "n": "instant", "S": "begin", "F": "end"}


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


class _Collector:
    """Sorts events of the stream to their threads."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.stats, self.names = ArgStats(), PairNames()
        self.threads: dict[tuple[Any, Any], Thread] = {}
        self.processes: dict[Any, str] = {}
        self.base_us = math.nan  # the ts that is the trace's zero: 0 where times count from the session's start
        self.origin_ns: int | None = None  # where the file says that its ts count from, in Unix ns
        self.count = 0
        self.last = 0.0
        self.readings = Readings()
        self._begun: dict[tuple[Any, str, str], list[int]] = {}  # rows of async begins that wait, by pid, line and id
        self.own: OwnExport | None = None  # where powertui itself wrote the file

    @property
    def memory(self) -> int:
        """About how many bytes all of it takes."""
        return (
            self.stats.memory
            + EVENT_BYTES * self.count
            + BYTES * self.readings.count
            + OBJECT_BYTES * (len(self.names) + 4 * len(self.threads) + len(self.processes))
        )

    def add(self, event: Any, stream: JsonStream) -> None:
        """One item of the list. What it may hold is anybody's guess."""
        if not isinstance(event, dict):
            self.builder.findings.add("items that are not events were left out")
            return
        phase = event.get("ph")
        try:
            if self.own is not None and self.own.add(event):
                return
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
            elif phase in _ASYNCHRONOUS:
                self._asynchronous(event, _ASYNCHRONOUS[phase], stream)
            elif phase == "C":
                self.readings.add(event)
            elif phase in _OTHER_PHASES:
                self.builder.findings.add(f"{_OTHER_PHASES[phase]} are not drawn (ph {phase})")
            elif event:  # the last item is an empty object, against the trailing comma
                self.builder.findings.add("items of unknown phase were left out")
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            self.builder.findings.add("events without a usable ts, dur, pid or tid were left out")

    def _thread(self, event: dict[str, Any]) -> Thread:
        key = (event.get("pid"), event.get("tid"))
        thread = self.threads.get(key)
        if thread is None:
            thread = self.threads[key] = Thread()
        return thread

    def _span(self, event: dict[str, Any], ts: float, dur: float, stream: JsonStream, thread: Thread | None = None) -> Thread:
        thread = self._thread(event) if thread is None else thread
        if self.base_us != self.base_us and math.isfinite(ts):
            self.base_us = float(math.floor(ts)) if FAR_US < ts < UNIX_US[1] else 0.0
        args = event.get("args")
        position, full = 0, ""
        name = event.get("name")
        name = name if isinstance(name, str) else as_text(name) if name is not None else ""
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

    def _asynchronous(self, event: dict[str, Any], what: str, stream: JsonStream) -> None:
        """All of one category on one line, which packs what overlaps into lanes."""
        category = clean(as_text(event.get("cat", "")))
        key = (event.get("pid"), f"{category or 'spans'} (asynchronous)")
        thread = self.threads.get(key)
        if thread is None:
            thread = self.threads[key] = Thread()
            thread.label = key[1]
        ts = float(event["ts"])
        if what == "end":
            self._closed(thread, self._begun.get((*key, _identity(event)), []), ts)
            return
        self._span(event, ts, math.nan if what == "begin" else 0.0, stream, thread)
        if what == "begin":
            self._begun.setdefault((*key, _identity(event)), []).append(len(thread.ts) - 1)

    def _end(self, event: dict[str, Any], ts: float) -> None:
        thread = self._thread(event)
        self._closed(thread, thread.open, ts)

    def _closed(self, thread: Thread, begun: list[int], ts: float) -> None:
        """The last one that began ends."""
        if not begun:
            self.builder.findings.add("ends (ph E) without a begin were left out")
            return
        row = begun.pop()
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

    def member(self, key: str, value: Any) -> None:
        """Something that stands beside the events."""
        if key == "baseTimeNanoseconds" and str(value).isdecimal() and len(str(value)) < 20 and int(value) < UNIX_US[1] * 1000:
            self.origin_ns = int(value)
        elif key == "otherData":
            self.own = OwnExport.of(value)

    def build(self, source: Source, *, complete: bool) -> Trace:
        """The trace of what came so far."""
        # Each part is built from its own columns: a Trace that was handed out never changes.
        builder = TraceBuilder(source.path, NAME, size=source.size, host=self.builder.host)
        builder.findings = self.builder.findings if complete else builder.findings
        base = self._base()
        builder.clock = clock_of(base, self.origin_ns)
        if self.own is not None:
            builder.clock, builder.host = self.own.clock, self.own.host or builder.host
            try:
                builder.told = self.own.training()
            except (ValueError, OverflowError):
                builder.findings.add("the steps that powertui wrote into this file are damaged: they were found anew")
        waiting: dict[tuple[Any, Any], list[int]] = {}
        for (owner, label, _), rows in self._begun.items():
            waiting.setdefault((owner, label), []).extend(rows)
        pids = list(dict.fromkeys([*self.processes, *(pid for pid, _ in self.threads)]))
        for pid in pids:
            process = builder.process(self.processes.get(pid) or f"process {pid}", (), self.stats)
            for (owner, tid), thread in self.threads.items():
                if owner != pid or not len(thread.ts):
                    continue
                open_rows = [*thread.open, *waiting.get((owner, tid), ())]
                for row in open_rows:
                    thread.dur[row] = max(self.last - thread.ts[row], 0.0)
                line, bad = thread.line(base)
                builder.findings.add("events at impossible times were left out", count=bad)
                process.add(number_of(tid), thread.label, line)
                if open_rows:
                    builder.findings.add("begins (ph B) without an end were extended to the end of the trace", count=len(open_rows))
        self.readings.build(builder, base, self.processes)
        if complete and self.count == WRITERS_LIMIT:
            builder.findings.add("has exactly the million events that TensorFlow's writer keeps: the rest may be missing")
        return builder.build(self.names, complete=complete, warnings=source.warnings)

    def _base(self) -> float:
        if math.isnan(self.base_us):  # counters alone
            first = self.readings.first_us
            return float(math.floor(first)) if FAR_US < first < UNIX_US[1] else 0.0
        return self.base_us


def _identity(event: dict[str, Any]) -> str:
    """What an async event shares with its begin."""
    return as_text(event.get("id2") or event.get("id", "")) + as_text(event.get("scope", ""))


def load(source: Source, progress: Progress) -> Iterator[Trace]:
    """Partial traces as they grow, the whole one last."""
    return read(source, progress, _Collector(TraceBuilder(source.path, NAME, size=source.size)))
