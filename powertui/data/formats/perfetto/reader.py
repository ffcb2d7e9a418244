"""From the packets of a file to its trace.

Packets that describe the rest come first, then the events as columns, then lines and counters.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from powertui.data import wire
from powertui.data.formats.builder import (
    MAX_COUNTERS,
    MAX_PROCESSES,
    FileWarnings,
    LineEvents,
    LineQuota,
    ProcessBuilder,
    TraceBuilder,
)
from powertui.data.formats.flow_ends import FINISH, STEP, FlowEnds
from powertui.data.formats.json_stats import PairNames, clean
from powertui.data.formats.pairing import pair
from powertui.data.formats.perfetto import args, packets
from powertui.data.formats.perfetto.clocks import BOOTTIME, Clocks
from powertui.data.formats.perfetto.names import Definitions, last_definitions
from powertui.data.formats.perfetto.packets import slices
from powertui.data.formats.perfetto.tracks import Tracks, TrackTarget
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_NS, Bools, Floats, Int64s, Trace, Track, UInt64s
from powertui.data.wire import FIXED64, LEN, VARINT, schemas
from powertui.value_types import dataclass

_EVENT_BYTES = 400  # memory of an event while it is read

# Fields of a packet.
_TIME = wire.tag(8, VARINT)
_CLOCK = wire.tag(58, VARINT)
_SEQUENCE = wire.tag(10, VARINT)
_EVENTS = wire.tag(11, LEN)
_SNAPSHOT = wire.tag(6, LEN)
_INTERNED = wire.tag(12, LEN)
_DEFAULTS = wire.tag(59, LEN)
_TRACK = wire.tag(60, LEN)
_TREE = wire.tag(2, LEN)
_PROCESS = wire.tag(43, LEN)
_THREAD = wire.tag(44, LEN)
_RAILS = wire.tag(40, LEN)

# Fields of an event of a track.
_TYPE = wire.tag(9, VARINT)
_NAME_IID = wire.tag(10, VARINT)
_OWN_NAME = wire.tag(23, LEN)
_UUID = wire.tag(11, VARINT)
_INTEGER = wire.tag(30, VARINT)
_DOUBLE = wire.tag(44, FIXED64)
_LEGACY = wire.tag(6, LEN)
_FLOWS = (wire.tag(47, FIXED64), wire.tag(48, FIXED64), wire.tag(36, VARINT), wire.tag(42, VARINT))

# Fields of a legacy event.
_PHASE = wire.tag(2, VARINT)
_PHASE_NAME = wire.tag(1, VARINT)
_PHASE_US = wire.tag(3, VARINT)

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_COMPLETE = 16  # not of Perfetto: a legacy event with a duration of its own
_PHASES = {
    ord("B"): _BEGIN,
    ord("E"): _END,
    ord("X"): _COMPLETE,
    ord("i"): _INSTANT,
    ord("I"): _INSTANT,
    ord("n"): _INSTANT,
}

# Packets of other data sources: they are reported, so that nobody thinks they were not recorded.
_NOT_DRAWN = {
    1: "kernel events (ftrace)",
    5: "events of old Chrome versions",
    7: "system statistics",
    37: "heap profiles",
    38: "battery readings",
    39: "Android's log",
    52: "GPU counters",
    53: "GPU render stages",
    54: "CPU samples of Chrome",
    62: "Vulkan memory",
    66: "CPU samples (perf)",
    71: "GPU memory totals",
    73: "memory dumps",
    95: "events of Windows (ETW)",
}


@dataclass
class _Columns:
    """The events of all tracks, in the order of the file."""

    packet: list[Int64s] = field(default_factory=list)
    sequence: list[Int64s] = field(default_factory=list)
    kind: list[Int64s] = field(default_factory=list)
    # [2 × events]: an interned number (0 without one), and an index into the names (-1 without
    # one).
    name: list[Int64s] = field(default_factory=list)
    uuid: list[Int64s] = field(default_factory=list)
    has_uuid: list[Bools] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    duration_us: list[Int64s] = field(default_factory=list)
    position: list[UInt64s] = field(default_factory=list)


class _LineColumns(NamedTuple):
    """The events of all tracks, each column of one array."""

    kind: Int64s
    start: Int64s  # ps
    name: Int64s
    position: UInt64s
    duration_us: Int64s


class PerfettoReader:
    """Reads one file: `build` gives its trace."""

    def __init__(self, source: OpenedFile, progress: Progress) -> None:
        self.source, self.progress = source, progress
        self.builder = TraceBuilder(source.path, "perfetto", size=source.size)
        self.findings: FileWarnings = self.builder.findings
        self.names = PairNames()
        self.clocks, self.tracks = Clocks(), Tracks()
        self.quota = LineQuota()
        self.events = Definitions([], [], [], [])
        self.annotations = Definitions([], [], [], [])
        self.texts = Definitions([], [], [], [])
        self.defaults = Definitions([], [], [], [])
        self.default_clock: list[int] = []
        self.default_uuid: list[int] = []
        self.rails: list[tuple[int, int, int, int]] = []  # (packet, rail, ms, µJ)
        self.flows: list[tuple[int, int, int]] = []  # (event, flow, STEP or FINISH)
        self.packets = packets.find_packets(source, self.findings)
        self.stamps = np.zeros(0, np.int64)  # ns of each packet; only where `timed`
        self.sequence = np.zeros(0, np.int64)
        self.timed = np.zeros(0, np.bool_)

    # ── what describes the rest ──

    def describe(self) -> None:
        """Read clocks, names, tracks and defaults: few packets, each decoded as a message."""
        handlers = (
            (_SNAPSHOT, "PerfettoClocks", self.clocks.snapshot),
            (_TREE, "PerfettoTree", self.tracks.tree),
            (_INTERNED, "PerfettoInterned", self._interned),
            (_DEFAULTS, "PerfettoDefaults", self._defaults),
            (_TRACK, "PerfettoTrack", self._track),
            (_PROCESS, "PerfettoProcess", self._process),
            (_THREAD, "PerfettoThread", self._thread),
            (_RAILS, "PerfettoRails", self._rails),
        )
        tags = tuple(tag for tag, _, _ in handlers)
        not_drawn = tuple(wire.tag(number, LEN) for number in _NOT_DRAWN)
        sequences = []
        for part in slices(len(self.packets)):
            fields = self.packets.pick(part, (_SEQUENCE, _EVENTS, _INTERNED, _DEFAULTS))
            sequences.append(fields.value[0])
            self.findings.add(
                "damaged packets were read up to the damage", count=int(fields.bad >= 0)
            )
            # Most packets are events and nothing else.
            _, is_event, is_interned, is_defaults = fields.present
            rows = np.flatnonzero(~is_event | is_interned | is_defaults) + part.start
            sequence = fields.value[0][rows - part.start]
            for what, present in zip(
                _NOT_DRAWN.values(), self.packets.pick(rows, not_drawn).present, strict=True
            ):
                self.findings.add(f"{what} are not drawn", count=int(present.sum()))
            described = self.packets.pick(rows, tags)
            # In the order of the file: later descriptions replace earlier ones.
            for row, field_number in np.argwhere(described.present.T).tolist():
                _, kind, handle = handlers[field_number]
                packet = int(rows[row])
                lo, hi = (
                    int(described.value[field_number, row]),
                    int(described.end[field_number, row]),
                )
                message = self._message(kind, lo, hi, bool(self.packets.unpacked[packet]))
                if message is not None:
                    handle(packet, int(sequence[row]), message)
            self._report_progress(part.stop, 0)
        self.sequence = np.concatenate(sequences)

    def _message(self, kind: str, lo: int, hi: int, unpacked: bool) -> Any:
        try:
            return schemas.parsed(kind, self.packets.read(lo, hi, unpacked))
        except schemas.Undecodable:
            self.findings.add("packets that describe names, tracks or clocks were damaged")
            return None

    def _interned(self, packet: int, sequence: int, message: Any) -> None:
        for name in message.event_names:
            self.events.add(packet, sequence, _signed(name.iid), name.name)
        for name in message.debug_annotation_names:
            self.annotations.add(packet, sequence, _signed(name.iid), name.name)
        for text in message.debug_annotation_string_values:
            string = text.str.decode("utf-8", "replace")
            self.texts.add(packet, sequence, _signed(text.iid), string)

    def _defaults(self, packet: int, sequence: int, message: Any) -> None:
        self.defaults.add(packet, sequence, 0, "")
        self.default_clock.append(message.timestamp_clock_id)
        self.default_uuid.append(_signed(message.track_event_defaults.track_uuid))

    def _track(self, _packet: int, _sequence: int, message: Any) -> None:
        self.tracks.describe(_signed(message.uuid), message)

    def _process(self, _packet: int, _sequence: int, message: Any) -> None:
        self.tracks.process(message)

    def _thread(self, _packet: int, sequence: int, message: Any) -> None:
        self.tracks.of_sequence(sequence, message)

    def _rails(self, packet: int, sequence: int, message: Any) -> None:
        for rail in message.rail_descriptor:
            self.tracks.rail(sequence, rail.index, rail.rail_name, rail.subsys_name)
        for reading in message.energy_data:
            number = self.tracks.rail_number(sequence, reading.index)
            self.rails.append((packet, number, reading.timestamp_ms, reading.energy))

    # ── events ──

    def columns(self) -> _Columns:
        """Every event of a track."""
        columns = _Columns()
        stamps, timed, clock = [], [], []
        count = 0
        for rows in slices(len(self.packets)):
            fields = self.packets.pick(rows, (_TIME, _CLOCK, _EVENTS))
            stamps.append(fields.value[0])
            timed.append(fields.present[0])
            clock.append(np.where(fields.present[1], fields.value[1], -1))
            at = np.flatnonzero(fields.present[2])
            if len(at):
                self._slice(columns, at + rows.start, fields.value[2][at], fields.end[2][at], count)
                count += len(at)
            self.source.limit.check(self.source.path, count * _EVENT_BYTES)
            self._report_progress(rows.stop, count)
        self.timed = np.concatenate(timed)
        self._set_stamps(np.concatenate(stamps), np.concatenate(clock))
        return columns

    def _set_stamps(self, stamps: Int64s, clock: Int64s) -> None:
        """Set all timestamps, in ns of the trace's clock.

        Together, because an incremental clock adds up every packet that uses it.
        """
        packet = np.flatnonzero(self.timed)
        sequence = self.sequence[packet]
        clock = clock[packet]
        unnamed = clock < 0
        if self.defaults.packet and unnamed.any():
            default = self._default(self.default_clock, sequence, packet)
            clock = np.where(unnamed & (default > 0), default, clock)
        clock = np.where(clock > 0, clock, self.clocks.primary or BOOTTIME)
        self.stamps = stamps
        self.stamps[packet] = self.clocks.times(packet, sequence, clock, stamps[packet])

    def _default(self, values: list[int], sequence: Int64s, packet: Int64s) -> Int64s:
        """The default that holds for each packet, of one value for each of `defaults`; 0: none."""
        defined = self.defaults
        row = last_definitions(
            (np.array(defined.sequence, np.int64), np.array(defined.packet, np.int64)),
            (sequence, packet),
        )
        return np.array([*values, 0], np.int64)[row]  # row -1 is the 0 at the end

    def _flow(self, row: int, lo: int, hi: int, unpacked: bool) -> None:
        """The flows that an event belongs to, and those that end with it."""
        message = self._message("PerfettoFlows", lo, hi, unpacked)
        if message is None:
            return
        for flow in (*message.flow_ids, *message.old_flow_ids):
            self.flows.append((row, _signed(flow), STEP))
        for flow in (*message.terminating_flow_ids, *message.old_terminating):
            self.flows.append((row, _signed(flow), FINISH))

    def _slice(self, columns: _Columns, packet: Int64s, lo: Int64s, hi: Int64s, count: int) -> None:
        """Add the events of these packets to the columns, which have `count` events so far."""
        unpacked = self.packets.unpacked[packet]
        tags = (_TYPE, _NAME_IID, _OWN_NAME, _UUID, _INTEGER, _DOUBLE, _LEGACY, *_FLOWS)
        fields = self.packets.fields(lo, hi, unpacked, tags)
        kind, iid = fields.value[0].copy(), fields.value[1].copy()
        duration_us = np.zeros(len(packet), np.int64)
        legacy = np.flatnonzero(fields.present[6])
        if len(legacy):
            message_lo, message_hi = fields.value[6][legacy], fields.end[6][legacy]
            phase, phase_name, phase_us = self.packets.fields(
                message_lo, message_hi, unpacked[legacy], (_PHASE, _PHASE_NAME, _PHASE_US)
            ).value
            phase_kind = np.array([_PHASES.get(letter, 0) for letter in phase.tolist()], np.int64)
            untyped = kind[legacy] == 0
            kind[legacy] = np.where(untyped, phase_kind, kind[legacy])
            iid[legacy] = np.where(iid[legacy] == 0, phase_name, iid[legacy])
            duration_us[legacy] = phase_us
            self.findings.add(
                "asynchronous events of old writers are not drawn",
                count=int((untyped & (phase_kind == 0)).sum()),
            )
        for row in np.flatnonzero(fields.present[7:].any(axis=0)).tolist():
            self._flow(count + row, int(lo[row]), int(hi[row]), bool(unpacked[row]))
        value = np.where(fields.present[4], fields.value[4].astype(np.float64), np.nan)
        # A FIXED64 field is given as its bits.
        value = np.where(fields.present[5], fields.value[5].view(np.float64), value)
        position = np.zeros(len(packet), np.uint64)
        for is_unpacked in (False, True):
            rows = unpacked == is_unpacked
            position[rows] = args.positions(lo[rows], hi[rows], is_unpacked)
        index = np.full(len(packet), -1, np.int64)
        for row in np.flatnonzero(fields.present[2]).tolist():
            text_lo, text_hi = int(fields.value[2][row]), int(fields.end[2][row])
            text = self.packets.read(text_lo, text_hi, bool(unpacked[row])).decode(
                "utf-8", "replace"
            )
            index[row] = self.names.index(text, text)
        columns.packet.append(packet)
        columns.sequence.append(self.sequence[packet])
        columns.kind.append(kind)
        columns.name.append(np.stack((iid, index)))
        columns.uuid.append(fields.value[3])
        columns.has_uuid.append(fields.present[3])
        columns.value.append(value)
        columns.duration_us.append(duration_us)
        columns.position.append(position)

    def _report_progress(self, packets: int, events: int) -> None:
        self.progress(
            self.source.size * min(packets, len(self.packets)) // max(1, len(self.packets)),
            self.source.size,
            events,
        )

    # ── the trace ──

    def build(self) -> Trace:
        """The whole trace."""
        self.describe()
        columns = self.columns()
        packet, sequence = _concatenated(columns.packet), _concatenated(columns.sequence)
        kind, uuid = _concatenated(columns.kind), _concatenated(columns.uuid)
        has_uuid = np.concatenate(columns.has_uuid) if columns.has_uuid else np.zeros(0, np.bool_)
        if self.defaults.packet and not has_uuid.all():
            default = self._default(self.default_uuid, sequence, packet)
            uuid = np.where(has_uuid, uuid, default)
            has_uuid = has_uuid | (default != 0)
        good = self.timed[packet] if len(packet) else has_uuid
        self.findings.add(
            "events without a timestamp were left out", count=int(len(good) - good.sum())
        )
        stamps = self.stamps[packet]
        counting = kind == _COUNTER
        zero = self._zero(stamps[good])
        self.builder.clock = self.clocks.wall(zero)
        self.findings.add(
            "timestamps of a clock that no snapshot ties to the others were taken as they are",
            count=self.clocks.unknown,
        )
        start = (stamps - zero) * PS_PER_NS
        code, places, read = self._places(uuid, has_uuid, sequence)
        self.quota.left_out = int((good & ~read[code]).sum()) if len(code) else 0
        self.quota.say(self.findings)
        good = good & read[code] if len(code) else good
        self._counters(places, code, good & counting, start, columns)
        self._rail_counters(zero)
        events = _LineColumns(
            kind=kind,
            start=start,
            name=self._names(columns, packet, sequence),
            position=np.concatenate(columns.position)
            if columns.position
            else np.zeros(0, np.uint64),
            duration_us=_concatenated(columns.duration_us),
        )
        self._lines(places, code, good & ~counting, events, columns)
        if not self.builder.events and not self.builder.counted:
            self.findings.add("the trace holds no track events and no counters")
        return self.builder.build(self.names, complete=True, warnings=self.source.warnings)

    def _zero(self, stamps: Int64s) -> int:
        """The first moment, in ns of the trace's clock."""
        firsts = [int(stamps.min())] if len(stamps) else []
        firsts += [ms * 1_000_000 for _, _, ms, _ in self.rails[:1] if ms]
        return min(firsts, default=0)

    def _places(
        self, uuid: Int64s, has_uuid: Bools, sequence: Int64s
    ) -> tuple[Int64s, list[TrackTarget], Bools]:
        """(the track of each event, the tracks, which of them are read).

        Events that name no track are on the one of their sequence.
        """
        keys = np.stack((np.where(has_uuid, uuid, sequence), has_uuid.astype(np.int64)))
        order = np.lexsort((keys[0], keys[1]))
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(keys[:, order], axis=1) != 0).any(axis=0)
        code = np.empty(len(order), np.int64)
        code[order] = np.cumsum(new) - 1
        firsts = keys[:, order[new]]
        places = [
            self.tracks.place(number, key, by_uuid=bool(named))
            for number, (key, named) in enumerate(
                zip(firsts[0].tolist(), firsts[1].tolist(), strict=True)
            )
        ]
        is_read = np.zeros(len(places), np.bool_)
        counters = 0
        for number in np.argsort(order[new], kind="stable").tolist():  # in the order of the file
            place = places[number]
            if place.counter is None:
                is_read[number] = self.quota.admits(place.process)
            else:
                counters += 1
                is_read[number] = counters <= MAX_COUNTERS
        return code, places, is_read

    def _counters(
        self,
        places: list[TrackTarget],
        code: Int64s,
        counting: Bools,
        start: Int64s,
        columns: _Columns,
    ) -> None:
        """Each counter track's readings."""
        rows = np.flatnonzero(counting)
        rows = rows[np.argsort(code[rows], kind="stable")]
        bounds = np.searchsorted(code[rows], np.arange(len(places) + 1))
        values = np.concatenate(columns.value) if columns.value else np.zeros(0)
        for place in places:
            track_rows = rows[bounds[place.code] : bounds[place.code + 1]]
            if place.counter is not None and len(track_rows):
                self._counter(place, track_rows, start, values)

    def _counter(self, place: TrackTarget, rows: Int64s, start: Int64s, every: Floats) -> None:
        assert place.counter is not None
        values = every[rows]
        if place.counter.incremental:
            order = np.argsort(start[rows], kind="stable")
            rows, values = rows[order], np.cumsum(np.nan_to_num(values[order]))
        self.builder.counter(
            place.name, place.counter.unit, place.process, start[rows], values * place.counter.scale
        )

    def _rail_counters(self, zero: int) -> None:
        """Energy since the machine started, as a supply rail's meter counts it."""
        table = np.array(self.rails, np.int64).reshape(-1, 4)
        table = table[np.argsort(table[:, 1], kind="stable")]
        bounds = np.searchsorted(table[:, 1], np.arange(len(self.tracks.rails) + 1))
        self.findings.add(
            f"supply rails beyond the first {MAX_COUNTERS:,} were left out",
            count=len(self.tracks.rails) - MAX_COUNTERS,
        )
        for number, name in enumerate(self.tracks.rails[:MAX_COUNTERS]):
            packet, _, ms, microjoules = table[bounds[number] : bounds[number + 1]].T
            # A reading without a time of its own has that of its packet.
            ns = np.where(ms > 0, ms * 1_000_000, self.stamps[packet])
            self.builder.counter(name, "J", "", (ns - zero) * PS_PER_NS, microjoules / 1e6)

    def _names(self, columns: _Columns, packet: Int64s, sequence: Int64s) -> Int64s:
        """The index of each event's name."""
        if not len(packet):
            return packet
        both = np.concatenate(columns.name, axis=1)
        iid: Int64s = both[0]
        name: Int64s = both[1]
        rows = np.flatnonzero((name < 0) & (iid != 0))
        defined = self.events
        if len(rows) and defined.packet:
            keys = (defined.sequence, defined.number, defined.packet)
            definition = last_definitions(
                tuple(np.array(key, np.int64) for key in keys),
                (sequence[rows], iid[rows], packet[rows]),
            )
            indices = [self.names.index(text, text) for text in defined.text]
            name[rows] = np.array([*indices, -1], np.int64)[definition]
        # An end needs no name.
        nameless = np.flatnonzero((name < 0) & (np.concatenate(columns.kind) != _END))
        self.findings.add(
            "events whose names were lost are called by their number",
            count=int((iid[nameless] != 0).sum()),
        )
        for row in nameless.tolist():
            text = f"event {int(iid[row]) & (1 << 64) - 1}" if iid[row] else "event"
            name[row] = self.names.index(text, text)
        return name

    def _lines(
        self,
        places: list[TrackTarget],
        code: Int64s,
        good: Bools,
        events: _LineColumns,
        columns: _Columns,
    ) -> None:
        """Each track's begins and ends as stretches, its instants beside them."""
        typed = np.isin(events.kind, (_BEGIN, _END, _INSTANT, _COMPLETE))
        self.findings.add(
            "events of an unknown type were left out", count=int((good & ~typed).sum())
        )
        drawn = good & typed
        rows = np.flatnonzero(drawn)
        latest_ps = int(events.start[rows].max()) if len(rows) else 0
        meaning = self._meaning(columns, events.position)
        source = args.Annotations(self.packets.stored, self.packets.memory, meaning)
        # Tracks of one thread are one line.
        merged: dict[tuple[str, int, str], int] = {}
        for place in places:
            merged.setdefault((place.process, place.key, place.name), len(merged))
        line_of_track = np.array([merged[p.process, p.key, p.name] for p in places], np.int64)
        line_of_event = line_of_track[code] if len(code) else code
        rows = rows[np.lexsort((np.arange(len(rows)), events.start[rows], line_of_event[rows]))]
        bounds = np.searchsorted(line_of_event[rows], np.arange(len(merged) + 1))
        tracks: list[Track | None] = [None] * len(merged)
        processes: dict[str, ProcessBuilder] = {}
        for process in dict.fromkeys(process for process, _, _ in merged):
            if len(processes) < MAX_PROCESSES:
                processes[process] = self.builder.process(process, (), source)
        for (process, key, label), line in merged.items():
            line_rows = rows[bounds[line] : bounds[line + 1]]
            if not len(line_rows):
                continue
            if process not in processes:
                # Processes without events were among the first: this one is one more.
                processes[process] = self.builder.process(process, (), source)
            line_events = self._line_events(events, line_rows, latest_ps)
            tracks[line] = processes[process].add(key, label, line_events)
        self._draw_flows(drawn, line_of_event, events.start, tracks)

    def _line_events(self, events: _LineColumns, rows: Int64s, latest_ps: int) -> LineEvents:
        """The events of one line; its rows are sorted by time."""
        kind, start = events.kind[rows], events.start
        marks = rows[(kind == _BEGIN) | (kind == _END)]
        paired = pair(events.kind[marks] == _BEGIN)
        self.findings.add("ends without a begin were left out", count=paired.stray)
        self.findings.add(
            "begins without an end were extended to the end of the trace",
            count=int((paired.end < 0).sum()),
        )
        begin, end = marks, marks  # empty where there are no marks
        if len(marks):
            begin = marks[paired.begin]
            end = np.where(paired.end >= 0, start[marks[paired.end]], latest_ps)
        singles = rows[(kind == _INSTANT) | (kind == _COMPLETE)]
        all_rows = np.concatenate((begin, singles))
        single_ps = events.duration_us[singles] * (1000 * PS_PER_NS)
        return LineEvents(
            start[all_rows],
            np.concatenate((end - start[begin], single_ps)),
            events.name[all_rows].astype(np.uint32),
            events.position[all_rows],
        )

    def _draw_flows(
        self, drawn: Bools, line_of_event: Int64s, start: Int64s, tracks: list[Track | None]
    ) -> None:
        """Arrows between the events of each flow."""
        ends = FlowEnds()
        flows = np.array(self.flows, np.int64).reshape(-1, 3)
        if len(flows):
            flows = flows[drawn[flows[:, 0]]]
        event, flow, kind = flows.T
        ends.extend(
            group=np.zeros(len(event), np.int32),
            id=flow,
            line=line_of_event[event].astype(np.int32),
            at=start[event],
            kind=kind.astype(np.uint8),
        )
        self.builder.draw(ends.arrows(), tracks)

    def _meaning(self, columns: _Columns, position: UInt64s) -> args.Meaning:
        """A function that gives the text of an interned number in an event's annotations."""
        order = np.argsort(position, kind="stable")
        positions = position[order]
        packet = _concatenated(columns.packet)[order]
        sequence = _concatenated(columns.sequence)[order]
        tables = {"name": self.annotations, "text": self.texts, "event": self.events}
        # By kind, then by sequence and number: (packet, text) in the order of the file.
        keyed: dict[str, dict[tuple[int, int], list[tuple[int, str]]]] = {}
        for kind, table in tables.items():
            texts = keyed[kind] = {}
            for where, owner, number, text in zip(*table, strict=True):
                texts.setdefault((owner, number), []).append((where, text))

        def meaning(place: int, kind: str, number: int) -> str:
            row = int(np.searchsorted(positions, np.uint64(place)))
            if row >= len(positions) or int(positions[row]) != place:
                return ""
            definitions = keyed[kind].get((int(sequence[row]), _signed(number)), [])
            for where, text in reversed(definitions):
                if where <= packet[row]:
                    return clean(text)
            return ""

        return meaning


def _concatenated(parts: list[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _signed(value: int) -> int:
    """As the wire's columns hold it."""
    return value - (1 << 64) if value >> 63 else value
