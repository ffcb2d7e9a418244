"""From the packets of a file to its trace: what describes the rest first, then the events as
columns, then lines and counters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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

_EVENT = 400  # bytes of memory for each while it is read

_TIME, CLOCK, _SEQUENCE, _EVENTS = (
    wire.tag(8, VARINT),
    wire.tag(58, VARINT),
    wire.tag(10, VARINT),
    wire.tag(11, LEN),
)
_SNAPSHOT, _INTERNED, _DEFAULTS, _TRACK = (
    wire.tag(6, LEN),
    wire.tag(12, LEN),
    wire.tag(59, LEN),
    wire.tag(60, LEN),
)
_TREE, _PROCESS, _THREAD, _RAILS = (
    wire.tag(2, LEN),
    wire.tag(43, LEN),
    wire.tag(44, LEN),
    wire.tag(40, LEN),
)

_TYPE, _NAME_IID, _OWN_NAME, _UUID = (
    wire.tag(9, VARINT),
    wire.tag(10, VARINT),
    wire.tag(23, LEN),
    wire.tag(11, VARINT),
)
_WHOLE, _DECIMAL, _LEGACY = wire.tag(30, VARINT), wire.tag(44, FIXED64), wire.tag(6, LEN)
_FLOWS = (wire.tag(47, FIXED64), wire.tag(48, FIXED64), wire.tag(36, VARINT), wire.tag(42, VARINT))
_PHASE, _PHASE_NAME, _PHASE_US = wire.tag(2, VARINT), wire.tag(1, VARINT), wire.tag(3, VARINT)

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_SPAN = 16  # ours: a legacy event that says its own duration
_PHASES = {
    ord("B"): _BEGIN,
    ord("E"): _END,
    ord("X"): _SPAN,
    ord("i"): _INSTANT,
    ord("I"): _INSTANT,
    ord("n"): _INSTANT,
}

# Packets of other data sources: named, so that nobody thinks they were never recorded.
_OTHERS = {
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
    name: list[Int64s] = field(
        default_factory=list
    )  # index into the names; -1 - i for an interned number that is row i of `iids`
    uuid: list[Int64s] = field(default_factory=list)
    has_uuid: list[Bools] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    duration_us: list[Int64s] = field(default_factory=list)
    position: list[UInt64s] = field(default_factory=list)


class PerfettoReader:
    def __init__(self, source: OpenedFile, progress: Progress) -> None:
        self.source, self.progress = source, progress
        self.builder = TraceBuilder(source.path, "perfetto", size=source.size)
        self.findings: FileWarnings = self.builder.findings
        self.names = PairNames()
        self.clocks, self.tracks = Clocks(), Tracks()
        self.quota = LineQuota()
        self.events = Definitions([], [], [], [])
        self.notes = Definitions([], [], [], [])
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
        """Clocks, names, tracks, defaults: few packets, decoded whole."""
        rare = (
            _SEQUENCE,
            _SNAPSHOT,
            _TREE,
            _INTERNED,
            _DEFAULTS,
            _TRACK,
            _PROCESS,
            _THREAD,
            _RAILS,
        )
        handlers = (
            self._snapshot,
            self.tracks.tree,
            self._interned,
            self._defaults,
            self._track,
            self._process,
            self._thread,
            self._rails,
        )
        kinds = ("Clocks", "Tree", "Interned", "Defaults", "Track", "Process", "Thread", "Rails")
        others = tuple(wire.tag(number, LEN) for number in _OTHERS)
        sequences = []
        for rows in slices(len(self.packets)):
            every = self.packets.pick(rows, (_SEQUENCE, _EVENTS, _INTERNED, _DEFAULTS))
            sequences.append(every.value[0])
            self.findings.add(
                "damaged packets were read up to the damage", count=int(every.bad >= 0)
            )
            few = (
                np.flatnonzero(~every.present[1] | every.present[2] | every.present[3]) + rows.start
            )
            found = self.packets.pick(few, (*rare, *others))
            for k, what in enumerate(_OTHERS.values(), len(rare)):
                self.findings.add(f"{what} are not drawn", count=int(found.present[k].sum()))
            for at in np.flatnonzero(found.present[1 : len(rare)].any(axis=0)).tolist():
                packet = int(few[at])
                for k in np.flatnonzero(found.present[1 : len(rare), at]).tolist():
                    lo, hi = int(found.value[k + 1, at]), int(found.end[k + 1, at])
                    message = self._message(
                        f"Perfetto{kinds[k]}", lo, hi, bool(self.packets.unpacked[packet])
                    )
                    if message is not None:
                        handlers[k](packet, int(found.value[0, at]), message)
            self._tell(rows.stop, 0)
        self.sequence = np.concatenate(sequences)

    def _message(self, kind: str, lo: int, hi: int, unpacked: bool) -> Any:
        try:
            return schemas.parsed(kind, self.packets.read(lo, hi, unpacked))
        except schemas.Undecodable:
            self.findings.add("packets that describe names, tracks or clocks were damaged")
            return None

    def _snapshot(self, packet: int, sequence: int, message: Any) -> None:
        self.clocks.snapshot(packet, sequence, message)

    def _interned(self, packet: int, sequence: int, message: Any) -> None:
        for kept, found in (
            (self.events, message.event_names),
            (self.notes, message.debug_annotation_names),
        ):
            for one in found:
                kept.add(packet, sequence, _signed(one.iid), one.name)
        for one in message.debug_annotation_string_values:
            self.texts.add(packet, sequence, _signed(one.iid), one.str.decode("utf-8", "replace"))

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
        for one in message.rail_descriptor:
            self.tracks.rail(sequence, one.index, one.rail_name, one.subsys_name)
        for one in message.energy_data:
            self.rails.append(
                (packet, self.tracks.rail_number(sequence, one.index), one.timestamp_ms, one.energy)
            )

    # ── events ──

    def columns(self) -> _Columns:
        """Every event of a track."""
        kept = _Columns()
        stamps, timed, clock = [], [], []
        count = 0
        for rows in slices(len(self.packets)):
            found = self.packets.pick(rows, (_TIME, CLOCK, _EVENTS))
            stamps.append(found.value[0])
            timed.append(found.present[0])
            clock.append(np.where(found.present[1], found.value[1], -1))
            at = np.flatnonzero(found.present[2])
            if len(at):
                self._slice(kept, at + rows.start, found.value[2][at], found.end[2][at], count)
                count += len(at)
            self.source.limit.check(self.source.path, count * _EVENT)
            self._tell(rows.stop, count)
        self.timed = np.concatenate(timed)
        self._in_time(np.concatenate(stamps), np.concatenate(clock))
        return kept

    def _in_time(self, told: Int64s, clock: Int64s) -> None:
        """All timestamps in ns of the trace's clock: incremental clocks count every packet of
        theirs.
        """
        packet = np.flatnonzero(self.timed)
        sequence = self.sequence[packet]
        by_default = clock[packet] < 0
        if self.defaults.packet and by_default.any():
            found = last_definitions(
                (
                    np.array(self.defaults.sequence, np.int64),
                    np.array(self.defaults.packet, np.int64),
                ),
                (sequence, packet),
            )
            usual = np.array([*self.default_clock, 0], np.int64)[found]
            clock[packet] = np.where(by_default & (usual > 0), usual, clock[packet])
        ids = np.where(clock[packet] > 0, clock[packet], self.clocks.primary or BOOTTIME)
        self.stamps = told
        self.stamps[packet] = self.clocks.times(packet, sequence, ids, told[packet])

    def _flow(self, row: int, lo: int, hi: int, unpacked: bool) -> None:
        """The flows that an event belongs to, and those that end with it."""
        message = self._message("PerfettoFlows", lo, hi, unpacked)
        if message is not None:
            self.flows += [
                (row, _signed(one), STEP) for one in (*message.flow_ids, *message.old_flow_ids)
            ]
            self.flows += [
                (row, _signed(one), FINISH)
                for one in (*message.terminating_flow_ids, *message.old_terminating)
            ]

    def _slice(self, kept: _Columns, packet: Int64s, lo: Int64s, hi: Int64s, count: int) -> None:
        unpacked = self.packets.unpacked[packet]
        tags = (_TYPE, _NAME_IID, _OWN_NAME, _UUID, _WHOLE, _DECIMAL, _LEGACY, *_FLOWS)
        found = self.packets.fields(lo, hi, unpacked, tags)
        kind, iid = found.value[0].copy(), found.value[1].copy()
        duration_us = np.zeros(len(packet), np.int64)
        old = np.flatnonzero(found.present[6])
        if len(old):
            legacy = self.packets.fields(
                found.value[6][old],
                found.end[6][old],
                unpacked[old],
                (_PHASE, _PHASE_NAME, _PHASE_US),
            )
            untold = kind[old] == 0
            phases = np.array(
                [_PHASES.get(int(one), 0) for one in legacy.value[0].tolist()], np.int64
            )
            kind[old] = np.where(untold, phases, kind[old])
            iid[old] = np.where(iid[old] == 0, legacy.value[1], iid[old])
            duration_us[old] = legacy.value[2]
            self.findings.add(
                "asynchronous events of old writers are not drawn",
                count=int((untold & (phases == 0)).sum()),
            )
        for row in np.flatnonzero(found.present[7:].any(axis=0)).tolist():
            self._flow(count + row, int(lo[row]), int(hi[row]), bool(unpacked[row]))
        # FIXED64 comes as its bits
        value = np.where(
            found.present[5], found.value[5].view(np.float64), found.value[4].astype(np.float64)
        )
        value = np.where(found.present[4] | found.present[5], value, np.nan)
        position = np.zeros(len(packet), np.uint64)
        for inside in (False, True):
            mine = unpacked == inside
            position[mine] = args.positions(lo[mine], hi[mine], inside)
        name = np.where(iid != 0, iid, 0)
        own = np.flatnonzero(found.present[2])
        index = np.full(len(packet), -1, np.int64)
        for row in own.tolist():
            text = self.packets.read(
                int(found.value[2][row]), int(found.end[2][row]), bool(unpacked[row])
            ).decode("utf-8", "replace")
            index[row] = self.names.index(text, text)
        kept.packet.append(packet)
        kept.sequence.append(self.sequence[packet])
        kept.kind.append(kind)
        kept.name.append(np.stack((name, index)))
        kept.uuid.append(found.value[3])
        kept.has_uuid.append(found.present[3])
        kept.value.append(value)
        kept.duration_us.append(duration_us)
        kept.position.append(position)

    def _tell(self, packets: int, events: int) -> None:
        self.progress(
            self.source.size * min(packets, len(self.packets)) // max(1, len(self.packets)),
            self.source.size,
            events,
        )

    # ── the trace ──

    def build(self) -> Trace:
        """All of it."""
        self.describe()
        kept = self.columns()
        packet, sequence = _joined(kept.packet), _joined(kept.sequence)
        kind, uuid = _joined(kept.kind), _joined(kept.uuid)
        has_uuid = np.concatenate(kept.has_uuid) if kept.has_uuid else np.zeros(0, np.bool_)
        if self.defaults.packet and not has_uuid.all():
            found = last_definitions(
                (
                    np.array(self.defaults.sequence, np.int64),
                    np.array(self.defaults.packet, np.int64),
                ),
                (sequence, packet),
            )
            usual = np.array([*self.default_uuid, 0], np.int64)[found]
            uuid = np.where(has_uuid, uuid, usual)
            has_uuid = has_uuid | (usual != 0)
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
        self._counters(places, code, good & counting, start, kept)
        self._rail_counters(zero)
        name = self._names(kept, packet, sequence)
        self._lines(places, code, good & ~counting, kind, start, name, kept)
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
        """Which track each event is on, and which tracks are read.

        Events that name none are on their sequence's.
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
        read = np.zeros(len(places), np.bool_)
        counters = 0
        for number in np.argsort(order[new], kind="stable").tolist():  # as they come in the file
            counters += places[number].counter is not None
            if places[number].counter is None:
                read[number] = self.quota.admits(places[number].process)
            else:
                read[number] = counters <= MAX_COUNTERS
        return code, places, read

    def _counters(
        self,
        places: list[TrackTarget],
        code: Int64s,
        counting: Bools,
        start: Int64s,
        kept: _Columns,
    ) -> None:
        """Each counter track's readings."""
        rows = np.flatnonzero(counting)
        rows = rows[np.argsort(code[rows], kind="stable")]
        bounds = np.searchsorted(code[rows], np.arange(len(places) + 1))
        values = np.concatenate(kept.value) if kept.value else np.zeros(0)
        for place in places:
            mine = rows[bounds[place.code] : bounds[place.code + 1]]
            if place.counter is not None and len(mine):
                self._counter(place, mine, start, values)

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
            rows = table[bounds[number] : bounds[number + 1]]
            told = rows[:, 2] > 0
            ns = np.where(told, rows[:, 2] * 1_000_000, self.stamps[rows[:, 0]])
            self.builder.counter(name, "J", "", (ns - zero) * PS_PER_NS, rows[:, 3] / 1e6)

    def _names(self, kept: _Columns, packet: Int64s, sequence: Int64s) -> Int64s:
        """The index of each event's name."""
        if not len(packet):
            return packet
        named = np.concatenate(kept.name, axis=1)
        iid: Int64s = named[0]
        name: Int64s = named[1]
        rows = np.flatnonzero((name < 0) & (iid != 0))
        defined = self.events
        if len(rows) and defined.packet:
            found = last_definitions(
                (
                    np.array(defined.sequence, np.int64),
                    np.array(defined.number, np.int64),
                    np.array(defined.packet, np.int64),
                ),
                (sequence[rows], iid[rows], packet[rows]),
            )
            of = np.array([*(self.names.index(text, text) for text in defined.text), -1], np.int64)
            name[rows] = of[found]
        lost = np.flatnonzero(name < 0)
        ends = np.concatenate(kept.kind)[lost] == _END  # an end needs no name
        self.findings.add(
            "events whose names were lost are called by their number",
            count=int((iid[lost][~ends] != 0).sum()),
        )
        for row in lost[~ends].tolist():
            text = f"event {int(iid[row]) & (1 << 64) - 1}" if iid[row] else "event"
            name[row] = self.names.index(text, text)
        return name

    def _lines(
        self,
        places: list[TrackTarget],
        code: Int64s,
        good: Bools,
        kind: Int64s,
        start: Int64s,
        name: Int64s,
        kept: _Columns,
    ) -> None:
        """Each track's begins and ends as stretches, its instants beside them."""
        position = np.concatenate(kept.position) if kept.position else np.zeros(0, np.uint64)
        duration_us = _joined(kept.duration_us)
        known = (kind == _BEGIN) | (kind == _END) | (kind == _INSTANT) | (kind == _SPAN)
        self.findings.add(
            "events of an unknown type were left out", count=int((good & ~known).sum())
        )
        rows = np.flatnonzero(good & known)
        latest_ps = int(start[rows].max()) if len(rows) else 0
        source = args.Annotations(
            self.packets.stored, self.packets.memory, self._meaning(kept, position)
        )
        # Tracks of one thread are one line.
        merged: dict[tuple[str, int, str], int] = {}
        to = np.array(
            [merged.setdefault((p.process, p.key, p.name), len(merged)) for p in places] or [0],
            np.int64,
        )
        line_of = to[code[rows]] if len(rows) else rows
        rows = rows[np.lexsort((np.arange(len(rows)), start[rows], line_of))]
        bounds = np.searchsorted(to[code[rows]] if len(rows) else rows, np.arange(len(merged) + 1))
        lines: list[Track | None] = [None] * len(merged)
        processes: dict[str, ProcessBuilder] = {}
        for process in dict.fromkeys(process for process, _, _ in merged):
            if len(processes) < MAX_PROCESSES:
                processes[process] = self.builder.process(process, (), source)
        for (process, key, label), line in merged.items():
            mine = rows[bounds[line] : bounds[line + 1]]
            if not len(mine):
                continue
            if (
                process not in processes
            ):  # its place among the first was taken by processes without events
                processes[process] = self.builder.process(process, (), source)
            stretch = mine[(kind[mine] == _BEGIN) | (kind[mine] == _END)]
            found = pair(kind[stretch] == _BEGIN)
            self.findings.add("ends without a begin were left out", count=found.stray)
            self.findings.add(
                "begins without an end were extended to the end of the trace",
                count=int((found.end < 0).sum()),
            )
            begin = stretch[found.begin] if len(stretch) else stretch
            end = (
                np.where(found.end >= 0, start[stretch[found.end]], latest_ps)
                if len(stretch)
                else stretch
            )
            others = mine[(kind[mine] == _INSTANT) | (kind[mine] == _SPAN)]
            every = np.concatenate((begin, others))
            length = np.concatenate((end - start[begin], duration_us[others] * (1000 * PS_PER_NS)))
            events = LineEvents(
                start[every], length, name[every].astype(np.uint32), position[every]
            )
            lines[line] = processes[process].add(key, label, events)

        ends = FlowEnds()
        flows = np.array(self.flows, np.int64).reshape(-1, 3)
        flows = flows[(good & known)[flows[:, 0]]] if len(flows) else flows
        of = flows[:, 0]
        ends.extend(
            np.zeros(len(of), np.int32),
            flows[:, 1],
            to[code[of]].astype(np.int32),
            start[of],
            flows[:, 2].astype(np.uint8),
        )
        self.builder.draw(ends.arrows(), lines)

    def _meaning(self, kept: _Columns, position: UInt64s) -> args.Meaning:
        """What an interned number of an event's annotations stood for."""
        order = np.argsort(position, kind="stable")
        at, packet, sequence = (
            position[order],
            _joined(kept.packet)[order],
            _joined(kept.sequence)[order],
        )
        tables = {"name": self.notes, "text": self.texts, "event": self.events}
        keyed: dict[str, dict[tuple[int, int], list[tuple[int, str]]]] = {}
        for kind, table in tables.items():
            of = keyed[kind] = {}
            for where, owner, number, text in zip(
                table.packet, table.sequence, table.number, table.text, strict=True
            ):
                of.setdefault((owner, number), []).append((where, text))

        def meaning(place: int, kind: str, number: int) -> str:
            row = int(np.searchsorted(at, np.uint64(place)))
            if row >= len(at) or int(at[row]) != place:
                return ""
            told = keyed[kind].get((int(sequence[row]), _signed(number)), [])
            return next((clean(text) for where, text in reversed(told) if where <= packet[row]), "")

        return meaning


def _joined(parts: list[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _signed(value: int) -> int:
    """As the wire's columns hold it."""
    return value - (1 << 64) if value >> 63 else value
