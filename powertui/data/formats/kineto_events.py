"""The events of `kineto`: what ran on the host, what on which device and stream, and what started
it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from powertui.data.formats import filenames, flow_ends, json_flows, stat_columns
from powertui.data.formats.builder import LineQuota, ProcessBuilder, TraceBuilder
from powertui.data.formats.json_args import ArgText
from powertui.data.formats.json_batch import CAT, DEVICE, PID, STREAM, TID, EventBatch, Tokens
from powertui.data.formats.json_batch import NAME as TITLE
from powertui.data.formats.json_counters import BYTES, CounterReadings
from powertui.data.formats.json_events import (
    EVENT_BYTES,
    OBJECT_BYTES,
    arg_text,
    add_until_origin,
    read,
    decoded_events,
)
from powertui.data.formats.json_flows import JsonFlows
from powertui.data.formats.json_stats import ArgStats, PairNames, as_text, clean, stat
from powertui.data.formats.json_threads import LeftOut, ThreadEvents, distinct_rows, thread_number, give_to_threads
from powertui.data.formats.json_times import IMPOSSIBLE, Impossible, Origin, clock_of, in_reach
from powertui.data.formats.makers import TimeOrigin, origin_of, process_name
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_US, Int64s, Stat, StatColumn, Trace, Track, UInt64s

_DIGITS = 3  # decimals of a µs
_LONGEST_NAME = 255  # characters of a host name, as DNS allows

# By category, in lower case: releases before 2022 write `Kernel`, `Memcpy`, `Operator`, `Runtime`.
DEVICE_WORK = frozenset(
    (
        "kernel",
        "gpu_memcpy",
        "gpu_memset",
        "memcpy",
        "memset",
        "mtia_ccp_events",
        "hpu_op",
        "privateuse1_kernel",
    )
)
DEVICE_COPIES = frozenset(
    ("gpu_user_annotation", "cuda_sync")
)  # drawn, but no work of the device's
_PYTHON = "python_function"
_SYNTHETIC = frozenset(("trace",))  # the profiling window itself
# a stat of the host: what was written as `ts` where the trace begins
ZERO = "ts of the trace's zero (us)"
_PROPERTIES = {
    "name": "device_name"
}  # of a device, under the names that the rest of the program asks for
_DROPPED, _HOST, _FRAMES, _WORK, _ANNOTATIONS, _SYNCHRONISATION = range(
    6
)  # what an event is, by its category
_DRAWN = {_WORK: "", _ANNOTATIONS: "annotations", _SYNCHRONISATION: "synchronisation"}
_UNUSABLE = "events without a usable ts, dur, pid or tid were left out"
_NUMBER = re.compile(r"\d+")
_SEPARATE = {
    "b": "async spans are not drawn (ph b)",
    "B": "begins without an end (ph B) were left out",
}


def _category(told: Any) -> str:
    return "" if told is None else str(told).lower()


def _kind(category: str) -> int:
    if category in _SYNTHETIC:
        return _DROPPED
    if category in DEVICE_WORK:
        return _WORK
    if category in DEVICE_COPIES:
        return _ANNOTATIONS if category == "gpu_user_annotation" else _SYNCHRONISATION
    return _FRAMES if category == _PYTHON else _HOST


class _LaunchStats(ArgStats):
    """The `args`, under the names that the rest of the program asks for too.

    A launch and its kernel share a `correlation_id`; how a kernel was launched is told in
    `kernel_details`.
    """

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """As in ArgStats."""
        plain = [_OWN.get(name, name) for name in names if name != "kernel_details"]
        if "kernel_details" not in names:
            found = super().columns(positions, plain)
        else:
            found = super().columns(positions, list(dict.fromkeys((*plain, *_LAUNCH))))
            texts = {name: found[name].texts or () for name in _LAUNCH}
            rows = [
                _details({name: texts[name][row] for name in _LAUNCH})
                for row in range(len(positions))
            ]
            found["kernel_details"] = stat_columns.from_texts(rows)
        return {name: found[_OWN.get(name, name)] for name in names}


_OWN = {"correlation_id": "correlation"}
_LAUNCH = {
    "grid": "grid",
    "block": "block",
    "registers per thread": "regs",
    "shared memory": "static_shared",
    "est. achieved occupancy %": "occ_pct",
}


def _details(args: dict[str, str | None]) -> str | None:
    """In the words of NVIDIA's collector: `regs:32 static_shared:0 grid:4,1,1 block:64,1,1`.

    None for what is no kernel.
    """
    if not args["grid"] or not args["block"]:
        return None
    parts = [
        f"{_LAUNCH[name]}:{value.strip('[]').replace(' ', '')}"
        for name, value in args.items()
        if value
    ]
    return " ".join(parts)


class _CategoryNames(PairNames):
    """Event names, each with the category of its events: one text in two categories is two
    names.
    """

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[tuple[str, str], int] = {}
        self._categories: list[str] = []

    def name_number(self, category: str, name: str) -> int:
        """The index of a name in a category; a new one when it is new."""
        found = self._of.get((category, name))
        if found is None:
            found = self._of[category, name] = self.add(name, name)
            self._categories.append(clean(category))
        return found

    def stats(self, index: int) -> tuple[Stat, ...]:
        """What holds for every event of this name: its category, in small letters ("cpu_op")."""
        return (Stat("cat", self._categories[index], "str"),) if self._categories[index] else ()


class _Collector:
    """Sorts the events of the stream to threads of the host and streams of devices."""

    def __init__(self, builder: TraceBuilder, text: ArgText | None = None) -> None:
        self.builder = builder
        self.stats, self.names = _LaunchStats(text), _CategoryNames()
        self.origin = Origin(_DIGITS)
        self._kinds: list[int] = []  # of each category, by its token
        self._names_of: dict[tuple[int, ...], int] = {}
        self.host: dict[
            tuple[Any, Any, bool], ThreadEvents
        ] = {}  # by pid, tid, and whether they are Python's frames
        self.device: dict[
            tuple[int, int, str], ThreadEvents
        ] = {}  # by device, stream, and what is drawn from its work
        self.quota = LineQuota()
        self._beyond = LeftOut(self.quota)  # every thread and stream that is not read
        self.processes: dict[Any, str] = {}
        self.labels: dict[tuple[Any, Any], str] = {}
        self.devices: dict[int, tuple[Stat, ...]] = {}  # what is said of each
        self.host_name = ""  # the machine's, which may stand behind all events
        self.about: tuple[Stat, ...] = ()  # what is said of the run: rank, world size, versions
        self.first_us = math.inf  # the earliest ts: the trace's zero
        self.readings = CounterReadings()
        self.flows = JsonFlows()
        self.held: dict[str, float] = {}  # bytes since the start, by device
        self.counts_from: TimeOrigin | None = None
        self.count = 0

    @property
    def memory(self) -> int:
        """About how many bytes all of it takes."""
        return (
            self.stats.memory
            + EVENT_BYTES * self.count
            + BYTES * self.readings.count
            + flow_ends.BYTES * len(self.flows)
            + OBJECT_BYTES
            * (
                len(self.names)
                + 4 * (len(self.host) + len(self.device))
                + len(self.processes)
                + len(self.labels)
            )
        )

    # ── what comes ──

    def take(self, batch: EventBatch, tokens: Tokens) -> None:
        """Some plain events at once."""
        batch = add_until_origin(self, batch)
        if not len(batch):
            return
        for number in range(len(self._kinds), len(tokens)):
            self._kinds.append(_kind(_category(tokens[number])))
        table = np.array([*self._kinds, _HOST], np.int64)  # the last for events without a category
        kind = table[batch.member[CAT]]
        spans = (batch.phase == ord("X")) & batch.timed
        rows = np.flatnonzero(spans & (kind != _DROPPED))
        if len(rows):
            self._spans(batch, rows, kind, tokens)
        ends = json_flows.plain_ends(batch)
        self.flows.take(
            batch,
            *in_reach(batch, np.flatnonzero(ends), self.origin, self.builder.findings),
            tokens,
        )
        for event, text in decoded_events(batch, np.flatnonzero(~spans & ~ends)):
            self.add(event, text)

    def _spans(self, batch: EventBatch, rows: Int64s, kind: Int64s, tokens: Tokens) -> None:
        rows, start = in_reach(batch, rows, self.origin, self.builder.findings)
        kind = kind[rows]
        before = batch.us[rows][batch.us[rows] >= 0]
        if len(before):
            self.first_us = min(self.first_us, float(before.min()))
        of_host = kind <= _FRAMES
        pid, tid, device, stream = (batch.member[k][rows] for k in (PID, TID, DEVICE, STREAM))
        # Only work on a device has a device and a stream: not everything that has such an argument
        # does.
        device, stream = np.where(of_host, -1, device), np.where(of_host, -1, stream)
        places, which = distinct_rows(kind, pid, tid, device, stream)
        threads, usable = [], np.ones(len(places), np.bool_)
        for at, (one, *numbers) in enumerate(places):
            try:
                threads.append(self._thread(one, *(tokens[number] for number in numbers)))
            except TypeError:  # a list as a pid
                threads.append(ThreadEvents())
                usable[at] = False
        first_place = {
            id(thread): number for number, thread in enumerate(threads)
        }  # several places may be one thread
        which = np.array([first_place[id(thread)] for thread in threads], np.int64)[which]
        good = usable[which]
        self.builder.findings.add(_UNUSABLE, count=int(len(good) - good.sum()))
        beyond = np.array([thread is self._beyond for thread in threads], np.bool_)[which]
        self.quota.left_out += int(beyond.sum())
        good &= ~beyond
        called, name_of = distinct_rows(batch.member[CAT][rows], batch.member[TITLE][rows])
        index = np.array([self._named(pair, tokens) for pair in called], np.uint32)
        length = (batch.length[rows] + 500) // 1000 * 1000  # whole ns, as they are written
        give_to_threads(threads, which, start, length, index[name_of], batch.args[rows].astype(np.uint64))
        self.count += int(good.sum())

    def _named(self, pair: tuple[int, ...], tokens: Tokens) -> int:
        """The name of a (category, name), both by their tokens, which mean the same in
        every batch.
        """
        found = self._names_of.get(pair)
        if found is None:
            category, name = (tokens[number] for number in pair)
            found = self._names_of[pair] = self.names.name_number(
                _category(category), name if isinstance(name, str) else ""
            )
        return found

    def _thread(self, kind: int, pid: Any, tid: Any, device: Any, stream: Any) -> ThreadEvents:
        if kind <= _FRAMES:
            line = (pid, tid, kind == _FRAMES)
            thread = self.host.get(line)
            if thread is None:
                if not self.quota.admits(pid):
                    return self._beyond
                thread = self.host[line] = ThreadEvents()
            return thread
        place = (_number(device, pid), _number(stream, tid), _DRAWN[kind])
        thread = self.device.get(place)
        if thread is None:
            if not self.quota.admits(("device", place[0])):
                return self._beyond
            thread = self.device[place] = ThreadEvents()
        return thread

    def add(self, event: Any, raw: str) -> None:
        """One item of the list."""
        if not isinstance(event, dict):
            self.builder.findings.add("items that are not events were left out")
            return
        phase = event.get("ph")
        try:
            if phase == "X":
                self._span(event, raw)
            elif phase == "M":
                self._metadata(event)
            elif phase in ("i", "I"):
                if event.get("name") == "[memory]":
                    self._memory(event)
            elif phase == "C":
                self.readings.add(event)
            elif phase in json_flows.PHASES:
                self.flows.put(event, self.origin.ps(float(event["ts"]), raw))
            elif phase in _SEPARATE:
                self.builder.findings.add(_SEPARATE[phase])
        except Impossible:
            self.builder.findings.add(IMPOSSIBLE)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            self.builder.findings.add(_UNUSABLE)

    def _span(self, event: dict[str, Any], raw: str) -> None:
        category = _category(event.get("cat"))
        kind = _kind(category)
        if kind == _DROPPED:
            return
        ts = float(event["ts"])
        start, length = self.origin.ps(ts, raw), self.origin.length(float(event.get("dur") or 0.0))
        if 0 <= ts < self.first_us:
            self.first_us = ts
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        thread = self._thread(
            kind, event.get("pid"), event.get("tid"), args.get("device"), args.get("stream")
        )
        name = event.get("name")
        name = name if isinstance(name, str) else as_text(name) if name is not None else ""
        thread.add(
            start,
            length,
            self.names.name_number(category, name),
            self.stats.add(args, raw) if args else 0,
        )
        self.count += 1

    def _memory(self, event: dict[str, Any]) -> None:
        """A mark of the allocator: what one call took or gave back, and in newer files what is held
        in all.
        """
        args = event["args"]
        if not isinstance(args, dict):
            raise TypeError
        kind, number = args.get("Device Type"), args.get("Device Id")
        device = "CPU" if kind == 0 or (kind is None and number == -1) else f"GPU {number}"
        ts = float(event["ts"])
        self.origin.ps(ts)  # raises for a time that cannot be
        if 0 <= ts < self.first_us:
            self.first_us = ts
        if "Total Allocated" in args:
            self.readings.put(
                "memory", f"allocated {device}", "bytes", ts, float(args["Total Allocated"])
            )
            if "Total Reserved" in args:
                self.readings.put(
                    "memory", f"reserved {device}", "bytes", ts, float(args["Total Reserved"])
                )
            return
        held = self.held[device] = self.held.get(device, 0.0) + float(args["Bytes"])
        self.readings.put("memory", f"allocated {device} since the start", "bytes", ts, held)

    def _metadata(self, event: dict[str, Any]) -> None:
        args = event.get("args")
        label = args.get("name") if isinstance(args, dict) else None
        if not isinstance(label, str):
            return
        if event.get("name") == "process_name":
            self.processes[event.get("pid")] = clean(label)
        elif event.get("name") == "thread_name":
            self.labels[event.get("pid"), event.get("tid")] = clean(label)

    def member(self, key: str, value: Any) -> None:
        """Something that stands beside the events."""
        self.counts_from = origin_of(key, value) or self.counts_from
        if key == "deviceProperties" and isinstance(value, list):
            for one in value:
                if isinstance(one, dict) and isinstance(one.get("id"), int):
                    self.devices[one["id"]] = tuple(
                        stat(_PROPERTIES.get(key, clean(key)), said)
                        for key, said in one.items()
                        if key != "id" and isinstance(said, (str, int, float))
                    )
        elif key == "host_name" and isinstance(value, str):
            self.host_name = clean(value[:_LONGEST_NAME])
        elif key == "distributedInfo" and isinstance(value, dict):
            if isinstance(named := value.get("host_name"), str):
                self.host_name = self.host_name or clean(named[:_LONGEST_NAME])
            self.about += tuple(
                stat(clean(name), said)
                for name, said in value.items()
                if isinstance(said, (str, int, float))
            )
        elif key.endswith("_version") and isinstance(value, (str, int)):
            self.about += (stat(clean(key), value),)

    # ── what it comes to ──

    def machine(self, path: str) -> str:
        """The host that the process ran on: as the trace says, else HOST of a file named HOST_PID
        whose process this is.
        """
        if self.host_name and not self.host_name.casefold().startswith("localhost"):
            return self.host_name
        writer = filenames.trace_writer(PurePath(path).name)
        if writer is None:
            return ""
        # Python's frames may carry the number of a GPU as their process id.
        pids = {str(pid) for pid, _, frames in self.host if not frames}
        return writer.host if str(writer.pid) in pids or (writer.timed and not pids) else ""

    def build(self, source: OpenedFile, *, complete: bool) -> Trace:
        """The trace of what came so far."""
        builder = TraceBuilder(
            source.path, self.builder.format, size=source.size, host=self.builder.host
        )
        builder.findings = self.builder.findings if complete else builder.findings
        base = (
            float(math.floor(self.first_us))
            if math.isfinite(self.first_us)
            else float(self.origin.us or 0)
        )
        builder.clock = clock_of(base, self.counts_from)
        builder.machine = self.machine(source.path)

        shift = (int(base) - (int(base) if self.origin.us is None else self.origin.us)) * PS_PER_US

        lines: dict[Any, Track | None] = {}

        def put(process: ProcessBuilder, key: int, label: str, thread: ThreadEvents) -> None:
            lines[thread] = process.add(key, label, thread.line(shift, 0, final=complete))

        devices = sorted({device for device, _, _ in self.device})
        # A process that sees one device of several calls it 0 where its properties stand, and by
        # its own number in its work.
        only = next(iter(self.devices.values())) if len(self.devices) == len(devices) == 1 else ()
        streams: dict[int, list[tuple[int, str, ThreadEvents]]] = {device: [] for device in devices}
        for (device, stream, what), thread in self.device.items():
            streams[device].append((stream, what, thread))
        for device in devices:
            process = builder.process(
                f"/device:GPU:{device}", self.devices.get(device, only), self.stats
            )
            for stream, what, thread in streams[device]:
                # A name with " - from #" is a line that was drawn from another one's work.
                put(
                    process,
                    stream,
                    f"{what} - from #{stream}" if what else f"Stream #{stream}",
                    thread,
                )
        pids: dict[Any, list[tuple[Any, bool, ThreadEvents]]] = {}
        for (pid, tid, python), thread in self.host.items():
            pids.setdefault(pid, []).append((tid, python, thread))
        for pid, threads in pids.items():
            alone = "" if len(pids) == 1 else f" {self.processes.get(pid) or 'process'} {pid}"
            zero = Stat(ZERO, round(base), "int64")
            named = process_name(
                self.processes.get(pid, "")
            )  # some write kernels without their category
            named = named if named.startswith("/device:") else f"/host:CPU{alone}"
            process = builder.process(named, (*self.about, zero), self.stats)
            for tid, python, thread in threads:
                label = self.labels.get((pid, tid)) or f"thread {tid}"
                put(process, thread_number(tid), f"{label} Python" if python else label, thread)
        if complete:
            self.quota.say(builder.findings)
        builder.draw(
            self.flows.arrows(shift), [lines.get(self._place(place)) for place in self.flows.lines]
        )
        self.readings.build(builder, base, {**self.processes, "memory": "memory"}, _DIGITS)
        return builder.build(self.names, complete=complete, warnings=source.warnings)

    def _place(self, place: Any) -> Any:
        """What a flow means by (pid, tid): a thread of the host, a stream of a device, or Python's
        frames; None for nothing.
        """
        if not isinstance(place, tuple):
            return None
        pid, tid = place
        host, device = (
            self.host.get((pid, tid, False)),
            self.device.get((_number(None, pid), _number(None, tid), "")),
        )
        return next(
            (one for one in (host, device) if one is not None), self.host.get((pid, tid, True))
        )


def _number(named: Any, place: Any) -> int:
    """A device or stream by its arg, else by the pid or tid ("stream 7").

    0 is one like any other.
    """
    for value in (named, place):
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31:
            return value
        match = _NUMBER.search(value) if isinstance(value, str) else None
        if match is not None and len(match[0]) < 10:
            return int(match[0])
    return 0


def load(source: OpenedFile, progress: Progress, name: str) -> Iterator[Trace]:
    """Partial traces as they grow, the whole one last. `name`: the format's."""
    return read(
        source,
        progress,
        lambda: _Collector(TraceBuilder(source.path, name, size=source.size), arg_text(source)),
    )
