"""The events of Neuron Explorer's exports: NeuronCores as devices, their engines as lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.formats.builder import LIMIT_NS, ProcessBuilder, TraceBuilder
from powertui.data.formats.file_warnings import LineQuota
from powertui.data.formats.json_stats import ArgStats, PairNames, as_text, clean
from powertui.data.formats.json_stream import JsonStream
from powertui.data.formats.json_threads import ThreadEvents, thread_number
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_NS, Clock, Trace
from powertui.errors import UnreadableFile

_SYSTEM, _DEVICE = "trace_events", "instruction"  # the lists of the two exports
_UNIX_NS = (10**17, 4 * 10**18)  # three years … 2096
_CLOCK_NS = 1_000  # ± of times that are written in Unix ns
_EVENT_BYTES = 400  # memory of an event with its arguments, about
_MAX_INSTANCES = 1000  # no job has more machines in one file
_MAX_INSTANCE_LETTERS = 253  # of a host's name, by the rules of DNS
_PROGRESS_EVENTS = 50_000  # between two reports of progress
_CORE = re.compile(r"(?:^|[^a-z])nc[-_:]?(\d{1,4})|NeuronCore[ _:-]?(\d{1,4})", re.IGNORECASE)
# Where an instruction says on which engine it ran, the surest field first.
_ENGINE_FIELDS = ("engine", "nc_engine", "group", "queue", "label")
_UNUSABLE = "events without a usable timestamp or duration were left out"


class _Exported:
    """Sorts the events of an export to lines."""

    def __init__(self, source: OpenedFile) -> None:
        self.source = source
        self.builder = TraceBuilder(source.path, "neuron", size=source.size)
        self.stats = ArgStats()
        self.names = PairNames()
        self.threads: dict[tuple[str, str], ThreadEvents] = {}  # by process and line
        self.quota = LineQuota()
        self.instances: dict[str, None] = {}  # the machines, in the order of their events
        self.zero_ns: int | None = None  # of the first event: times may be those of the day
        self.last_ps = 0
        self.count = 0
        self._readings: dict[tuple[str, str], list[tuple[int, float]]] = {}  # by name and unit

    def add(self, event: Any, raw: str, *, of_device: bool) -> None:
        """One item of the list."""
        if not isinstance(event, dict):
            self.builder.findings.add(_UNUSABLE)
            return
        start = _whole(event.get("timestamp"))
        length = _whole(event.get("duration"))
        if start is None or length is None or not 0 <= length < LIMIT_NS:
            self.builder.findings.add(_UNUSABLE)
            return
        since_zero = self._since_zero(start)
        if since_zero is None:
            self.builder.findings.add("events at impossible times were left out")
            return
        place = _engine(event) if of_device else _system_place(event)
        thread = self._thread(place)
        if thread is None:
            self.quota.left_out += 1
            return
        self._note_instance(event.get("instance_id"))
        name = _name(event, of_device=of_device)
        end = since_zero + length
        thread.add(
            since_zero * PS_PER_NS,
            length * PS_PER_NS,
            self.names.index(name, name),
            self.stats.add(event, f'"args": {raw}'),
        )
        self.last_ps = max(self.last_ps, end * PS_PER_NS)
        self.count += 1

    def _thread(self, place: tuple[str, str]) -> ThreadEvents | None:
        """The line of this process and name; None where there are too many."""
        if place not in self.threads:
            process, _ = place
            if not self.quota.admits(process):
                return None
            self.threads[place] = ThreadEvents()
        return self.threads[place]

    def _note_instance(self, instance: Any) -> None:
        """Keep the name of a machine."""
        if not isinstance(instance, str) or not instance:
            return
        if len(self.instances) < _MAX_INSTANCES:
            name = clean(instance)[:_MAX_INSTANCE_LETTERS]
            self.instances[name] = None

    def _since_zero(self, ns: int) -> int | None:
        if self.zero_ns is None:
            earliest, latest = _UNIX_NS
            is_unix = earliest < ns < latest
            self.zero_ns = ns if is_unix else 0
        since_zero = ns - self.zero_ns
        if abs(since_zero) < LIMIT_NS:
            return since_zero
        return None

    def member(self, key: str, value: Any) -> None:
        """A list beside the events: memory and processors over time."""
        if key not in ("mem_usage", "cpu_util") or not isinstance(value, list):
            return
        for reading in value:
            if not isinstance(reading, dict):
                continue
            ns = _whole(reading.get("timestamp"))
            if key == "mem_usage":
                self._read(("memory in use", "bytes"), ns, reading.get("usage"))
            else:
                cpu = clean(as_text(reading.get("cpu_id", "")))
                name = f"CPU {cpu}".strip()
                self._read((name, "%"), ns, reading.get("util"))

    def _read(self, key: tuple[str, str], ns: int | None, value: Any) -> None:
        if ns is None or not isinstance(value, (int, float)):
            return
        readings = self._readings.setdefault(key, [])
        readings.append((ns, float(value)))

    def build(self) -> Trace:
        """The trace of all that came."""
        builder = self.builder
        processes: dict[str, ProcessBuilder] = {}
        for (process, label), thread in self.threads.items():
            if process not in processes:
                processes[process] = builder.process(process, (), self.stats)
            line = thread.line(0, self.last_ps, final=True)
            processes[process].add(thread_number(label), label, line)
        for (name, unit), readings in self._readings.items():
            times = []
            values = []
            for ns, value in readings:
                since_zero = self._since_zero(ns)
                if since_zero is not None:
                    times.append(since_zero)
                    values.append(value)
            times_ps = np.array(times, np.int64) * PS_PER_NS
            builder.counter(name, unit, "", times_ps, np.array(values, np.float64))
        if self.zero_ns:
            builder.clock = Clock(
                self.zero_ns - _CLOCK_NS,
                self.zero_ns + _CLOCK_NS,
                "absolute timestamps",
                "times are Unix time in ns",
            )
        # A cloud's name for a machine ("i-0123456789abcdef0"), which its logs may use too.
        builder.hostnames = tuple(self.instances)
        self.quota.say(builder.findings)
        return builder.build(self.names, complete=True, warnings=self.source.warnings)


def _whole(value: Any) -> int | None:
    """A time in ns; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if abs(value) < 1 << 62:
        return int(value)
    return None


