"""The events of `kineto`: what ran on the host, and on which device and stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from powertui.data.formats import filenames, json_flows, kineto_memory, kineto_window
from powertui.data.formats.builder import ProcessBuilder, TraceBuilder
from powertui.data.formats.hardware_counters import counter_unit
from powertui.data.formats.json_args import ArgText
from powertui.data.formats.json_batch import CAT, DEVICE, PID, STREAM, TID, EventBatch, Tokens
from powertui.data.formats.json_batch import NAME as TITLE
from powertui.data.formats.json_collector import ThreadCollector
from powertui.data.formats.json_events import (
    add_until_origin,
    arg_text,
    decoded_events,
    read,
)
from powertui.data.formats.json_stats import clean, event_name, stat
from powertui.data.formats.json_threads import (
    ThreadEvents,
    distinct_rows,
    give_to_threads,
    thread_number,
)
from powertui.data.formats.json_times import Origin, clock_of, in_reach
from powertui.data.formats.kineto_names import (
    ANNOTATIONS,
    DROPPED,
    FRAMES,
    HOST,
    SYNCHRONIZATION,
    WORK,
    ZERO,
    CategoryNames,
    LaunchStats,
    category_of,
    device_number,
    device_stats,
    kind_of,
)
from powertui.data.formats.launch_facts import LaunchFacts
from powertui.data.formats.makers import is_aiu, process_name
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_US, Int64s, Stat, Trace, Track

_DIGITS = 3  # decimals of a µs

_RANGE = "cuda_profiler_range"
_LINE_SUFFIXES = {WORK: "", ANNOTATIONS: "annotations", SYNCHRONIZATION: "synchronisation"}
_NOT_DRAWN = {
    "b": "async spans are not drawn (ph b)",
    "B": "begin events without an end event (ph B) were left out",
}


# Adds a thread's events to a process as a line: (process, key, label, thread).
_PutThread = Callable[[ProcessBuilder, int, str, ThreadEvents], None]


class _Collector(ThreadCollector):
    """Sorts the events of the stream to threads of the host and streams of devices."""

    def __init__(self, builder: TraceBuilder, text: ArgText | None = None) -> None:
        super().__init__(builder, LaunchStats(text), Origin(_DIGITS))
        self.names = CategoryNames()
        self._kinds: list[int] = []  # of each category, by its token
        self._ranges: list[int] = []  # tokens of the category of CUPTI's ranges
        self._names_of: dict[tuple[int, ...], int] = {}
        # By pid, tid, and whether they are Python's frames.
        self.host: dict[tuple[Any, Any, bool], ThreadEvents] = {}
        # By device, stream, and what is drawn beside its work.
        self.device: dict[tuple[int, int, str], ThreadEvents] = {}
        self.devices: dict[int, tuple[Stat, ...]] = {}  # the properties of each
        self.launch_facts = LaunchFacts()  # they may come after all events
        self.about: tuple[Stat, ...] = ()  # facts of the run: rank, world size, versions
        self.first_us = math.inf  # the earliest ts: the trace's zero
        self.ranged: dict[Any, str] = {}  # the devices that a range profiler counted on
        self.marks = kineto_memory.AllocatorMarks()
        self.window = kineto_window.ProfilerWindow()

    @property
    def memory(self) -> int:
        """About how many bytes all of it takes."""
        of_marks = kineto_memory.MARK_BYTES * len(self.marks)
        return of_marks + self._memory(len(self.names), len(self.host) + len(self.device))

    # ── what comes ──

    def take(self, batch: EventBatch, tokens: Tokens) -> None:
        """Some plain events at once."""
        batch = add_until_origin(self, batch)
        if not len(batch):
            return
        for number in range(len(self._kinds), len(tokens)):
            category = category_of(tokens[number])
            self._kinds.append(kind_of(category))
            if category == _RANGE:
                self._ranges.append(number)
        table = np.array([*self._kinds, HOST], np.int64)  # the last for events without a category
        kind = table[batch.member[CAT]]
        spans = (batch.phase == ord("X")) & batch.timed
        rows = np.flatnonzero(spans & (kind != DROPPED))
        if len(rows):
            self._spans(batch, rows, kind, tokens)
        self._take_windows(batch, np.flatnonzero(spans & (kind == DROPPED)), tokens)
        if self._ranges:
            ranged = spans & np.isin(batch.member[CAT], self._ranges)
            for event, _ in decoded_events(batch, np.flatnonzero(ranged)):
                self._range(event)
        is_flow_end = self._take_flow_ends(batch, tokens)
        for event, text in decoded_events(batch, np.flatnonzero(~spans & ~is_flow_end)):
            self.add(event, text)

    def _spans(self, batch: EventBatch, rows: Int64s, kind: Int64s, tokens: Tokens) -> None:
        rows, start = in_reach(batch, rows, self.origin, self.builder.findings)
        kind = kind[rows]
        us = batch.us[rows]
        usable_us = us[us >= 0]
        if len(usable_us):
            self.first_us = min(self.first_us, float(usable_us.min()))
        # Host events may have such arguments too, but only work on a device has a device and a
        # stream.
        on_host = kind <= FRAMES
        pid, tid, device, stream = (batch.member[key][rows] for key in (PID, TID, DEVICE, STREAM))
        device = np.where(on_host, -1, device)
        stream = np.where(on_host, -1, stream)
        places, place_of = distinct_rows(kind, pid, tid, device, stream)
        threads = [
            self._thread_or_none(place_kind, [tokens[number] for number in numbers])
            for place_kind, *numbers in places
        ]
        # Several places may be one thread: its events go there together, in their order.
        index_of = {id(thread): index for index, thread in enumerate(threads)}
        thread_of = np.array([index_of[id(thread)] for thread in threads], np.int64)[place_of]
        usable, beyond = self._usable(threads, thread_of)
        self.quota.left_out += int(beyond.sum())
        pairs, pair_of = distinct_rows(batch.member[CAT][rows], batch.member[TITLE][rows])
        names = np.array([self._name_index(pair, tokens) for pair in pairs], np.uint32)
        give_to_threads(
            threads,
            thread_of,
            start=start,
            duration=(batch.length[rows] + 500) // 1000 * 1000,  # whole ns, as they are written
            name=names[pair_of],
            position=batch.args[rows].astype(np.uint64),
        )
        self.count += int((usable & ~beyond).sum())

    def _take_windows(self, batch: EventBatch, rows: Int64s, tokens: Tokens) -> None:
        """What says how long the profiler recorded."""
        titles = batch.member[TITLE][rows].tolist()
        is_window = [title >= 0 and kineto_window.is_window(tokens[title]) for title in titles]
        rows = rows[np.array(is_window, np.bool_)]
        if len(rows):
            rows, start = in_reach(batch, rows, self.origin, self.builder.findings)
            self.window.take(start, batch.length[rows])

    def _name_index(self, pair: tuple[int, ...], tokens: Tokens) -> int:
        """The index of a (category, name), by tokens, which mean the same in every batch."""
        index = self._names_of.get(pair)
        if index is None:
            category, name = (tokens[number] for number in pair)
            if not isinstance(name, str):
                name = ""
            index = self._names_of[pair] = self.names.name_number(category_of(category), name)
        return index

    def _thread(self, kind: int, pid: Any, tid: Any, device: Any, stream: Any) -> ThreadEvents:
        if kind <= FRAMES:
            line = (pid, tid, kind == FRAMES)
            thread = self.host.get(line)
            if thread is None:
                if not self.quota.admits(pid):
                    return self._beyond
                thread = self.host[line] = ThreadEvents()
            return thread
        place = (device_number(device, pid), device_number(stream, tid), _LINE_SUFFIXES[kind])
        thread = self.device.get(place)
        if thread is None:
            if not self.quota.admits(("device", place[0])):
                return self._beyond
            thread = self.device[place] = ThreadEvents()
        return thread

    def _thread_or_none(self, kind: int, place: list[Any]) -> ThreadEvents | None:
        pid, tid, device, stream = place
        try:
            return self._thread(kind, pid, tid, device, stream)
        except TypeError:  # a list as a pid
            return None

    def _add(self, event: dict[str, Any], phase: Any, raw: str) -> None:
        if phase == "X":
            self._span(event, raw)
        elif phase == "M":
            self._name_process_or_thread(event)
        elif phase in ("i", "I"):
            if event.get("name") == "[memory]":
                self._take_allocation(event)
        elif phase == "C":
            self.readings.add(event)
        elif phase in json_flows.PHASES:
            self.flows.put(event, self.origin.ps(float(event["ts"]), raw))
        elif phase in _NOT_DRAWN:
            self.builder.findings.add(_NOT_DRAWN[phase])

    def _span(self, event: dict[str, Any], raw: str) -> None:
        category = category_of(event.get("cat"))
        kind = kind_of(category)
        if kind == DROPPED and not kineto_window.is_window(event.get("name")):
            return
        ts = float(event["ts"])
        start = self.origin.ps(ts, raw)
        length = self.origin.length(float(event.get("dur") or 0.0))
        if kind == DROPPED:
            self.window.take(np.array([start]), np.array([length]))
            return
        if 0 <= ts < self.first_us:
            self.first_us = ts
        args = event.get("args")
        if not isinstance(args, dict):
            args = {}
        thread = self._thread(
            kind, event.get("pid"), event.get("tid"), args.get("device"), args.get("stream")
        )
        if category == _RANGE:
            self._range(event)
        name = self.names.name_number(category, event_name(event))
        if args:
            position = self.stats.add(args, raw)
        else:
            position = 0
        thread.add(start, length, name, position)
        self.count += 1

    def _range(self, event: dict[str, Any]) -> None:
        """What CUPTI's range profiler counted over a kernel, as readings.

        The profiler knows the order of its ranges and not their times, which are made up: so they
        are no work of the device.
        """
        args = event.get("args")
        process = f"GPU {clean(str(event.get('pid')))[:20]} (range profiler)"
        for metric, value in args.items() if isinstance(args, dict) else ():
            if "__" in metric and isinstance(value, (int, float)):
                unit = counter_unit(metric)
                self.readings.put(process, metric, unit, float(event["ts"]), float(value))
                self.ranged[process] = process

    def _take_allocation(self, event: dict[str, Any]) -> None:
        """A mark of the allocator: the bytes that one call took or freed."""
        ts = float(event["ts"])
        at = self.origin.ps(ts)  # raises for a time that cannot be
        self.marks.take(event, at, self.readings)
        if 0 <= ts < self.first_us:
            self.first_us = ts

    def member(self, key: str, value: Any) -> None:
        """A member of the file beside its events."""
        super().member(key, value)
        self.launch_facts.member(key, value)
        if key == "deviceProperties" and isinstance(value, list):
            for device in value:
                if isinstance(device, dict) and isinstance(device.get("id"), int):
                    self.devices[device["id"]] = device_stats(device)
        elif key == "distributedInfo" and isinstance(value, dict):
            self.about += tuple(
                stat(clean(name), fact)
                for name, fact in value.items()
                if isinstance(fact, (str, int, float))
            )
        elif key.endswith("_version") and isinstance(value, (str, int)):
            self.about += (stat(clean(key), value),)

    # ── what it comes to ──

    def machine(self, path: str) -> str:
        """The host that the process ran on; "" where nothing says so.

        As the trace says, else HOST of a file named HOST_PID whose process this is, else the node
        of its job.
        """
        for name in self.launch_facts.host_names:
            if not name.casefold().startswith("localhost"):
                return name
        return self._writer_host(path) or self.launch_facts.node_name

    def _writer_host(self, path: str) -> str:
        writer = filenames.trace_writer(PurePath(path).name)
        if writer is None:
            return ""
        # Python's frames may carry the number of a GPU as their process id.
        pids = {str(pid) for pid, _, frames in self.host if not frames}
        is_writer = str(writer.pid) in pids or (writer.timed and not pids)
        return writer.host if is_writer else ""

    def build(self, source: OpenedFile, *, complete: bool) -> Trace:
        """The trace of what came so far."""
        builder = self._new_builder(source, complete=complete)
        base_us = float(self.origin.us or 0)
        if math.isfinite(self.first_us):
            base_us = float(math.floor(self.first_us))
        recorded = self._recorded()
        if recorded is not None and self.origin.us is not None:
            base_us = min(base_us, float(self.origin.us + recorded[0] // PS_PER_US))
        builder.clock = clock_of(base_us, self.counts_from)
        builder.machine = self.machine(source.path)
        builder.launch = self.launch_facts.launch
        shift_ps = 0
        if self.origin.us is not None:
            shift_ps = (int(base_us) - self.origin.us) * PS_PER_US

        if recorded is not None:
            builder.saw(recorded[0] - shift_ps, recorded[1] - shift_ps)

        tracks: dict[ThreadEvents, Track | None] = {}

        def put(process: ProcessBuilder, key: int, label: str, thread: ThreadEvents) -> None:
            tracks[thread] = process.add(key, label, thread.line(shift_ps, 0, final=complete))

        self._build_devices(builder, put)
        self._build_hosts(builder, put, base_us)
        if complete:
            self.quota.say(builder.findings)
        lines = []
        for place in self.flows.lines:
            thread = self._flow_thread(place)
            lines.append(tracks.get(thread) if thread is not None else None)
        builder.draw(self.flows.arrows(shift_ps), lines)
        processes = {**self.processes, **self.ranged, "memory": "memory"}
        self.readings.build(builder, base_us, processes, _DIGITS)
        trace = builder.build(self.names, complete=complete, warnings=source.warnings)
        if not complete:
            return trace
        if len(self.marks):
            logs = self.marks.logs(trace, shift_ps, tracks, self.host)
            trace = replace(trace, allocators=logs)
        if not any(is_aiu(stats) for stats in self.devices.values()):
            return trace
        from powertui.data.formats import aiu_power

        return aiu_power.with_power(trace)

    def _recorded(self) -> tuple[int, int] | None:
        """From when to when the profiler recorded, ps from the origin; None where that is not
        known.
        """
        threads = [*self.host.values(), *self.device.values()]
        spans = [thread.span() for thread in threads if len(thread.start)]
        if not self.window or not spans:
            return None
        return self.window.span_with(
            min(first for first, _ in spans),
            max(last for _, last in spans),
            (self.names.full(index) for index in range(len(self.names))),
            with_device=bool(self.device),
        )

    def _build_devices(self, builder: TraceBuilder, put: _PutThread) -> None:
        """Each device as a process, with its streams as lines."""
        streams: dict[int, list[tuple[int, str, ThreadEvents]]] = {}
        for (device, stream, what), thread in self.device.items():
            streams.setdefault(device, []).append((stream, what, thread))
        # A process that sees one device of several calls it 0 in its properties, and by its real
        # number in its work.
        only: tuple[Stat, ...] = ()
        if len(self.devices) == len(streams) == 1:
            only = next(iter(self.devices.values()))
        for device in sorted(streams):
            stats = self.devices.get(device, only)
            kind = "AIU" if is_aiu(stats) else "GPU"
            process = builder.process(f"/device:{kind}:{device}", stats, self.stats)
            for stream, what, thread in streams[device]:
                # A name with " - from #" is that of a line drawn from the work of another one.
                if what:
                    label = f"{what} - from #{stream}"
                else:
                    label = f"Stream #{stream}"
                put(process, stream, label, thread)

    def _build_hosts(self, builder: TraceBuilder, put: _PutThread, base_us: float) -> None:
        """Each process of the host, with its threads as lines."""
        zero = Stat(ZERO, round(base_us), "int64")
        threads_by_pid: dict[Any, list[tuple[Any, bool, ThreadEvents]]] = {}
        for (pid, tid, is_python), thread in self.host.items():
            threads_by_pid.setdefault(pid, []).append((tid, is_python, thread))
        for pid, threads in threads_by_pid.items():
            # Some writers give kernels no category: their process is named like a device.
            name = process_name(self.processes.get(pid, ""))
            if not name.startswith("/device:"):
                name = "/host:CPU"
                if len(threads_by_pid) > 1:
                    name += f" {self.processes.get(pid) or 'process'} {pid}"
            process = builder.process(name, (*self.about, zero), self.stats)
            for tid, is_python, thread in threads:
                label = self.labels.get((pid, tid)) or f"thread {tid}"
                if is_python:
                    label += " Python"
                put(process, thread_number(tid), label, thread)

    def _flow_thread(self, place: Any) -> ThreadEvents | None:
        """What a flow means by (pid, tid); None for nothing.

        A thread of the host, else a stream of a device, else Python's frames.
        """
        if not isinstance(place, tuple):
            return None
        pid, tid = place
        thread = self.host.get((pid, tid, False))
        if thread is None:
            stream = (device_number(None, pid), device_number(None, tid), "")
            thread = self.device.get(stream)
        if thread is None:
            thread = self.host.get((pid, tid, True))
        return thread


def load(source: OpenedFile, progress: Progress, name: str) -> Iterator[Trace]:
    """Partial traces as they grow, the complete one last. `name` is that of the format."""
    return read(
        source,
        progress,
        lambda: _Collector(TraceBuilder(source.path, name, size=source.size), arg_text(source)),
    )
