"""From the packets of a file to its trace: its lines, its counters and its arrows."""

from __future__ import annotations

import numpy as np

from powertui.data.formats.builder import MAX_COUNTERS, LineEvents, ProcessBuilder, TraceBuilder
from powertui.data.formats.file_warnings import MAX_PROCESSES, FileWarnings, LineQuota
from powertui.data.formats.flow_ends import FlowEnds
from powertui.data.formats.json_stats import clean
from powertui.data.formats.pairing import pair
from powertui.data.formats.perfetto import args, packets
from powertui.data.formats.perfetto.descriptions import Descriptions, signed
from powertui.data.formats.perfetto.event_columns import (
    BEGIN,
    COMPLETE,
    COUNTER,
    END,
    INSTANT,
    EventReader,
    TrackEvents,
)
from powertui.data.formats.perfetto.names import last_definitions
from powertui.data.formats.perfetto.tracks import TrackTarget
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import PS_PER_NS, Bools, Floats, Int64s, Trace, Track
from powertui.data.sorted_columns import numbered

_NS_PER_MS = 1_000_000
_UJ_PER_J = 1e6
_PS_PER_US = 1000 * PS_PER_NS


class PerfettoReader:
    """Reads one file: `build` gives its trace."""

    def __init__(self, source: OpenedFile, progress: Progress) -> None:
        self.source = source
        self.progress = progress
        self.builder = TraceBuilder(source.path, "perfetto", size=source.size)
        self.findings: FileWarnings = self.builder.findings
        self.quota = LineQuota()
        self.packets = packets.find_packets(source, self.findings)
        self.described = Descriptions(self.packets, self.findings)
        self.reader = EventReader(source, self.packets, self.described, self.findings)
        self.names = self.reader.names

    def _report_progress(self, packet_count: int, events: int) -> None:
        total = len(self.packets)
        size = self.source.size
        read_bytes = size * min(packet_count, total) // max(1, total)
        self.progress(read_bytes, size, events)

    def build(self) -> Trace:
        """The whole trace."""
        described = self.described
        described.read(self._report_progress)
        events = self.reader.read(self._report_progress)
        events = self._with_default_tracks(events)
        timed = self.reader.timed[events.packet]
        stamps = self.reader.stamps[events.packet]
        self.findings.add(
            "events without a timestamp were left out",
            count=int((~timed).sum()),
        )
        zero = self._zero(stamps[timed])
        self.builder.clock = described.clocks.wall(zero)
        self.findings.add(
            "timestamps of a clock that no snapshot ties to the others were taken as they are",
            count=described.clocks.unknown,
        )
        start = (stamps - zero) * PS_PER_NS
        code, places, is_read = self._places(events)
        on_read_track = is_read[code]
        self.quota.left_out = int((timed & ~on_read_track).sum())
        self.quota.say(self.findings)
        usable = timed & on_read_track
        is_reading = events.kind == COUNTER
        self._counters(places, code, usable & is_reading, start, events.value)
        self._rail_counters(zero)
        events = events._replace(name=self._names(events))
        self._lines(places, code, usable & ~is_reading, start, events)
        if not self.builder.events and not self.builder.counted:
            self.findings.add("the trace holds no track events and no counters")
        return self.builder.build(self.names, complete=True, warnings=self.source.warnings)

    def _with_default_tracks(self, events: TrackEvents) -> TrackEvents:
        """The same, with the default track of its sequence for each event that names none."""
        has_uuid = events.has_uuid
        if has_uuid.all():
            return events
        described = self.described
        default = described.defaults(described.default_uuid, events.sequence, events.packet)
        if default is None:
            return events
        return events._replace(
            uuid=np.where(has_uuid, events.uuid, default),
            has_uuid=has_uuid | (default != 0),
        )

    def _zero(self, stamps: Int64s) -> int:
        """The first moment, in ns of the trace's clock."""
        firsts = []
        if len(stamps):
            firsts.append(int(stamps.min()))
        for _, _, first_ms, _ in self.described.rails[:1]:
            if first_ms:
                firsts.append(first_ms * _NS_PER_MS)
        return min(firsts, default=0)

    def _places(self, events: TrackEvents) -> tuple[Int64s, list[TrackTarget], Bools]:
        """(the track of each event, the tracks, which of them are read).

        Events that name no track are on the one of their sequence.
        """
        by_uuid = events.has_uuid.astype(np.int64)
        key = np.where(events.has_uuid, events.uuid, events.sequence)
        code, first_event = numbered(by_uuid, key)
        tracks = self.described.tracks
        places = []
        for number, event in enumerate(first_event.tolist()):
            place = tracks.place(number, int(key[event]), by_uuid=bool(by_uuid[event]))
            places.append(place)
        is_read = np.zeros(len(places), np.bool_)
        counter_count = 0
        in_file_order = np.argsort(first_event, kind="stable")
        for number in in_file_order.tolist():
            place = places[number]
            if place.counter is None:
                is_read[number] = self.quota.admits(place.process)
            else:
                counter_count += 1
                is_read[number] = counter_count <= MAX_COUNTERS
        return code, places, is_read

    def _counters(
        self,
        places: list[TrackTarget],
        code: Int64s,
        is_reading: Bools,
        start: Int64s,
        values: Floats,
    ) -> None:
        """Each counter track's readings."""
        rows = np.flatnonzero(is_reading)
        by_track = np.argsort(code[rows], kind="stable")
        rows = rows[by_track]
        bounds = _bounds(code[rows], len(places))
        for place in places:
            track_rows = rows[bounds[place.code] : bounds[place.code + 1]]
            if place.counter is not None and len(track_rows):
                self._counter(place, start[track_rows], values[track_rows])

    def _counter(self, place: TrackTarget, times: Int64s, values: Floats) -> None:
        counter = place.counter
        assert counter is not None
        if counter.incremental:
            order = np.argsort(times, kind="stable")
            times = times[order]
            increments = np.nan_to_num(values[order])
            values = np.cumsum(increments)
        scaled = values * counter.scale
        self.builder.counter(
            place.name,
            counter.unit,
            place.process,
            times,
            scaled,
        )

    def _rail_counters(self, zero: int) -> None:
        """Energy since the machine started, as a supply rail's meter counts it."""
        names = self.described.tracks.rails
        self.findings.add(
            f"supply rails beyond the first {MAX_COUNTERS:,} were left out",
            count=len(names) - MAX_COUNTERS,
        )
        readings = np.array(self.described.rails, np.int64).reshape(-1, 4)
        order = np.argsort(readings[:, 1], kind="stable")
        by_rail = readings[order]
        bounds = _bounds(by_rail[:, 1], len(names))
        for rail, name in enumerate(names[:MAX_COUNTERS]):
            of_rail = by_rail[bounds[rail] : bounds[rail + 1]]
            packet, _, ms, microjoules = of_rail.T
            # A reading without a time of its own has that of its packet.
            packet_ns = self.reader.stamps[packet]
            ns = np.where(ms > 0, ms * _NS_PER_MS, packet_ns)
            self.builder.counter(
                name,
                "J",
                "",
                (ns - zero) * PS_PER_NS,
                microjoules / _UJ_PER_J,
            )

    def _names(self, events: TrackEvents) -> Int64s:
        """The index of each event's name."""
        iid = events.name_iid
        name: Int64s = events.name.copy()
        rows = np.flatnonzero((name < 0) & (iid != 0))
        defined = self.described.events
        if len(rows) and defined.packet:
            definition = last_definitions(
                (
                    np.array(defined.sequence, np.int64),
                    np.array(defined.number, np.int64),
                    np.array(defined.packet, np.int64),
                ),
                (events.sequence[rows], iid[rows], events.packet[rows]),
            )
            indices = [self.names.index(text, text) for text in defined.text]
            indices.append(-1)  # of a number that is not defined
            name[rows] = np.array(indices, np.int64)[definition]
        needs_name = events.kind != END
        nameless = np.flatnonzero((name < 0) & needs_name)
        self.findings.add(
            "events whose names were lost are called by their number",
            count=int((iid[nameless] != 0).sum()),
        )
        for row in nameless.tolist():
            number = int(iid[row])
            text = "event"
            if number:
                unsigned = number & (1 << 64) - 1
                text = f"event {unsigned}"
            name[row] = self.names.index(text, text)
        return name

    def _lines(
        self,
        places: list[TrackTarget],
        code: Int64s,
        usable: Bools,
        start: Int64s,
        events: TrackEvents,
    ) -> None:
        """Each track's begins and ends as stretches, its instants beside them."""
        typed = np.isin(events.kind, (BEGIN, END, INSTANT, COMPLETE))
        self.findings.add(
            "events of an unknown type were left out",
            count=int((usable & ~typed).sum()),
        )
        drawn = usable & typed
        rows = np.flatnonzero(drawn)
        latest_ps = int(start[rows].max()) if len(rows) else 0
        meaning = self._meaning(events)
        source = args.Annotations(self.packets.stored, self.packets.memory, meaning)
        # Tracks of one thread are one line.
        line_numbers: dict[tuple[str, int, str], int] = {}
        line_of_track = np.zeros(len(places), np.int64)
        for place in places:
            line_key = (place.process, place.key, place.name)
            line_of_track[place.code] = line_numbers.setdefault(line_key, len(line_numbers))
        line_of_event = line_of_track[code]
        file_order = np.arange(len(rows))
        order = np.lexsort((file_order, start[rows], line_of_event[rows]))
        rows = rows[order]
        bounds = _bounds(line_of_event[rows], len(line_numbers))
        tracks: list[Track | None] = [None] * len(line_numbers)
        processes: dict[str, ProcessBuilder] = {}
        for process, _, _ in line_numbers:
            if process not in processes and len(processes) < MAX_PROCESSES:
                processes[process] = self.builder.process(process, (), source)
        for (process, key, label), line in line_numbers.items():
            line_rows = rows[bounds[line] : bounds[line + 1]]
            if not len(line_rows):
                continue
            if process not in processes:
                # Processes without events were among the first: this one is one more.
                processes[process] = self.builder.process(process, (), source)
            line_events = self._line_events(events, start, line_rows, latest_ps)
            tracks[line] = processes[process].add(key, label, line_events)
        self._draw_flows(drawn, line_of_event, start, tracks)

    def _line_events(
        self,
        events: TrackEvents,
        start: Int64s,
        rows: Int64s,
        latest_ps: int,
    ) -> LineEvents:
        """The events of one line; its rows are sorted by time."""
        kind = events.kind[rows]
        marks = rows[(kind == BEGIN) | (kind == END)]
        paired = pair(events.kind[marks] == BEGIN)
        self.findings.add("end events without a begin event were left out", count=paired.stray)
        self.findings.add(
            "begin events without an end event were extended to the end of the trace",
            count=int((paired.end < 0).sum()),
        )
        begin, end = marks, marks  # empty where there are no marks
        if len(marks):
            begin = marks[paired.begin]
            end = np.where(paired.end >= 0, start[marks[paired.end]], latest_ps)
        singles = rows[(kind == INSTANT) | (kind == COMPLETE)]
        all_rows = np.concatenate((begin, singles))
        single_ps = events.duration_us[singles] * _PS_PER_US
        return LineEvents(
            start[all_rows],
            np.concatenate((end - start[begin], single_ps)),
            events.name[all_rows].astype(np.uint32),
            events.position[all_rows],
        )

    def _draw_flows(
        self,
        drawn: Bools,
        line_of_event: Int64s,
        start: Int64s,
        tracks: list[Track | None],
    ) -> None:
        """Arrows between the events of each flow."""
        ends = FlowEnds()
        flows = np.array(self.reader.flows, np.int64).reshape(-1, 3)
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

    def _meaning(self, events: TrackEvents) -> args.Meaning:
        """A function that gives the text of an interned number in an event's annotations."""
        order = np.argsort(events.position, kind="stable")
        positions = events.position[order]
        packet = events.packet[order]
        sequence = events.sequence[order]
        described = self.described
        tables = {
            "name": described.annotations,
            "text": described.texts,
            "event": described.events,
        }
        # By kind, then by sequence and number: (packet, text) in the order of the file.
        keyed: dict[str, dict[tuple[int, int], list[tuple[int, str]]]] = {}
        for kind, table in tables.items():
            texts = keyed[kind] = {}
            for where, owner, number, text in zip(*table, strict=True):
                definitions = texts.setdefault((owner, number), [])
                definitions.append((where, text))

        def meaning(place: int, kind: str, number: int) -> str:
            row = int(np.searchsorted(positions, np.uint64(place)))
            if row >= len(positions) or int(positions[row]) != place:
                return ""
            owner = int(sequence[row])
            definitions = keyed[kind].get((owner, signed(number)), [])
            for where, text in reversed(definitions):
                if where <= packet[row]:
                    return clean(text)
            return ""

        return meaning


def _bounds(ordered_numbers: Int64s, count: int) -> Int64s:
    """Where the rows of each of so many numbers begin in an ordered column, and where the last
    ones end.
    """
    bounds: Int64s = np.searchsorted(ordered_numbers, np.arange(count + 1))
    return bounds
