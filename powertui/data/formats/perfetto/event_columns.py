"""The events of all tracks as columns, in the order of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.formats.flow_ends import FINISH, STEP
from powertui.data.formats.json_stats import PairNames
from powertui.data.formats.perfetto import args
from powertui.data.formats.perfetto.clocks import BOOTTIME
from powertui.data.formats.perfetto.descriptions import Descriptions, signed
from powertui.data.formats.perfetto.packets import Packets, slices
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Bools, Floats, Int64s, UInt64s
from powertui.data.wire import FIXED64, LEN, VARINT, PickedFields
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_EVENT_BYTES = 400  # memory of an event while it is read

# Fields of a packet.
_TIME = wire.tag(8, VARINT)
_CLOCK = wire.tag(58, VARINT)
_EVENTS = wire.tag(11, LEN)

# Fields of an event of a track.
_EVENT_FIELDS = {
    "type": wire.tag(9, VARINT),
    "name_iid": wire.tag(10, VARINT),
    "name": wire.tag(23, LEN),
    "uuid": wire.tag(11, VARINT),
    "integer": wire.tag(30, VARINT),
    "double": wire.tag(44, FIXED64),
    "legacy": wire.tag(6, LEN),
}
_FIELD = {name: row for row, name in enumerate(_EVENT_FIELDS)}
_FLOWS = (wire.tag(47, FIXED64), wire.tag(48, FIXED64), wire.tag(36, VARINT), wire.tag(42, VARINT))

# Fields of a legacy event.
_PHASE = wire.tag(2, VARINT)
_PHASE_NAME = wire.tag(1, VARINT)
_PHASE_US = wire.tag(3, VARINT)

BEGIN = 1
END = 2
INSTANT = 3
COUNTER = 4
COMPLETE = 16  # not of Perfetto: a legacy event with a duration of its own
_PHASES = {
    ord("B"): BEGIN,
    ord("E"): END,
    ord("X"): COMPLETE,
    ord("i"): INSTANT,
    ord("I"): INSTANT,
    ord("n"): INSTANT,
}


class TrackEvents(NamedTuple):
    """The events of all tracks, each column one array."""

    packet: Int64s
    sequence: Int64s
    kind: Int64s
    name_iid: Int64s  # an interned number; 0 without one
    name: Int64s  # an index into the names; -1 without one
    uuid: Int64s  # of its track
    has_uuid: Bools
    value: Floats  # of a counter
    duration_us: Int64s
    position: UInt64s


@dataclass
class _Collected:
    """The columns of events, slice by slice of the file."""

    parts: list[TrackEvents] = field(default_factory=list)
    count: int = 0

    def add(self, part: TrackEvents) -> None:
        self.parts.append(part)
        self.count += len(part.packet)

    def joined(self) -> TrackEvents:
        none = np.zeros(0, np.int64)
        empty = TrackEvents(
            packet=none,
            sequence=none,
            kind=none,
            name_iid=none,
            name=none,
            uuid=none,
            has_uuid=np.zeros(0, np.bool_),
            value=np.zeros(0),
            duration_us=none,
            position=np.zeros(0, np.uint64),
        )
        columns = zip(*(self.parts or [empty]), strict=True)
        return TrackEvents(*(np.concatenate(column) for column in columns))


class EventReader:
    """Reads the events of one file, and the times of its packets."""

    def __init__(
        self,
        source: OpenedFile,
        packets: Packets,
        described: Descriptions,
        findings: FileWarnings,
    ) -> None:
        self._source = source
        self._packets = packets
        self._described = described
        self._findings = findings
        self.names = PairNames()
        self.flows: list[tuple[int, int, int]] = []  # (event, flow, STEP or FINISH)
        self.stamps = np.zeros(0, np.int64)  # ns of each packet; only where `timed`
        self.timed = np.zeros(0, np.bool_)

    def read(self, report_progress: Callable[[int, int], None]) -> TrackEvents:
        """Every event of a track."""
        collected = _Collected()
        stamps = []
        timed = []
        clocks = []
        for rows in slices(len(self._packets)):
            fields = self._packets.pick(rows, (_TIME, _CLOCK, _EVENTS))
            has_time, has_clock, has_event = fields.present
            stamps.append(fields.value[0])
            timed.append(has_time)
            clocks.append(np.where(has_clock, fields.value[1], -1))
            at = np.flatnonzero(has_event)
            if len(at):
                lo = fields.value[2][at]
                hi = fields.end[2][at]
                collected.add(self._slice(at + rows.start, lo, hi, collected.count))
            self._source.limit.check(self._source.path, collected.count * _EVENT_BYTES)
            report_progress(rows.stop, collected.count)
        self.timed = np.concatenate(timed)
        self._set_stamps(np.concatenate(stamps), np.concatenate(clocks))
        return collected.joined()

    def _set_stamps(self, stamps: Int64s, clock: Int64s) -> None:
        """Set all timestamps, in ns of the trace's clock.

        Together, because an incremental clock adds up every packet that uses it.
        """
        described = self._described
        packet = np.flatnonzero(self.timed)
        sequence = described.sequence[packet]
        clock = clock[packet]
        unnamed = clock < 0
        if unnamed.any():
            default = described.defaults(described.default_clock, sequence, packet)
            if default is not None:
                clock = np.where(unnamed & (default > 0), default, clock)
        clock = np.where(clock > 0, clock, described.clocks.primary or BOOTTIME)
        self.stamps = stamps
        self.stamps[packet] = described.clocks.times(packet, sequence, clock, stamps[packet])

    def _slice(self, packet: Int64s, lo: Int64s, hi: Int64s, first_event: int) -> TrackEvents:
        """The events of these packets; `first_event` is the number of the first."""
        unpacked = self._packets.unpacked[packet]
        tags = (*_EVENT_FIELDS.values(), *_FLOWS)
        fields = self._packets.fields(lo, hi, unpacked, tags)
        kind = fields.value[_FIELD["type"]].copy()
        name_iid = fields.value[_FIELD["name_iid"]].copy()
        duration_us = np.zeros(len(packet), np.int64)
        self._take_legacy(fields, unpacked, kind, name_iid, duration_us)
        has_flow = fields.present[len(_EVENT_FIELDS) :].any(axis=0)
        for row in np.flatnonzero(has_flow).tolist():
            self._add_flows(first_event + row, int(lo[row]), int(hi[row]), bool(unpacked[row]))
        position = np.zeros(len(packet), np.uint64)
        for is_unpacked in (False, True):
            rows = unpacked == is_unpacked
            position[rows] = args.positions(lo[rows], hi[rows], is_unpacked)
        return TrackEvents(
            packet=packet,
            sequence=self._described.sequence[packet],
            kind=kind,
            name_iid=name_iid,
            name=self._own_names(fields, unpacked),
            uuid=fields.value[_FIELD["uuid"]],
            has_uuid=fields.present[_FIELD["uuid"]],
            value=_counter_values(fields),
            duration_us=duration_us,
            position=position,
        )

    def _take_legacy(
        self,
        fields: PickedFields,
        unpacked: Bools,
        kind: Int64s,
        name_iid: Int64s,
        duration_us: Int64s,
    ) -> None:
        """Set what events of old writers say inside a message of their own."""
        legacy = np.flatnonzero(fields.present[_FIELD["legacy"]])
        if not len(legacy):
            return
        lo = fields.value[_FIELD["legacy"]][legacy]
        hi = fields.end[_FIELD["legacy"]][legacy]
        tags = (_PHASE, _PHASE_NAME, _PHASE_US)
        phase, phase_name, phase_us = self._packets.fields(lo, hi, unpacked[legacy], tags).value
        phase_kind = np.array([_PHASES.get(letter, 0) for letter in phase.tolist()], np.int64)
        untyped = kind[legacy] == 0
        kind[legacy] = np.where(untyped, phase_kind, kind[legacy])
        name_iid[legacy] = np.where(name_iid[legacy] == 0, phase_name, name_iid[legacy])
        duration_us[legacy] = phase_us
        self._findings.add(
            "asynchronous events of old writers are not drawn",
            count=int((untyped & (phase_kind == 0)).sum()),
        )

    def _own_names(self, fields: PickedFields, unpacked: Bools) -> Int64s:
        """The index of the name that each event holds itself; -1 without one."""
        index = np.full(len(unpacked), -1, np.int64)
        number = _FIELD["name"]
        for row in np.flatnonzero(fields.present[number]).tolist():
            lo = int(fields.value[number][row])
            hi = int(fields.end[number][row])
            name = self._packets.read(lo, hi, bool(unpacked[row])).decode("utf-8", "replace")
            index[row] = self.names.index(name, name)
        return index

    def _add_flows(self, event: int, lo: int, hi: int, unpacked: bool) -> None:
        """The flows that an event belongs to, and those that end with it."""
        message = self._described.message("PerfettoFlows", lo, hi, unpacked)
        if message is None:
            return
        for flow in (*message.flow_ids, *message.old_flow_ids):
            self.flows.append((event, signed(flow), STEP))
        for flow in (*message.terminating_flow_ids, *message.old_terminating):
            self.flows.append((event, signed(flow), FINISH))


def _counter_values(fields: PickedFields) -> npt.NDArray[np.float64]:
    integer = _FIELD["integer"]
    double = _FIELD["double"]
    value = np.where(fields.present[integer], fields.value[integer].astype(np.float64), np.nan)
    # A FIXED64 field is given as its bits.
    return np.where(fields.present[double], fields.value[double].view(np.float64), value)
