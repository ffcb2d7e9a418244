"""The events of `kineto`: what ran on the host, and on which device and stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from powertui.data.formats.builder import ProcessBuilder, TraceBuilder
from powertui.data.formats.json_events import (
    arg_text,
    read,
)
from powertui.data.formats.json_threads import (
    ThreadEvents,
    thread_number,
)
from powertui.data.formats.json_times import clock_of
from powertui.data.formats.kineto_collector import DIGITS, KinetoCollector
from powertui.data.formats.kineto_names import (
    ZERO,
    device_number,
)
from powertui.data.formats.makers import is_aiu, process_name
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_US, Stat, Trace, Track

# Adds a thread's events to a process as a line: (process, key, label, thread).
_PutThread = Callable[[ProcessBuilder, int, str, ThreadEvents], None]


class _Collector(KinetoCollector):
    """Makes the trace of the events that were collected."""

    def build(self, source: OpenedFile, *, complete: bool) -> Trace:
        """The trace of what came so far."""
        builder = self._new_builder(source, complete=complete)
        origin_us = self.origin.us
        base_us = float(origin_us or 0)
        if math.isfinite(self.first_us):
            base_us = float(math.floor(self.first_us))
        recorded = self._recorded()
        if recorded is not None and origin_us is not None:
            recorded_us = origin_us + recorded[0] // PS_PER_US
            base_us = min(base_us, float(recorded_us))
        builder.clock = clock_of(base_us, self.counts_from)
        builder.machine = self.machine(source.path)
        builder.launch = self.launch_facts.launch
        shift_ps = 0
        if origin_us is not None:
            shift_ps = (int(base_us) - origin_us) * PS_PER_US

        if recorded is not None:
            first_ps, last_ps = recorded
            builder.saw(first_ps - shift_ps, last_ps - shift_ps)

        tracks: dict[ThreadEvents, Track | None] = {}

        def put(process: ProcessBuilder, key: int, label: str, thread: ThreadEvents) -> None:
            line = thread.line(shift_ps, 0, final=complete)
            tracks[thread] = process.add(key, label, line)

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
        self.readings.build(builder, base_us, processes, DIGITS)
        trace = builder.build(self.names, complete=complete, warnings=source.warnings)
        if not complete:
            return trace
        if len(self.marks):
            logs = self.marks.logs(trace, shift_ps, tracks, self.host)
            trace = replace(trace, allocators=logs)
        if not any(map(is_aiu, self.devices.values())):
            return trace
        from powertui.data.formats import aiu_power

        return aiu_power.with_power(trace)

    def _recorded(self) -> tuple[int, int] | None:
        """From when to when the profiler recorded, ps from the origin; None where that is not
        known.
        """
        if not self.window:
            return None
        firsts = []
        lasts = []
        for thread in (*self.host.values(), *self.device.values()):
            if len(thread.start):
                first, last = thread.span()
                firsts.append(first)
                lasts.append(last)
        if not firsts:
            return None
        return self.window.span_with(
            min(firsts),
            max(lasts),
            map(self.names.full, range(len(self.names))),
            with_device=bool(self.device),
        )

    def _build_devices(self, builder: TraceBuilder, put: _PutThread) -> None:
        """Each device as a process, with its streams as lines."""
        streams: dict[int, list[tuple[int, str, ThreadEvents]]] = {}
        for (device, stream, what), thread in self.device.items():
            streams_of_device = streams.setdefault(device, [])
            streams_of_device.append((stream, what, thread))
        # A process that sees one device of several calls it 0 in its properties, and by its real
        # number in its work.
        only: tuple[Stat, ...] = ()
        if len(self.devices) == len(streams) == 1:
            (only,) = self.devices.values()
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
        facts = (*self.about, zero)
        threads_by_pid: dict[Any, list[tuple[Any, bool, ThreadEvents]]] = {}
        for (pid, tid, is_python), thread in self.host.items():
            threads_of_process = threads_by_pid.setdefault(pid, [])
            threads_of_process.append((tid, is_python, thread))
        for pid, threads in threads_by_pid.items():
            written_name = self.processes.get(pid, "")
            # Some writers give kernels no category: their process is named like a device.
            name = process_name(written_name)
            if not name.startswith("/device:"):
                name = "/host:CPU"
                if len(threads_by_pid) > 1:
                    name += f" {written_name or 'process'} {pid}"
            process = builder.process(name, facts, self.stats)
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
        if thread is not None:
            return thread
        device = device_number(None, pid)
        stream = device_number(None, tid)
        thread = self.device.get((device, stream, ""))
        if thread is not None:
            return thread
        return self.host.get((pid, tid, True))


def load(source: OpenedFile, progress: Progress, name: str) -> Iterator[Trace]:
    """Partial traces as they grow, the complete one last. `name` is that of the format."""
    return read(
        source,
        progress,
        lambda: _Collector(TraceBuilder(source.path, name, size=source.size), arg_text(source)),
    )
