"""tfevents: what a training run wrote for TensorBoard beside its profiles.

A file is a list of TFRecords (length u64, masked CRC32C of the length, payload, masked CRC32C of
the payload), each an `Event` with a float wall time. Wanted here are scalars in both encodings (TF
1's `simple_value`, TF 2's one-element tensors, which Keras 3 writes for plugin "scalars"), when
training began (the record with Keras' graph), when the profiler stopped (tags `batch_<N>`), and
PowerBoard's markers. Both checksums of every record are checked: a damaged payload is skipped and
counted, a damaged length ends the file, because nothing after it can be found. The last record of a
live file may be unfinished; that is no damage.

`Tail` reads what was appended since it last looked: the live screen follows a run with it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from powertui.data import elsewhere, wire
from powertui.data.formats import tfevents_columns, tfevents_records
from powertui.data.formats.filenames import MARKERS_FOLDER, split_events
from powertui.data.formats.source import GZIP, open_file
from powertui.data.formats.tfevents_columns import TagColumns
from powertui.data.limits import HINT, MACHINE, MemoryLimit
from powertui.data.model import Floats, Int64s, ScalarSeries, Warn
from powertui.data.wire import schemas
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple
from powertui.opening import open_regular
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_WINDOW_BYTES = 4 << 20  # bytes read at a time; a longer record is read whole
_POINT_BYTES = 24  # bytes of memory for each scalar at most: its columns
_FRAME_BYTES = 16  # bytes around a payload
_FRAME_HEAD_BYTES = 12  # of them before it
_BATCH_TAG = late_pattern(r"^batch_(\d+)$")
_PACKED = "is packed with gzip: scalars are read from unpacked files only"
_MARKER_PLUGINS = frozenset({"powerboard", "energy_profiling"})


@dataclass(frozen=True, eq=False)
class EventLog:
    """What one tfevents file says. Wall times are Unix ns."""

    path: str
    group: str  # "train", "validation", or ""
    scalars: tuple[ScalarSeries, ...] = ()
    # The first record that is not the file's header: that one is rounded to seconds.
    first_ns: int | None = None
    last_ns: int | None = None
    header_ns: int | None = None  # the file_version record
    # The record with the Keras model's graph: just before the first step.
    keras_graph_ns: int | None = None
    # (batch number, wall ns) of the tags batch_<N>: about the profiler's stop.
    batches: tuple[tuple[int, int], ...] = ()
    # (tag, text, wall ns) of PowerBoard's marker records.
    markers: tuple[tuple[str, str, int], ...] = ()
    pid: int | None = None  # from the file's name
    host: str = ""
    records: int = 0
    warnings: tuple[Warn, ...] = ()

    @property
    def is_marker(self) -> bool:
        """Whether PowerBoard wrote it to say when it began to measure."""
        return self.group == MARKERS_FOLDER

    def series(self, tag: str) -> ScalarSeries | None:
        """The scalars of one tag."""
        return next((series for series in self.scalars if series.tag == tag), None)


def read(path: str, group: str = "", limit: MemoryLimit = MACHINE) -> EventLog:
    """Read one file.

    Raises `UnreadableFile` only when nothing of it can be read.
    """
    tail = Tail(path, group, limit)
    tail.read()
    log = tail.log()
    if log.records == 0:
        if log.warnings:
            problem = log.warnings[0].cause
        else:
            problem = "has no complete record yet"
        hint = (
            "Unpack it with gunzip."
            if problem == _PACKED
            else "Scalars come from files named events.out.tfevents.…"
        )
        raise UnreadableFile(path, problem, hint=hint)
    return log


def _why_packed(path: str, limit: MemoryLimit) -> str:
    """Why nothing is read of a file that is a gzip file: it may contain nothing, too."""
    try:
        open_file(path, limit)
    except UnreadableFile as error:
        return error.problem
    return _PACKED


class Scalar(NamedTuple):
    """One logged value."""

    tag: str
    step: int
    wall_ns: int
    value: float


@dataclass
class Tail:
    """Follows one growing tfevents file.

    Each `poll` reads what came since the last; `log` tells everything so far.
    """

    path: str
    group: str = ""
    limit: MemoryLimit = MACHINE
    records: int = 0
    _points: int = 0
    _offset: int = 0
    _size: int = 0
    _identity: tuple[int, int] | None = None
    _dead: bool = False
    _scalars: dict[str, TagColumns] = field(default_factory=dict)
    _plugins: dict[str, str] = field(default_factory=dict)
    _walls: dict[str, int] = field(default_factory=dict)
    _batches: list[tuple[int, int]] = field(default_factory=list)
    _markers: list[tuple[str, str, int]] = field(default_factory=list)
    _damage: dict[tuple[str, str], int] = field(default_factory=dict)

    def poll(self) -> list[Scalar]:
        """Read on; the scalars that are new. A file that was replaced is read from its start."""
        new: list[Scalar] = []
        self.read(new)
        return new

    def read(self, new: list[Scalar] | None = None) -> None:
        """The same, without telling them one by one unless a list is given for them."""
        elsewhere.at_hand(self.path)
        try:
            with open_regular(self.path) as stream:
                status = os.fstat(stream.fileno())
                identity = (status.st_dev, status.st_ino)
                if identity != self._identity or status.st_size < self._size:
                    self.__init__(self.path, self.group, self.limit)  # type: ignore[misc]
                self._identity = identity
                self._size = status.st_size
                while not self._dead:
                    before = self._offset
                    if too_much := self.limit.exceeded(self._points * _POINT_BYTES):
                        self._stop(f"its scalars take {too_much}: the rest was left out. {HINT}")
                        break
                    more = self._window(stream, status.st_size, new)
                    if self._offset == before or not more:
                        break
        except OSError as error:
            raise UnreadableFile(self.path, f"cannot be read: {error.strerror or error}") from None

    def log(self) -> EventLog:
        """Everything that was read so far."""
        split = split_events(Path(self.path).name)
        warnings = [
            Warn(self.path, where, cause, count) for (cause, where), count in self._damage.items()
        ]
        if self._offset < self._size and not self._dead:
            cause = (
                f"the last record is unfinished ({self._size - self._offset} bytes): it is "
                "still being written, or was cut off"
            )
            warnings.append(Warn(self.path, f"byte {self._offset}", cause))
        return EventLog(
            path=self.path,
            group=self.group,
            scalars=tuple(self._series()),
            first_ns=self._walls.get("first"),
            last_ns=self._walls.get("last"),
            header_ns=self._walls.get("header"),
            keras_graph_ns=self._walls.get("keras"),
            batches=tuple(self._batches),
            markers=tuple(self._markers),
            pid=split[2] if split else None,
            host=split[1] if split else "",
            records=self.records,
            warnings=tuple(warnings),
        )

    def _series(self) -> Iterator[ScalarSeries]:
        for tag, points in self._scalars.items():
            steps, walls, values = points.columns()
            yield ScalarSeries(
                path=self.path,
                group=self.group,
                tag=tag,
                steps=steps,
                wall_ns=walls,
                values=values,
            )

    # ── framing ──

    def _window(self, stream: BinaryIO, size: int, new: list[Scalar] | None) -> bool:
        """Take the whole, undamaged records of one window, in order.

        Moves the offset behind them. False where the file ends.
        """
        stream.seek(self._offset)
        window = stream.read(_WINDOW_BYTES)
        if len(window) >= 8:
            need = struct.unpack_from("<Q", window)[0] + _FRAME_BYTES
            if len(window) < need <= size - self._offset:
                if too_much := self.limit.exceeded(2 * need):
                    self._stop(f"a record takes {too_much}: nothing from here on was read. {HINT}")
                    return False
                window += stream.read(need - len(window))
        records = wire.records(np.frombuffer(window, np.uint8), 0, len(window))
        base = self._offset
        self._offset += records.next
        if records.damaged:
            cause = (
                "a record's length is damaged (its checksum is wrong): nothing after it can be read"
            )
            if not self._offset and window.startswith(GZIP):
                cause = _why_packed(self.path, self.limit)
            self._stop(cause)
        for row in np.flatnonzero(~records.good).tolist():
            frame_begin = base + int(records.begin[row]) - _FRAME_HEAD_BYTES
            self._count("a record's checksum is wrong: skipped", f"byte {frame_begin}")
        if len(records.begin):
            self._take_all(window, records.begin[records.good], records.end[records.good], new)
        return len(window) >= _WINDOW_BYTES

    def _stop(self, cause: str) -> None:
        """Nothing more is read of this file."""
        self._damage[cause, f"byte {self._offset}"] = 1
        self._dead = True

    def _take_all(
        self,
        window: bytes,
        begins: Int64s,
        ends: Int64s,
        new: list[Scalar] | None,
    ) -> None:
        """Scalars as columns, everything else one by one; what each tag has stays in its order."""
        scanned = tfevents_columns.scan(np.frombuffer(window, np.uint8), begins, ends)
        singles = self._take_rest(memoryview(window), begins, ends, scanned)
        parts = [self._scalars_only(part) for part in scanned.scalars]
        parts = [part for part in parts if len(part.row)]
        for part in parts:
            self._walls["last"] = max(int(part.wall_ns.max()), self._walls.get("last", 0))
            self._add_points(part.tag, part.row, part.step, part.wall_ns, part.value)
        by_tag: dict[str, list[tuple[int, Scalar]]] = {}
        for row, single in singles:
            by_tag.setdefault(single.tag, []).append((row, single))
        for tag, rows_of_tag in by_tag.items():
            self._add_points(
                tag,
                np.array([row for row, _ in rows_of_tag], np.int64),
                np.array([single.step for _, single in rows_of_tag], np.int64),
                np.array([single.wall_ns for _, single in rows_of_tag], np.int64),
                np.array([single.value for _, single in rows_of_tag], np.float64),
            )
        for points in self._scalars.values():
            points.settle()
        if new is not None:
            new += _in_order(singles, parts)

    def _take_rest(
        self,
        window: memoryview,
        begins: Int64s,
        ends: Int64s,
        scanned: tfevents_columns.WindowRecords,
    ) -> list[tuple[int, Scalar]]:
        """Take the other records one by one; (row, value) of the scalars among them."""
        before = self.records
        singles: list[tuple[int, Scalar]] = []
        first_scalars = [(int(part.row[0]), int(part.wall_ns[0])) for part in scanned.scalars]
        first_scalar = min(first_scalars, default=None)
        for row in scanned.rest.tolist():
            # The log begins with its first record, whichever form that has.
            if first_scalar is not None and row > first_scalar[0]:
                self._saw(first_scalar[1])
            self.records = before + row
            self._take(window[begins[row] : ends[row]], row, singles)
        self.records = before + len(begins)
        if first_scalar is not None:
            self._saw(first_scalar[1])
        return singles

    def _add_points(
        self,
        tag: str,
        row: Int64s,
        step: Int64s,
        wall_ns: Int64s,
        value: Floats,
    ) -> None:
        self._scalars.setdefault(tag, TagColumns()).add(row, step, wall_ns, value)
        self._points += len(row)

    def _count(self, cause: str, where: str) -> None:
        for known_cause, place in self._damage:
            if known_cause == cause:
                self._damage[known_cause, place] += 1
                return
        self._damage[cause, where] = 1

    # ── records ──

    def _scalars_only(self, part: tfevents_columns.ScalarColumns) -> tfevents_columns.ScalarColumns:
        """Those that are scalars: a record that names no plugin is what the first of its
        tag said.
        """
        plugin = self._plugins.get(part.tag, "")
        if not part.bare.all():
            self._plugins.setdefault(part.tag, "scalars")
        if plugin in ("", "scalars") or not part.bare.any():
            return part
        bare_free = ~part.bare
        return part._replace(
            row=part.row[bare_free],
            step=part.step[bare_free],
            wall_ns=part.wall_ns[bare_free],
            value=part.value[bare_free],
            bare=part.bare[bare_free],
        )

    def _take(self, record: memoryview, row: int, new: list[tuple[int, Scalar]]) -> None:
        self.records += 1
        wall = tfevents_records.wall_of(record)
        if wall is None:
            self._count("a record has no usable wall time", f"record {self.records}")
            return
        if tfevents_records.is_graph(record):
            self._saw(wall)
            return
        aside = tfevents_records.record_aside(record, _MARKER_PLUGINS)
        if aside is not None:
            if aside.is_header:
                self._walls.setdefault("header", wall)
                return
            self._saw(wall)
            for tag, plugin in aside.values:
                self._plugins[tag] = plugin
                self._graph(tag, plugin, wall)
            return
        try:
            event = schemas.parsed("Event", bytes(record))
        except schemas.Undecodable:
            self._count("a record is not an Event message: skipped", f"record {self.records}")
            return
        kind = event.WhichOneof("what")
        if kind == "file_version":
            self._walls.setdefault("header", wall)
            return
        self._saw(wall)
        if kind == "summary":
            for value in event.summary.value:
                self._value(value, int(event.step), wall, row, new)

    def _saw(self, wall: int) -> None:
        self._walls.setdefault("first", wall)
        self._walls["last"] = max(wall, self._walls.get("last", wall))

    def _graph(self, tag: str, plugin: str, wall: int) -> bool:
        """Keras' graph, and what the profiler leaves when it stops: their times tell something.

        Whether it is one of these.
        """
        if plugin == "graph_keras_model":
            self._walls.setdefault("keras", wall)
            return True
        if plugin.startswith("graph_run_metadata") and (match := _BATCH_TAG.match(tag)):
            self._batches.append((int(match[1]), wall))
            return True
        return False

    def _value(
        self,
        value: Any,
        step: int,
        wall: int,
        row: int,
        new: list[tuple[int, Scalar]],
    ) -> None:
        tag = str(value.tag)
        kind = value.WhichOneof("value")
        plugin = str(value.metadata.plugin_data.plugin_name)
        if plugin:
            self._plugins[tag] = plugin  # later records of a tag may leave it out
        plugin = plugin or self._plugins.get(tag, "")
        number: float | None = None
        if kind == "simple_value":
            number = float(value.simple_value)
        elif kind == "tensor":
            if self._graph(tag, plugin, wall):
                pass
            elif plugin in _MARKER_PLUGINS:
                if value.tensor.string_val:
                    text = bytes(value.tensor.string_val[0])
                else:
                    text = b""
                self._markers.append((tag, text.decode(errors="replace"), wall))
            elif plugin in ("scalars", ""):
                number = tfevents_records.one_number(value.tensor)
        if number is not None:
            new.append((row, Scalar(tag, step, wall, number)))


def _in_order(
    singles: list[tuple[int, Scalar]],
    parts: list[tfevents_columns.ScalarColumns],
) -> list[Scalar]:
    """The scalars of one window, in the order of its records."""
    scalars = list(singles)
    for part in parts:
        rows = part.row.tolist()
        steps = part.step.tolist()
        walls = part.wall_ns.tolist()
        values = part.value.tolist()
        for row, step, wall_ns, value in zip(rows, steps, walls, values, strict=True):
            scalars.append((row, Scalar(part.tag, step, wall_ns, value)))
    return [scalar for _, scalar in sorted(scalars, key=lambda pair: pair[0])]
