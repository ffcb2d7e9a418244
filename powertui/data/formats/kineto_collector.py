"""Sorts the events of `kineto`: by thread of the host, and by stream of a device."""

from __future__ import annotations

import math
from abc import abstractmethod
from pathlib import PurePath
from typing import Any

import numpy as np

from powertui.data.formats import filenames, json_flows, kineto_memory, kineto_window
from powertui.data.formats.builder import TraceBuilder
from powertui.data.formats.hardware_counters import counter_unit
from powertui.data.formats.json_args import ArgText
from powertui.data.formats.json_batch import CAT, DEVICE, PID, STREAM, TID, EventBatch, Tokens
from powertui.data.formats.json_batch import NAME as TITLE
from powertui.data.formats.json_collector import ThreadCollector
from powertui.data.formats.json_events import (
    add_until_origin,
    decoded_events,
)
from powertui.data.formats.json_stats import clean, event_name, stat
from powertui.data.formats.json_threads import (
    ThreadEvents,
    distinct_rows,
    give_to_threads,
)
from powertui.data.formats.json_times import Origin, in_reach
from powertui.data.formats.kineto_names import (
    ANNOTATIONS,
    DROPPED,
    FRAMES,
    HOST,
    SYNCHRONIZATION,
    WORK,
    CategoryNames,
    LaunchStats,
    category_of,
    device_number,
    device_stats,
    kind_of,
)
from powertui.data.formats.launch_facts import LaunchFacts
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Int64s, Stat, Trace

DIGITS = 3  # decimals of a µs

_RANGE = "cuda_profiler_range"
_LINE_SUFFIXES = {WORK: "", ANNOTATIONS: "annotations", SYNCHRONIZATION: "synchronisation"}
_NOT_DRAWN = {
    "b": "async spans are not drawn (ph b)",
    "B": "begin events without an end event (ph B) were left out",
}


