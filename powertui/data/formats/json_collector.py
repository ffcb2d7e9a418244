"""What the collectors of `kineto` and `trace_json` have in common: events of the stream are sorted
to threads, and what cannot be used is counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from powertui.data.formats import flow_ends, json_flows
from powertui.data.formats.builder import TraceBuilder
from powertui.data.formats.file_warnings import LineQuota
from powertui.data.formats.json_batch import EventBatch, Tokens
from powertui.data.formats.json_counters import BYTES, CounterReadings
from powertui.data.formats.json_events import EVENT_BYTES, OBJECT_BYTES
from powertui.data.formats.json_flows import JsonFlows
from powertui.data.formats.json_stats import ArgStats, clean
from powertui.data.formats.json_threads import LeftOut, ThreadEvents
from powertui.data.formats.json_times import IMPOSSIBLE, Impossible, Origin, in_reach
from powertui.data.formats.makers import TimeOrigin, origin_of
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Bools, Int64s

_UNUSABLE_EVENTS = "events without a usable ts, dur, pid or tid were left out"


class ThreadCollector:
    """Sorts the events of a stream to threads.

    A dialect says which thread an event belongs to, and what it does with each phase (`ph`).
    """

    def __init__(self, builder: TraceBuilder, stats: ArgStats, origin: Origin) -> None:
        self.builder = builder
        self.stats = stats
        self.origin = origin
        self.quota = LineQuota()
        self._beyond = LeftOut(self.quota)  # every thread that is not read
        self.processes: dict[Any, str] = {}
        self.labels: dict[tuple[Any, Any], str] = {}  # of threads, as the file names them
        self.counts_from: TimeOrigin | None = None
        self.count = 0
        self.readings = CounterReadings()
        self.flows = JsonFlows()

    def _memory(self, names: int, threads: int) -> int:
        """About how many bytes all of it takes, with so many names and threads."""
        objects = names + 4 * threads + len(self.processes) + len(self.labels)
        return (
            self.stats.memory
            + EVENT_BYTES * self.count
            + BYTES * self.readings.count
            + flow_ends.BYTES * len(self.flows)
            + OBJECT_BYTES * objects
        )

    def member(self, key: str, value: Any) -> None:
        """A member of the file beside its events."""
        self.counts_from = origin_of(key, value) or self.counts_from

    def add(self, event: Any, raw: str) -> None:
        """One item of the list, which may hold anything: damaged ones are counted."""
        if not isinstance(event, dict):
            self.builder.findings.add("items that are not events were left out")
            return
        try:
            self._add(event, event.get("ph"), raw)
        except Impossible:
            self.builder.findings.add(IMPOSSIBLE)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            self.builder.findings.add(_UNUSABLE_EVENTS)

    def _add(self, event: dict[str, Any], phase: Any, raw: str) -> None:
        raise NotImplementedError

    def _name_process_or_thread(self, event: dict[str, Any]) -> None:
        """What an event of metadata (ph M) calls a process or a thread."""
        args = event.get("args")
        if not isinstance(args, dict):
            return
        label = args.get("name")
        if not isinstance(label, str):
            return  # a sort index, say: the builder has an order of its own
        if event.get("name") == "process_name":
            self.processes[event.get("pid")] = clean(label)
        elif event.get("name") == "thread_name":
            self.labels[event.get("pid"), event.get("tid")] = clean(label)

    def _take_flow_ends(self, batch: EventBatch, tokens: Tokens) -> Bools:
        """Keep the ends of flows in a batch; which of its events they are."""
        is_flow_end = json_flows.plain_ends(batch)
        rows = np.flatnonzero(is_flow_end)
        ends, at = in_reach(batch, rows, self.origin, self.builder.findings)
        self.flows.take(batch, ends, at, tokens)
        return is_flow_end

    def _usable(self, threads: list[ThreadEvents | None], thread_of: Int64s) -> tuple[Bools, Bools]:
        """(which events have a thread, which have one that is not read); those without one are
        counted.
        """
        usable = np.array([thread is not None for thread in threads], np.bool_)[thread_of]
        self.builder.findings.add(_UNUSABLE_EVENTS, count=int(len(usable) - usable.sum()))
        beyond = np.array([thread is self._beyond for thread in threads], np.bool_)[thread_of]
        return usable, beyond

    def _new_builder(self, source: OpenedFile, *, complete: bool) -> TraceBuilder:
        """The builder of one part: a Trace that was handed out never changes."""
        builder = TraceBuilder(
            source.path,
            self.builder.format,
            size=source.size,
            host=self.builder.host,
        )
        if complete:
            builder.findings = self.builder.findings
            builder.secret_names = self.builder.secret_names
        return builder
