"""The events of `trace_json`: complete ones, begins and ends, async spans, counters and flows,
sorted to their threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from powertui.data.formats import flow_ends, json_flows
from powertui.data.formats.builder import MAX_PROCESSES, LineQuota, TraceBuilder
from powertui.data.formats.json_args import ArgText
from powertui.data.formats.json_batch import LONG_NAME, PID, TID, EventBatch, Tokens
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
from powertui.data.formats.json_stats import ArgStats, PairNames, as_text, clean
from powertui.data.formats.json_threads import (
    BEGINS,
    ENDS,
    OPEN_DURATION,
    LeftOut,
    ThreadEvents,
    distinct_rows,
    thread_number,
    give_to_threads,
)
from powertui.data.formats.json_times import (
    IMPOSSIBLE,
    UNIX_US,
    Impossible,
    Origin,
    clock_of,
    in_reach,
)
from powertui.data.formats.makers import TimeOrigin, origin_of, process_name
from powertui.data.formats.own_export import PROCESSES, OwnExport
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_NS, PS_PER_US, Int64s, Trace, Track

WRITERS_LIMIT = 1_000_000  # TensorFlow drops events beyond so many when it writes this format
# a first ts beyond this (an hour) counts from something else than a session's start: from the
# machine's boot, say
_FAR_US = 3.6e9

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
_STRAY = "ends (ph E) without a begin were left out"
_UNUSABLE = "events without a usable ts, dur, pid or tid were left out"


class _Collector:
    """Sorts events of the stream to their threads."""

    def __init__(self, builder: TraceBuilder, text: ArgText | None = None) -> None:
        self.builder = builder
        self.stats, self.names = ArgStats(text), PairNames()
        self.threads: dict[tuple[Any, Any], ThreadEvents] = {}
        self.quota = LineQuota()
        self._beyond = LeftOut(self.quota)  # every thread that is not read
        self._labels: dict[tuple[Any, Any], str] = {}  # of threads, by what the file says of them
        self.processes: dict[Any, str] = {}
        self.origin = (
            Origin()
        )  # the ts that is the trace's zero: 0 where times count from the session's start
        self.counts_from: TimeOrigin | None = None
        self.count = 0
        self.last = 0  # ps
        self.readings = CounterReadings()
        self.flows = JsonFlows()
        self._names_of: dict[tuple[int, ...], int] = {}
        self._begun: dict[
            tuple[Any, str, str], list[int]
        ] = {}  # rows of async begins that wait, by pid, line and id
        self.own: OwnExport | None = None  # where powertui itself wrote the file

    @property
    def memory(self) -> int:
        """About how many bytes all of it takes."""
        return (
            self.stats.memory
            + EVENT_BYTES * self.count
            + BYTES * self.readings.count
            + flow_ends.BYTES * len(self.flows)
            + OBJECT_BYTES
            * (len(self.names) + 4 * len(self.threads) + len(self.processes) + len(self._labels))
        )

    def take(self, batch: EventBatch, tokens: Tokens) -> None:
        """Some plain events at once."""
        batch = add_until_origin(self, batch)
        if not len(batch):
            return
        spans = np.isin(batch.phase, _DRAWN) & batch.timed
        if self.own is not None:
            spans &= np.array(
                [tokens[number] not in PROCESSES for number in batch.member[PID].tolist()], np.bool_
            )
        ends = json_flows.plain_ends(batch)
        told = np.isin(batch.phase, _COUNTED)
        for letter in batch.phase[told].tolist() if told.any() else ():
            self.builder.findings.add(_NOT_DRAWN[chr(letter)])
        rows = np.flatnonzero(spans)
        if len(rows):
            self._spans(batch, rows, tokens)
        self.flows.take(
            batch,
            *in_reach(batch, np.flatnonzero(ends), self.origin, self.builder.findings),
            tokens,
        )
        for event, text in decoded_events(batch, np.flatnonzero(~spans & ~told & ~ends)):
            self.add(event, text)

    def _spans(self, batch: EventBatch, rows: Int64s, tokens: Tokens) -> None:
        rows, start = in_reach(batch, rows, self.origin, self.builder.findings)
        tied = json_flows.tied_spans(batch)[rows]
        self.flows.take(batch, rows[tied], start[tied], tokens)
        places, which = distinct_rows(batch.member[PID][rows], batch.member[TID][rows])
        threads, usable = [], np.ones(len(places), np.bool_)
        for at, (pid, tid) in enumerate(places):
            try:
                threads.append(self._thread(tokens[pid], tokens[tid]))
            except TypeError:  # a list as a pid
                threads.append(ThreadEvents())
                usable[at] = False
        good = usable[which]
        self.builder.findings.add(_UNUSABLE, count=int(len(good) - good.sum()))
        beyond = np.array([thread is self._beyond for thread in threads], np.bool_)[which]
        good &= ~beyond
        called, name_of = distinct_rows(batch.member[TITLE][rows], batch.member[LONG_NAME][rows])
        index = [self._named(pair, tokens) for pair in called]
        name = np.array(index, np.uint32)[name_of]
        phase = batch.phase[rows]
        self.quota.left_out += int((beyond & (phase != ord("E"))).sum())
        begins, ends = phase == ord("B"), phase == ord("E")
        length = np.where(phase == ord("X"), batch.length[rows], 0)
        if good.any():
            self.last = max(self.last, int((start + length)[good].max()))
        length[begins] = OPEN_DURATION
        marks = begins.astype(np.uint8) * BEGINS + ends.astype(np.uint8) * ENDS
        give_to_threads(threads, which, start, length, name, batch.args[rows].astype(np.uint64), marks)
        self.count += int((good & ~ends).sum())

    def _named(self, pair: tuple[int, ...], tokens: Tokens) -> int:
        """The name of a (name, long name), both by their tokens, which mean the same in every
        batch.
        """
        found = self._names_of.get(pair)
        if found is None:
            name, full = (tokens[number] for number in pair)
            name = name if isinstance(name, str) else ""
            found = self._names_of[pair] = self.names.index(
                name, full if isinstance(full, str) and full else name
            )
        return found

    def add(self, event: Any, raw: str) -> None:
        """One item of the list. What it may hold is anybody's guess."""
        if not isinstance(event, dict):
            self.builder.findings.add("items that are not events were left out")
            return
        phase = event.get("ph")
        try:
            if self.own is not None and self.own.add(event):
                return
            if phase == "X":
                self._span(event, self.origin.length(float(event.get("dur") or 0.0)), raw)
            elif phase == "M":
                self._metadata(event)
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
        except Impossible:
            self.builder.findings.add(IMPOSSIBLE)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            self.builder.findings.add(_UNUSABLE)

    def _thread(self, pid: Any, tid: Any) -> ThreadEvents:
        thread = self.threads.get((pid, tid))
        if thread is None:
            if not self.quota.admits(pid):
                return self._beyond
            thread = self.threads[pid, tid] = ThreadEvents()
        return thread

    def _begins(self, us: float) -> None:
        self.origin.us = math.floor(us) if _FAR_US < us < UNIX_US[1] else 0

    def _ps(self, event: dict[str, Any], raw: str) -> int:
        ts = float(event["ts"])
        if self.origin.us is None and math.isfinite(ts):
            self._begins(ts)
        return self.origin.ps(ts, raw)

    def _span(
        self, event: dict[str, Any], length: int, raw: str, thread: ThreadEvents | None = None
    ) -> ThreadEvents:
        start = self._ps(event, raw)
        if isinstance(event["ts"], str):
            start, length = self._exactly(event, start, length)
        if event.get("ph") == "X" and ("flow_in" in event or "flow_out" in event):
            self.flows.put(event, start)
        thread = self._thread(event.get("pid"), event.get("tid")) if thread is None else thread
        args = event.get("args") or event.get("attr")  # IBM's AIU writes `attr`
        position, full = 0, ""
        name = event.get("name")
        name = name if isinstance(name, str) else as_text(name) if name is not None else ""
        if args and isinstance(args, dict):
            position = self.stats.add(args, raw)
            full = args.get("long_name") or ""
        thread.add(
            start,
            length,
            self.names.index(name, full if isinstance(full, str) and full else name),
            position,
        )
        self.last = max(self.last, start if length == OPEN_DURATION else start + length)
        self.count += 1
        return thread

    def _exactly(self, event: dict[str, Any], start: int, length: int) -> tuple[int, int]:
        """The same where rocprof writes whole µs and beside them the ns."""
        args = event.get("args")
        begin, end = (
            (args.get("BeginNs"), args.get("EndNs"))
            if isinstance(args, dict) and "BeginNs" in args
            else (None, None)
        )
        if not all(
            isinstance(one, (str, int)) and str(one).isdecimal() and len(str(one)) < 19
            for one in (begin, end)
        ):
            return start, length
        assert self.origin.us is not None
        exact = int(str(begin)) * PS_PER_NS - self.origin.us * PS_PER_US
        if abs(exact - start) > 2 * PS_PER_US:
            return start, length
        return exact, max(0, int(str(end)) - int(str(begin))) * PS_PER_NS

    def _asynchronous(self, event: dict[str, Any], what: str, raw: str) -> None:
        """All of one category on one line, which packs what overlaps into lanes."""
        at = self._ps(event, raw)
        category = clean(as_text(event.get("cat", "")))
        key = (event.get("pid"), f"{category or 'spans'} (asynchronous)")
        thread = self._thread(*key)
        if thread is self._beyond:
            self.quota.left_out += what != "end"
            return
        thread.label = key[1]
        waiting = self._begun.setdefault((*key, _identity(event)), [])
        if what == "end":
            self._closed(thread, waiting, at)
            return
        self._span(event, OPEN_DURATION if what == "begin" else 0, raw, thread)
        if what == "begin":
            waiting.append(len(thread) - 1)

    def _closed(self, thread: ThreadEvents, begun: list[int], at: int) -> None:
        """The last one that began ends."""
        if not begun:
            self.builder.findings.add(_STRAY)
            return
        row = begun.pop()
        thread.duration[row] = max(at - thread.start[row], 0)
        self.last = max(self.last, at)

    def _metadata(self, event: dict[str, Any]) -> None:
        args = event.get("args")
        label = args.get("name") if isinstance(args, dict) else None
        if not isinstance(label, str):
            return  # sort indices: the builder has an order of its own
        label = clean(label)
        if event.get("name") == "process_name":
            self.processes[event.get("pid")] = label
        elif event.get("name") == "thread_name":
            self._labels[event.get("pid"), event.get("tid")] = label

    def member(self, key: str, value: Any) -> None:
        """Something that stands beside the events."""
        self.counts_from = origin_of(key, value) or self.counts_from
        if key == "otherData":
            self.own = OwnExport.from_other_data(value)

    def build(self, source: OpenedFile, *, complete: bool) -> Trace:
        """The trace of what came so far."""
        # Each part is built from its own columns: a Trace that was handed out never changes.
        builder = TraceBuilder(
            source.path, self.builder.format, size=source.size, host=self.builder.host
        )
        builder.findings = self.builder.findings if complete else builder.findings
        base = self._base()
        builder.clock = clock_of(base, self.counts_from)
        if self.own is not None:
            builder.clock, builder.host = self.own.clock, self.own.host or builder.host
            try:
                builder.told = self.own.training()
            except (ValueError, OverflowError):
                builder.findings.add(
                    "the steps that powertui wrote into this file are damaged: they were "
                    "worked out again"
                )
        waiting: dict[tuple[Any, Any], int] = {}
        for (owner, label, _), rows in self._begun.items():
            waiting[owner, label] = waiting.get((owner, label), 0) + len(rows)
        # Processes that are named and have no events are shown as idle.
        of_process: dict[Any, list[tuple[Any, ThreadEvents]]] = {
            pid: [] for pid in islice(self.processes, MAX_PROCESSES)
        }
        for (pid, tid), thread in self.threads.items():
            of_process.setdefault(pid, []).append((tid, thread))
        lines: dict[Any, Track | None] = {}
        for pid, threads in of_process.items():
            process = builder.process(
                process_name(self.processes.get(pid) or _called(pid, "process")), (), self.stats
            )
            for tid, thread in threads:
                if not len(thread):
                    builder.findings.add(_STRAY, count=len(thread.ends))
                    continue
                lines[pid, tid] = process.add(
                    thread_number(tid),
                    self._labels.get((pid, tid)) or thread.label or _called(tid),
                    thread.line(0, self.last, final=complete),
                )
                builder.findings.add(_STRAY, count=thread.stray)
                left = thread.left + waiting.get((pid, tid), 0)
                builder.findings.add(
                    "begins (ph B) without an end were extended to the end of the trace", count=left
                )
        builder.draw(self.flows.arrows(), [lines.get(place) for place in self.flows.lines])
        self.readings.build(builder, base, self.processes)
        if complete:
            self.quota.say(builder.findings)
        if complete and self.count == WRITERS_LIMIT:
            builder.findings.add(
                "has exactly the million events that TensorFlow's writer keeps: the rest may "
                "be missing"
            )
        return builder.build(self.names, complete=complete, warnings=source.warnings)

    def _base(self) -> float:
        if self.origin.us is None:  # counters alone
            first = self.readings.first_us
            return float(math.floor(first)) if _FAR_US < first < UNIX_US[1] else 0.0
        return float(self.origin.us)


def _called(number: Any, what: str = "") -> str:
    """What a process or thread without a name is called: by its text; a number leaves the name to
    others.
    """
    if isinstance(number, str) and not number.isdecimal():
        return clean(number)
    return (what or "events") if number is None else f"{what} {number}" if what else ""


def _identity(event: dict[str, Any]) -> str:
    """What an async event shares with its begin."""
    return as_text(event.get("id2") or event.get("id", "")) + as_text(event.get("scope", ""))


def load(source: OpenedFile, progress: Progress, name: str) -> Iterator[Trace]:
    """Partial traces as they grow, the whole one last. `name`: the format's."""
    return read(
        source,
        progress,
        lambda: _Collector(TraceBuilder(source.path, name, size=source.size), arg_text(source)),
    )
