"""What the packets of a file say of the rest: clocks, names, tracks and defaults, before any event
is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from powertui.data import wire
from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.formats.perfetto.clocks import Clocks
from powertui.data.formats.perfetto.names import Definitions, last_definitions
from powertui.data.formats.perfetto.packets import Packets, slices
from powertui.data.formats.perfetto.tracks import Tracks
from powertui.data.model import Int64s
from powertui.data.wire import LEN, VARINT, schemas

# Fields of a packet.
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

# Takes a decoded message, with its packet and its sequence.
_Handler = Callable[[int, int, Any], None]


class Descriptions:
    """Clocks, tracks, and what interned numbers and defaults stand for."""

    def __init__(self, packets: Packets, findings: FileWarnings) -> None:
        self._packets = packets
        self._findings = findings
        self.clocks = Clocks()
        self.tracks = Tracks()
        self.sequence = np.zeros(0, np.int64)  # of each packet
        self.events = Definitions(packet=[], sequence=[], number=[], text=[])
        self.annotations = Definitions(packet=[], sequence=[], number=[], text=[])
        self.texts = Definitions(packet=[], sequence=[], number=[], text=[])
        self.default_clock: list[int] = []
        self.default_uuid: list[int] = []
        self.rails: list[tuple[int, int, int, int]] = []  # (packet, rail, ms, µJ)
        self._defaults = Definitions(packet=[], sequence=[], number=[], text=[])
        self._handlers: dict[int, tuple[str, _Handler]] = {
            _SNAPSHOT: ("PerfettoClocks", self.clocks.snapshot),
            _TREE: ("PerfettoTree", self.tracks.tree),
            _INTERNED: ("PerfettoInterned", self._add_interned),
            _DEFAULTS: ("PerfettoDefaults", self._add_defaults),
            _TRACK: ("PerfettoTrack", self._add_track),
            _PROCESS: ("PerfettoProcess", self._add_process),
            _THREAD: ("PerfettoThread", self._add_thread),
            _RAILS: ("PerfettoRails", self._add_rails),
        }

    def read(self, report_progress: Callable[[int, int], None]) -> None:
        """Read all of them: few packets, each decoded as a message."""
        sequences = []
        for part in slices(len(self._packets)):
            fields = self._packets.pick(part, (_SEQUENCE, _EVENTS, _INTERNED, _DEFAULTS))
            part_sequence, *_ = fields.value
            sequences.append(part_sequence)
            damaged = int(fields.bad >= 0)
            self._findings.add("damaged packets were read up to the damage", count=damaged)
            # Most packets are events and nothing else.
            _, is_event, is_interned, is_defaults = fields.present
            rows = np.flatnonzero(~is_event | is_interned | is_defaults)
            self._report_not_drawn(rows + part.start)
            self._read_packets(rows + part.start, part_sequence[rows])
            report_progress(part.stop, 0)
        self.sequence = np.concatenate(sequences)

    def _report_not_drawn(self, packets: Int64s) -> None:
        tags = tuple(wire.tag(number, LEN) for number in _NOT_DRAWN)
        present = self._packets.pick(packets, tags).present
        for what, is_present in zip(_NOT_DRAWN.values(), present, strict=True):
            self._findings.add(f"{what} are not drawn", count=int(is_present.sum()))

    def _read_packets(self, packets: Int64s, sequence: Int64s) -> None:
        tags = tuple(self._handlers)
        fields = self._packets.pick(packets, tags)
        # In the order of the file: later descriptions replace earlier ones.
        for row, number in np.argwhere(fields.present.T).tolist():
            kind, handle = self._handlers[tags[number]]
            packet = int(packets[row])
            lo = int(fields.value[number, row])
            hi = int(fields.end[number, row])
            message = self.message(kind, lo, hi, bool(self._packets.unpacked[packet]))
            if message is not None:
                handle(packet, int(sequence[row]), message)

    def message(self, kind: str, lo: int, hi: int, unpacked: bool) -> Any:
        """A part of the file as a message; None, and counted, where it is damaged."""
        try:
            return schemas.parsed(kind, self._packets.read(lo, hi, unpacked))
        except schemas.Undecodable:
            self._findings.add("packets that describe names, tracks or clocks were damaged")
            return None

    def defaults(self, values: list[int], sequence: Int64s, packet: Int64s) -> Int64s | None:
        """The default that holds for each packet (0: none), of `default_clock` or `default_uuid`;
        None for a file without defaults.
        """
        if not self._defaults.packet:
            return None
        row = last_definitions(
            (
                np.array(self._defaults.sequence, np.int64),
                np.array(self._defaults.packet, np.int64),
            ),
            (sequence, packet),
        )
        return np.array([*values, 0], np.int64)[row]  # row -1 is the 0 at the end

    def _add_interned(self, packet: int, sequence: int, message: Any) -> None:
        for name in message.event_names:
            self.events.add(packet, sequence, signed(name.iid), name.name)
        for name in message.debug_annotation_names:
            self.annotations.add(packet, sequence, signed(name.iid), name.name)
        for text in message.debug_annotation_string_values:
            string = text.str.decode("utf-8", "replace")
            self.texts.add(packet, sequence, signed(text.iid), string)

    def _add_defaults(self, packet: int, sequence: int, message: Any) -> None:
        self._defaults.add(packet, sequence, 0, "")
        self.default_clock.append(message.timestamp_clock_id)
        self.default_uuid.append(signed(message.track_event_defaults.track_uuid))

    def _add_track(self, _packet: int, _sequence: int, message: Any) -> None:
        self.tracks.describe(signed(message.uuid), message)

    def _add_process(self, _packet: int, _sequence: int, message: Any) -> None:
        self.tracks.process(message)

    def _add_thread(self, _packet: int, sequence: int, message: Any) -> None:
        self.tracks.of_sequence(sequence, message)

    def _add_rails(self, packet: int, sequence: int, message: Any) -> None:
        for rail in message.rail_descriptor:
            self.tracks.rail(sequence, rail.index, rail.rail_name, rail.subsys_name)
        for reading in message.energy_data:
            number = self.tracks.rail_number(sequence, reading.index)
            self.rails.append((packet, number, reading.timestamp_ms, reading.energy))


def signed(value: int) -> int:
    """A number of 64 bits as the wire's columns hold it."""
    if value >> 63:
        return value - (1 << 64)
    return value