class KinetoCollector(ThreadCollector):
    """Sorts the events of the stream to threads of the host and streams of devices."""

    def __init__(self, builder: TraceBuilder, text: ArgText | None = None) -> None:
        super().__init__(builder, LaunchStats(text), Origin(DIGITS))
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
        line_count = len(self.host) + len(self.device)
        return of_marks + self._memory(len(self.names), line_count)

    # ── what comes ──

    def take(self, batch: EventBatch, tokens: Tokens) -> None:
        """Some plain events at once."""
        batch = add_until_origin(self, batch)
        if not len(batch):
            return
        self._note_categories(tokens)
        category = batch.member[CAT]
        table = np.array([*self._kinds, HOST], np.int64)  # the last for events without a category
        kind = table[category]
        spans = (batch.phase == ord("X")) & batch.timed
        is_dropped = kind == DROPPED
        rows = np.flatnonzero(spans & ~is_dropped)
        if len(rows):
            self._spans(batch, rows, kind, tokens)
        self._take_windows(batch, np.flatnonzero(spans & is_dropped), tokens)
        if self._ranges:
            is_range = np.isin(category, self._ranges)
            ranged = np.flatnonzero(spans & is_range)
            for event, _ in decoded_events(batch, ranged):
                self._range(event)
        is_flow_end = self._take_flow_ends(batch, tokens)
        others = np.flatnonzero(~spans & ~is_flow_end)
        for event, text in decoded_events(batch, others):
            self.add(event, text)

    def _note_categories(self, tokens: Tokens) -> None:
        """Look up what the categories of new tokens mean."""
        for number in range(len(self._kinds), len(tokens)):
            category = category_of(tokens[number])
            self._kinds.append(kind_of(category))
            if category == _RANGE:
                self._ranges.append(number)

    def _spans(self, batch: EventBatch, rows: Int64s, kind: Int64s, tokens: Tokens) -> None:
        rows, start = in_reach(batch, rows, self.origin, self.builder.findings)
        kind = kind[rows]
        us = batch.us[rows]
        usable_us = us[us >= 0]
        if len(usable_us):
            self.first_us = min(self.first_us, float(usable_us.min()))
        member = batch.member
        # Host events may have such arguments too, but only work on a device has a device and a
        # stream.
        on_host = kind <= FRAMES
        places, place_of = distinct_rows(
            kind,
            member[PID][rows],
            member[TID][rows],
            np.where(on_host, -1, member[DEVICE][rows]),
            np.where(on_host, -1, member[STREAM][rows]),
        )
        threads = []
        for place_kind, *numbers in places:
            words = [tokens[number] for number in numbers]
            threads.append(self._thread_or_none(place_kind, words))
        # Several places may be one thread: its events go there together, in their order.
        index_of = {id(thread): index for index, thread in enumerate(threads)}
        thread_of_place = [index_of[id(thread)] for thread in threads]
        thread_of = np.array(thread_of_place, np.int64)[place_of]
        usable, beyond = self._usable(threads, thread_of)
        self.quota.left_out += int(beyond.sum())
        pairs, pair_of = distinct_rows(member[CAT][rows], member[TITLE][rows])
        names = np.array([self._name_index(pair, tokens) for pair in pairs], np.uint32)
        whole_ns = (batch.length[rows] + 500) // 1000  # as they are written
        give_to_threads(
            threads,
            thread_of,
            start=start,
            duration=whole_ns * 1000,
            name=names[pair_of],
            position=batch.args[rows].astype(np.uint64),
        )
        self.count += int((usable & ~beyond).sum())

    def _take_windows(self, batch: EventBatch, rows: Int64s, tokens: Tokens) -> None:
        """What says how long the profiler recorded."""
        window_rows = []
        titles = batch.member[TITLE][rows]
        for row, title in zip(rows.tolist(), titles.tolist(), strict=True):
            if title >= 0 and kineto_window.is_window(tokens[title]):
                window_rows.append(row)
        if window_rows:
            rows = np.array(window_rows, np.int64)
            rows, start = in_reach(batch, rows, self.origin, self.builder.findings)
            self.window.take(start, batch.length[rows])

    @abstractmethod
    def build(self, source: OpenedFile, *, complete: bool) -> Trace:
        """The trace of what came so far."""

    def _name_index(self, pair: tuple[int, ...], tokens: Tokens) -> int:
        """The index of a (category, name), by tokens, which mean the same in every batch."""
        index = self._names_of.get(pair)
        if index is not None:
            return index
        category, name = (tokens[number] for number in pair)
        if not isinstance(name, str):
            name = ""
        index = self.names.name_number(category_of(category), name)
        self._names_of[pair] = index
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
        device_of_work = device_number(device, pid)
        place = (device_of_work, device_number(stream, tid), _LINE_SUFFIXES[kind])
        thread = self.device.get(place)
        if thread is None:
            if not self.quota.admits(("device", device_of_work)):
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
            moment = self.origin.ps(float(event["ts"]), raw)
            self.flows.put(event, moment)
        elif phase in _NOT_DRAWN:
            self.builder.findings.add(_NOT_DRAWN[phase])

    def _span(self, event: dict[str, Any], raw: str) -> None:
        category = category_of(event.get("cat"))
        kind = kind_of(category)
        is_dropped = kind == DROPPED
        if is_dropped and not kineto_window.is_window(event.get("name")):
            return
        ts = float(event["ts"])
        start = self.origin.ps(ts, raw)
        length = self.origin.length(float(event.get("dur") or 0.0))
        if is_dropped:
            self.window.take(np.array([start]), np.array([length]))
            return
        self._note_first(ts)
        args = event.get("args")
        if not isinstance(args, dict):
            args = {}
        thread = self._thread(
            kind,
            pid=event.get("pid"),
            tid=event.get("tid"),
            device=args.get("device"),
            stream=args.get("stream"),
        )
        if category == _RANGE:
            self._range(event)
        name = self.names.name_number(category, event_name(event))
        position = self.stats.add(args, raw) if args else 0
        thread.add(start, length, name, position)
        self.count += 1

    def _note_first(self, ts: float) -> None:
        """Keep the earliest time, in µs."""
        if 0 <= ts < self.first_us:
            self.first_us = ts

    def _range(self, event: dict[str, Any]) -> None:
        """What CUPTI's range profiler counted over a kernel, as readings.

        The profiler knows the order of its ranges and not their times, which are made up: so they
        are no work of the device.
        """
        args = event.get("args")
        if not isinstance(args, dict):
            return
        pid = clean(str(event.get("pid")))[:20]
        process = f"GPU {pid} (range profiler)"
        for metric, value in args.items():
            if "__" not in metric or not isinstance(value, (int, float)):
                continue
            self.readings.put(
                process,
                metric,
                counter_unit(metric),
                float(event["ts"]),
                float(value),
            )
            self.ranged[process] = process

    def _take_allocation(self, event: dict[str, Any]) -> None:
        """A mark of the allocator: the bytes that one call took or freed."""
        ts = float(event["ts"])
        moment = self.origin.ps(ts)  # raises for a time that cannot be
        self.marks.take(event, moment, self.readings)
        self._note_first(ts)

    def member(self, key: str, value: Any) -> None:
        """A member of the file beside its events."""
        super().member(key, value)
        self.launch_facts.member(key, value)
        if key == "deviceProperties" and isinstance(value, list):
            for device in value:
                number = device.get("id") if isinstance(device, dict) else None
                if isinstance(number, int):
                    self.devices[number] = device_stats(device)
        elif key == "distributedInfo" and isinstance(value, dict):
            for name, fact in value.items():
                if isinstance(fact, (str, int, float)):
                    self.about += (stat(clean(name), fact),)
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
        pids = set()
        for pid, _, is_python in self.host:
            # Python's frames may carry the number of a GPU as their process id.
            if not is_python:
                pids.add(str(pid))
        is_only_candidate = writer.timed and not pids
        if is_only_candidate or str(writer.pid) in pids:
            return writer.host
        return ""
