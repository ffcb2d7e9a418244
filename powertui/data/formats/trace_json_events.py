"""The events of `trace_json`, sorted to their threads.

Complete events, begins and ends, async spans, counters and flows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from powertui.data.formats import json_flows
from powertui.data.formats.builder import ProcessBuilder, TraceBuilder
from powertui.data.formats.file_warnings import MAX_PROCESSES
from powertui.data.formats.json_args import ArgText
from powertui.data.formats.json_batch import LONG_NAME, PID, TID, EventBatch, Tokens
from powertui.data.formats.json_batch import NAME as TITLE
from powertui.data.formats.json_collector import ThreadCollector
from powertui.data.formats.json_events import (
    add_until_origin,
    arg_text,
    decoded_events,
    read,
)
from powertui.data.formats.json_stats import ArgStats, PairNames, as_text, clean, event_name
from powertui.data.formats.json_threads import (
    BEGINS,
    ENDS,
    OPEN_DURATION,
    ThreadEvents,
    distinct_rows,
    give_to_threads,
    thread_number,
)
from powertui.data.formats.json_times import (
    UNIX_US,
    Origin,
    clock_of,
    in_reach,
)
from powertui.data.formats.makers import holds_aiu_registers, process_name
from powertui.data.formats.own_export import PROCESSES, OwnExport
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_NS, PS_PER_US, Int64s, Trace, Track

if TYPE_CHECKING:
    from powertui.data.formats.aiu_lines import AiuRank

# TensorFlow drops events beyond this number when it writes this format.
TENSORFLOW_MAX_EVENTS = 1_000_000
# An hour. A first ts beyond it counts from something else than a session's start: from the
# machine's boot, say. Chosen, not measured.
_MAX_SESSION_TS_US = 3.6e9

# Spans that may overlap on their thread: paired by category and id. `S` and `F` are the old way to
# write them.
_ASYNCHRONOUS = {"b": "begin", "e": "end", "n": "instant", "S": "begin", "F": "end"}
# Phases that are no stretch of time on a thread: counters, flows, async spans, object snapshots,
# samples.
_NOT_DRAWN = {
    "T": "steps of async spans",
    "p": "steps of async spans",
    "N": "object snapshots",
    "O": "object snapshots",
    "D": "object snapshots",
    "P": "samples",
    "v": "memory dumps",
    "V": "memory dumps",
    "R": "marks",
    "c": "clock marks",
    "(": "contexts",
    ")": "contexts",
}
_NOT_DRAWN = {phase: f"{what} are not drawn (ph {phase})" for phase, what in _NOT_DRAWN.items()}
_COUNTED = np.array([ord(phase) for phase in _NOT_DRAWN], np.uint8)
_DRAWN = np.array([ord(phase) for phase in "XBEiI"], np.uint8)
_OPEN_BEGINS = "begin events (ph B) without an end event were extended to the end of the trace"
_STRAY_ENDS = "end events (ph E) without a begin event were left out"


class _Collector(ThreadCollector):
    """Sorts events of the stream to their threads."""

    def __init__(self, builder: TraceBuilder, text: ArgText | None = None) -> None:
        # The origin is the ts that is the trace's zero: 0 where times count from the session's
        # start.
        super().__init__(builder, ArgStats(text), Origin())
        self.names = PairNames()
        self.threads: dict[tuple[Any, Any], ThreadEvents] = {}
        self.last = 0  # ps
        self._names_of: dict[tuple[int, ...], int] = {}
        # Rows of async begins that wait for their ends, by pid, line and id.
        self._open_async: dict[tuple[Any, str, str], list[int]] = {}
        self.own_export: OwnExport | None = None  # where powertui itself wrote the file
        self._is_aiu = False  # whether events hold the registers of IBM's AIU

    @property
    def memory(self) -> int:
        """About how many bytes all of it takes."""
        return self._memory(len(self.names), len(self.threads))

    def take(self, batch: EventBatch, tokens: Tokens) -> None:
        """Some plain events at once."""
        batch = add_until_origin(self, batch)
        if not len(batch):
            return
        is_span = np.isin(batch.phase, _DRAWN) & batch.timed
        if self.own_export is not None:
            # Steps, epochs and windows of our own export are read one by one.
            pids = batch.member[PID].tolist()
            is_of_program = [tokens[pid] not in PROCESSES for pid in pids]
            is_span &= np.array(is_of_program, np.bool_)
        is_counted = np.isin(batch.phase, _COUNTED)
        for letter in batch.phase[is_counted].tolist():
            self.builder.findings.add(_NOT_DRAWN[chr(letter)])
        rows = np.flatnonzero(is_span)
        if len(rows):
            self._spans(batch, rows, tokens)
        is_flow_end = self._take_flow_ends(batch, tokens)
        others = np.flatnonzero(~is_span & ~is_counted & ~is_flow_end)
        for event, text in decoded_events(batch, others):
            self.add(event, text)

    def _spans(self, batch: EventBatch, rows: Int64s, tokens: Tokens) -> None:
        rows, start = in_reach(batch, rows, self.origin, self.builder.findings)
        tied = json_flows.tied_spans(batch)[rows]
        self.flows.take(batch, rows[tied], start[tied], tokens)
        member = batch.member
        places, place_of = distinct_rows(member[PID][rows], member[TID][rows])
        threads = [self._thread_or_none(tokens[pid], tokens[tid]) for pid, tid in places]
        usable, beyond = self._usable(threads, place_of)
        pairs, pair_of = distinct_rows(member[TITLE][rows], member[LONG_NAME][rows])
        names = np.array([self._name_index(pair, tokens) for pair in pairs], np.uint32)
        phase = batch.phase[rows]
        begins = phase == ord("B")
        ends = phase == ord("E")
        self.quota.left_out += int((beyond & ~ends).sum())
        is_whole = phase == ord("X")
        length = np.where(is_whole, batch.length[rows], 0)
        drawn = usable & ~beyond
        if drawn.any():
            end = start + length
            self.last = max(self.last, int(end[drawn].max()))
        length[begins] = OPEN_DURATION
        marks = begins.astype(np.uint8) * BEGINS
        marks += ends.astype(np.uint8) * ENDS
        give_to_threads(
            threads,
            place_of,
            start=start,
            duration=length,
            name=names[pair_of],
            position=batch.args[rows].astype(np.uint64),
            marks=marks,
        )
        self.count += int((drawn & ~ends).sum())

    def _name_index(self, pair: tuple[int, ...], tokens: Tokens) -> int:
        """The index of a (name, long name), both by tokens, which mean the same in every batch."""
        index = self._names_of.get(pair)
        if index is None:
            name, full = (tokens[number] for number in pair)
            if not isinstance(name, str):
                name = ""
            index = self._names_of[pair] = self.names.index(name, _full_name(full, name))
        return index

    def _add(self, event: dict[str, Any], phase: Any, raw: str) -> None:
        if self.own_export is not None and self.own_export.add(event):
            return
        if phase == "X":
            self._span(event, self.origin.length(float(event.get("dur") or 0.0)), raw)
        elif phase == "M":
            self._name_process_or_thread(event)
        elif phase == "B":
            self._span(event, OPEN_DURATION, raw).begin()
        elif phase == "E":
            at = self._ps(event, raw)
            self._thread(event.get("pid"), event.get("tid")).end(at)
            self.last = max(self.last, at)
        elif phase in ("i", "I"):
            self._span(event, 0, raw)
        elif phase in json_flows.PHASES:
            self.flows.put(event, self._ps(event, raw))
        elif phase in _ASYNCHRONOUS:
            self._asynchronous(event, _ASYNCHRONOUS[phase], raw)
        elif phase == "C":
            self.readings.add(event)
        elif phase in _NOT_DRAWN:
            self.builder.findings.add(_NOT_DRAWN[phase])
        elif event:  # the last item is an empty object, against the trailing comma
            self.builder.findings.add("items of unknown phase were left out")

    def _thread(self, pid: Any, tid: Any) -> ThreadEvents:
        thread = self.threads.get((pid, tid))
        if thread is None:
            if not self.quota.admits(pid):
                return self._beyond
            thread = self.threads[pid, tid] = ThreadEvents()
        return thread

    def _thread_or_none(self, pid: Any, tid: Any) -> ThreadEvents | None:
        try:
            return self._thread(pid, tid)
        except TypeError:  # a list as a pid
            return None

    def _set_origin(self, us: float) -> None:
        if _MAX_SESSION_TS_US < us < UNIX_US[1]:
            self.origin.us = math.floor(us)
        else:
            self.origin.us = 0

    def _ps(self, event: dict[str, Any], raw: str) -> int:
        ts = float(event["ts"])
        if self.origin.us is None and math.isfinite(ts):
            self._set_origin(ts)
        return self.origin.ps(ts, raw)

    def _span(
        self,
        event: dict[str, Any],
        length: int,
        raw: str,
        thread: ThreadEvents | None = None,
    ) -> ThreadEvents:
        start = self._ps(event, raw)
        if isinstance(event["ts"], str):
            start, length = self._to_the_ns(event, start, length)
        if event.get("ph") == "X" and ("flow_in" in event or "flow_out" in event):
            self.flows.put(event, start)
        if thread is None:
            thread = self._thread(event.get("pid"), event.get("tid"))
        args = event.get("args") or event.get("attr")  # IBM's AIU writes `attr`
        name = event_name(event)
        position, full = 0, name
        if args and isinstance(args, dict):
            position = self.stats.add(args, raw)
            full = _full_name(args.get("long_name"), name)
        thread.add(start, length, self.names.index(name, full), position)
        self.last = max(self.last, start if length == OPEN_DURATION else start + length)
        self.count += 1
        return thread

    def _to_the_ns(self, event: dict[str, Any], start: int, length: int) -> tuple[int, int]:
        """Start and length (ps) to the ns: rocprof writes whole µs, and the ns into the args."""
        args = event.get("args")
        if not isinstance(args, dict):
            return start, length
        begin_ns = _nanoseconds(args.get("BeginNs"))
        end_ns = _nanoseconds(args.get("EndNs"))
        if begin_ns is None or end_ns is None:
            return start, length
        assert self.origin.us is not None
        exact_start = begin_ns * PS_PER_NS - self.origin.us * PS_PER_US
        if abs(exact_start - start) > 2 * PS_PER_US:  # these ns are not those of this ts
            return start, length
        return exact_start, max(0, end_ns - begin_ns) * PS_PER_NS

    def _asynchronous(self, event: dict[str, Any], what: str, raw: str) -> None:
        """A part of an async span.

        All spans of one category are on one line, which packs those that overlap into lanes.
        """
        moment = self._ps(event, raw)
        category = clean(as_text(event.get("cat", ""))) or "spans"
        pid = event.get("pid")
        label = f"{category} (asynchronous)"
        thread = self._thread(pid, label)
        if thread is self._beyond:
            self.quota.left_out += what != "end"
            return
        thread.label = label
        span = (pid, label, _async_id(event))
        open_rows = self._open_async.setdefault(span, [])
        if what == "end":
            self._close_last(thread, open_rows, moment)
        elif what == "begin":
            self._span(event, OPEN_DURATION, raw, thread)
            open_rows.append(len(thread) - 1)
        else:
            self._span(event, 0, raw, thread)

    def _close_last(self, thread: ThreadEvents, open_rows: list[int], at: int) -> None:
        """The span that began last ends."""
        if not open_rows:
            self.builder.findings.add(_STRAY_ENDS)
            return
        row = open_rows.pop()
        thread.duration[row] = max(at - thread.start[row], 0)
        self.last = max(self.last, at)

    def member(self, key: str, value: Any) -> None:
        """A member of the file beside its events."""
        super().member(key, value)
        if key == "otherData":
            self.own_export = OwnExport.from_other_data(value)

    def build(self, source: OpenedFile, *, complete: bool) -> Trace:
        """The trace of what came so far."""
        self._is_aiu = holds_aiu_registers(source.head)
        builder = self._new_builder(source, complete=complete)
        base = self._base()
        builder.clock = clock_of(base, self.counts_from)
        if self.own_export is not None:
            self._restore_export(self.own_export, builder)
        tracks = self._build_tracks(builder, complete=complete)
        builder.draw(self.flows.arrows(), [tracks.get(place) for place in self.flows.lines])
        self.readings.build(builder, base, self.processes)
        if complete:
            self.quota.say(builder.findings)
        if complete and self.count == TENSORFLOW_MAX_EVENTS:
            builder.findings.add(
                "has exactly the million events that TensorFlow's writer keeps: the rest may "
                "be missing"
            )
        trace = builder.build(self.names, complete=complete, warnings=source.warnings)
        if not self._is_aiu or not complete:
            return trace
        from powertui.data.formats import aiu_power

        return aiu_power.with_power(trace)

    def _restore_export(self, export: OwnExport, builder: TraceBuilder) -> None:
        """Clock, host and steps as they were when powertui wrote the file."""
        builder.clock = export.clock
        builder.host = export.host or builder.host
        try:
            builder.exported_steps = export.training()
        except (ValueError, OverflowError):
            builder.findings.add(
                "the steps that powertui wrote into this file are damaged: they were "
                "worked out again"
            )

    def _build_tracks(self, builder: TraceBuilder, *, complete: bool) -> dict[Any, Track | None]:
        """Give all processes and threads to the builder; their tracks by (pid, tid)."""
        open_async: Counter[tuple[Any, Any]] = Counter()
        for (pid, label, _), rows in self._open_async.items():
            open_async[pid, label] += len(rows)
        # Processes that are named and have no events are shown as idle.
        threads_by_pid: dict[Any, list[tuple[Any, ThreadEvents]]] = {
            pid: [] for pid in islice(self.processes, MAX_PROCESSES)
        }
        for (pid, tid), thread in self.threads.items():
            threads_by_pid.setdefault(pid, []).append((tid, thread))
        tracks: dict[Any, Track | None] = {}
        for pid, threads in threads_by_pid.items():
            process: ProcessBuilder | AiuRank
            if self._is_aiu:
                from powertui.data.formats.aiu_lines import AiuRank

                process = AiuRank(
                    builder=builder,
                    label=self.processes.get(pid, ""),
                    pid=pid,
                    stats=self.stats,
                    names=self.names,
                )
            else:
                name = process_name(self.processes.get(pid) or _default_name(pid, "process"))
                process = builder.process(name, (), self.stats)
            for tid, thread in threads:
                if not len(thread):
                    builder.findings.add(_STRAY_ENDS, count=len(thread.ends))
                    continue
                label = self.labels.get((pid, tid)) or thread.label or _default_name(tid)
                line = thread.line(0, self.last, final=complete)
                tracks[pid, tid] = process.add(thread_number(tid), label, line)
                builder.findings.add(_STRAY_ENDS, count=thread.stray)
                builder.findings.add(
                    _OPEN_BEGINS,
                    count=thread.unclosed + open_async[pid, tid],
                )
        return tracks

    def _base(self) -> float:
        """The ts (µs) that is the trace's zero."""
        if self.origin.us is not None:
            return float(self.origin.us)
        first_us = self.readings.first_us  # a file of counters alone
        if _MAX_SESSION_TS_US < first_us < UNIX_US[1]:
            return float(math.floor(first_us))
        return 0.0


def _full_name(full: Any, name: str) -> str:
    """The long name, where there is one."""
    if isinstance(full, str) and full:
        return full
    return name


def _nanoseconds(value: Any) -> int | None:
    """A time in ns, written as a number or as text; None for anything else."""
    if not isinstance(value, (str, int)):
        return None
    text = str(value)
    if text.isdecimal() and len(text) < 19:
        return int(text)
    return None


def _default_name(number: Any, what: str = "") -> str:
    """The name of a process or thread that the file does not name.

    Empty for a thread with a number: the builder names it.
    """
    if isinstance(number, str) and not number.isdecimal():
        return clean(number)
    if number is None:
        return what or "events"
    return f"{what} {number}" if what else ""


def _async_id(event: dict[str, Any]) -> str:
    """What an async event shares with its begin."""
    number = event.get("id2") or event.get("id", "")
    scope = event.get("scope", "")
    return as_text(number) + as_text(scope)


def load(source: OpenedFile, progress: Progress, name: str) -> Iterator[Trace]:
    """Partial traces as they grow, the complete one last. `name` is that of the format."""
    return read(
        source,
        progress,
        lambda: _Collector(TraceBuilder(source.path, name, size=source.size), arg_text(source)),
    )