def _name(event: dict[str, Any], *, of_device: bool) -> str:
    """An event's name: of an instruction, the HLO op that it is of."""
    if of_device:
        return _first_text(event, ("hlo_name", "opcode", "label")) or "instruction"
    return _first_text(event, ("name", "type")) or "event"


def _first_text(event: dict[str, Any], fields: Sequence[str]) -> str:
    """The first of these fields that is a text with letters in it; "" where none is."""
    for field in fields:
        text = event.get(field)
        if isinstance(text, str) and text:
            return text
    return ""


def _engine(event: dict[str, Any]) -> tuple[str, str]:
    """The device and the engine of an instruction."""
    core = _whole(event.get("nc_idx"))
    if core is None or not 0 <= core < 10_000:
        core = 0
    device = f"/device:NeuronCore:{core}"
    engine = _first_text(event, _ENGINE_FIELDS)
    if engine:
        return device, clean(engine)[:120]
    return device, "instructions"


def _short_text(value: Any) -> str:
    return clean(as_text(value))[:40]


def _system_place(event: dict[str, Any]) -> tuple[str, str]:
    """Of an event of the runtime: a core by its group's name, else a process of the host."""
    group = clean(as_text(event.get("group", "")))
    label = group or "events"
    match = _CORE.search(group)
    if match is not None:
        core = int(match[1] or match[2])
        return f"/device:NeuronCore:{core}", label[:120]
    instance = clean(as_text(event.get("instance_id", "")))
    name = f"/host:CPU {instance}".strip()
    process = event.get("process_id")
    if process is not None:
        name += f" process {_short_text(process)}"
    thread = event.get("thread_id")
    if thread is None:
        return name, label
    label += f" {_short_text(thread)}"
    return name, label[:120]


def read(source: OpenedFile, progress: Progress) -> Trace:
    """The whole trace, event by event."""
    of_device = b'"trace_events"' not in source.head
    items = _DEVICE if of_device else _SYSTEM
    exported = _Exported(source)
    stream = JsonStream(source.chunks(), items)
    for key, value in stream:
        if key != items or not stream.listed:
            exported.member(key, value)
            continue
        exported.add(value, stream.raw(), of_device=of_device)
        if exported.count % _PROGRESS_EVENTS == _PROGRESS_EVENTS - 1:
            progress(source.done, source.size, exported.count)
            too_much = source.limit.exceeded(exported.count * _EVENT_BYTES)
            if too_much:
                exported.builder.findings.lose(f"its events take {too_much}, the rest was left out")
                break
    findings = exported.builder.findings
    findings.add("damaged events were left out", count=stream.damaged)
    if stream.problem:
        findings.lose(stream.problem)
    if not exported.count:
        problem = stream.problem or "is an export of Neuron Explorer without events"
        hint = "Export it again: neuron-explorer view --output-format json"
        raise UnreadableFile(source.path, problem, hint=hint)
    progress(source.size, source.size, exported.count)
    return exported.build()
