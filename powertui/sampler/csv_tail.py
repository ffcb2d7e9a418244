"""Follows a CSV file that somebody else writes: another recorder, nvidia-smi's output, any logger
with a header.

Only rows that are appended from now on are yielded. A recording describes its channels in its
heading; other files only have columns. Time comes from a column with absolute times, else from the
moment of arrival.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.opening import NotAFileError, within
from powertui.sampler import csv_columns
from powertui.sampler.csv_columns import PowerCell
from powertui.sampler.csv_format import COLUMNS, MAGIC, sources_in
from powertui.sampler.growing_file import MAX_LINE_BYTES, GrowingFile
from powertui.sampler.source import (
    OK,
    STALE,
    SUSPECT,
    AnswerTime,
    Channel,
    Info,
    Options,
    Reading,
    Stamp,
    none,
    suspect,
)
from powertui.sampler.urls import Address

__all__ = ["CsvTail", "make"]

# Bounds on what a file may make of itself: chosen far above any that people have.
_MAX_CHANNELS = 10_000
_MAX_NAME_CHARS = 200
# A file that has not grown for so many of its rows, and for so long, has no value. Chosen: a logger
# that is late by a few rows is no outage.
_MAX_SILENT_SPACINGS = 10.0
_MIN_SILENCE_S = 10.0
# What is believed of the time between two rows: one look may bring many rows, or follow a pause.
_MIN_SPACING_S, _MAX_SPACING_S = 0.1, 60.0


class CsvTail:
    min_period = 0.05
    reconnects = 0

    def __init__(self, path: str, options: Options) -> None:
        if not path:
            raise UsageError("csv: needs a file.", hint="Write csv:power.csv.")
        self._path = Path(path)
        self._options = options
        self.name = self._path.name
        self.channels: tuple[Channel, ...] = ()
        self._file = GrowingFile(self._path)
        self._begun = 0  # how often the file had been begun when its columns were read
        self._header: list[str] = []
        self._columns: list[int] = []  # of watts
        self._is_recording = False
        self._names: set[str] = set()  # of the channels
        self._last_row_mono = time.monotonic()
        self._spacing = 1.0  # s between the last rows

    def open(self) -> Info:
        try:
            last = within(self._options.timeout, self._file.open)
        except NotAFileError:
            raise NotSupported(
                f"{self._path} is not a regular file: only a file can be followed.",
                hint="Let the logger write to a file.",
            ) from None
        except PermissionError:
            raise AuthenticationFailed(
                f"You may not read {self._path}.",
                hint=f"Ask its owner to make it readable: chmod a+r {self._path}",
            ) from None
        except OSError as error:
            raise SensorError(f"{self._path} cannot be read: {error.strerror}.") from None
        self._last_row_mono = time.monotonic()
        if self._file.head.startswith(MAGIC.encode()):
            kinds, how = self._learn_recording(), "a powertui recording"
        else:
            kinds, how = set(), "a CSV file"
            self._learn_columns()
            if not self._columns:
                columns = ", ".join(self._header[:12]) or "none"
                self.close()
                raise NotSupported(
                    f"{self._path} has no column in watts.",
                    hint=f"Its columns are: {columns}. Name the one in watts: --sensor COLUMN",
                )
            self.channels = self._channels_of(last, self._spacing_of(last))
            if csv_columns.are_of_nvidia_smi([self._header[i] for i in self._columns]):
                kinds = {"nvidia-smi"}
        self._names = {channel.name for channel in self.channels}
        source = f"csv ({how})"
        if len(kinds) == 1 and "" not in kinds:
            source = f"{kinds.pop()}, followed in {how}"
        return Info(
            source=source,
            url=f"csv:{self._path}",
            host="",
            channels=self.channels,
            facts={"file": str(self._path)},
        )

    def _learn_columns(self) -> None:
        """Find the columns of watts in the first line that is no comment."""
        self._is_recording, self._begun = False, self._file.begun
        head = self._file.head
        lines = head[: head.rfind(b"\n") + 1]
        if not lines and self._begun == 0:
            lines = (
                head  # one line that has no end yet: of a file begun anew it may be half written
            )
        header = next((line for line in lines.split(b"\n") if _has_content(line)), None)
        if header is None:
            self._header = []
        else:
            self._header = csv_columns.cells(header)
        self._columns = csv_columns.power_columns(self._header, self._options.sensors)

    def _learn_recording(self) -> set[str]:
        """Take the channels from a recording's heading; returns what their sources are."""
        self._is_recording, self._begun = True, self._file.begun
        self._header = COLUMNS.split(",")
        channels = {channel.name: channel for channel in self.channels}
        kinds = set()
        for source, kind, channel in sources_in(self._file.head):
            name = f"{source} {channel.name}"[:_MAX_NAME_CHARS]  # as its rows are named here
            if len(channels) < _MAX_CHANNELS:
                kinds.add(kind)
                channels.setdefault(name, replace(channel, name=name))
        self.channels = tuple(channels.values())
        return kinds

    def _spacing_of(self, lines: Iterable[bytes]) -> float | None:
        """Seconds between the last rows of a channel; None where they have no times."""
        moments: dict[str, set[float]] = {}
        for fields in map(csv_columns.cells, lines):
            if not self._is_row(fields):
                continue
            moment, cells = csv_columns.values(self._header, fields, self._columns)
            if moment is not None:
                for cell in cells:
                    moments.setdefault(cell.channel, set()).add(moment)
        gaps: list[float] = []
        for times in moments.values():
            gaps += [after - before for before, after in pairwise(sorted(times))]
        if gaps:
            return round(statistics.median(gaps), 3)
        return None

    def read(self) -> list[Reading]:
        stamp = Stamp.now()
        try:
            lines = self._file.more()
        except OSError as error:
            return self._silent(stamp, f"the file cannot be read: {error.strerror}")
        if self._begun != self._file.begun or not self._header:
            if self._file.head.startswith(MAGIC.encode()):
                self._learn_recording()
            else:
                self._learn_columns()
        readings: list[Reading] = []
        if self._file.too_long():
            why = f"a line of more than {MAX_LINE_BYTES >> 10} KiB is not a row"
            readings += self._silent(stamp, why)
        for line in lines:
            if _has_content(line):
                readings += self._readings(csv_columns.cells(line), stamp)
        silence = time.monotonic() - self._last_row_mono
        if readings:
            self._spacing = max(_MIN_SPACING_S, min(_MAX_SPACING_S, silence))
            self._last_row_mono = time.monotonic()
        elif silence > max(_MIN_SILENCE_S, _MAX_SILENT_SPACINGS * self._spacing):
            return self._silent(stamp, f"the file has not grown for {silence:.0f} s")
        return readings

    def _channels_of(self, lines: Iterable[bytes], period_s: float | None) -> tuple[Channel, ...]:
        """The channels as rows name them, where the file has any: a row of nvidia-smi names its
        GPU. Else the columns.
        """
        channels: dict[str, Channel] = {}
        for line in lines:
            fields = csv_columns.cells(line)
            if _has_content(line) and self._is_row(fields):
                _, row_cells = csv_columns.values(self._header, fields, self._columns)
                for cell in row_cells:
                    channel = replace(_channel(cell), period_s=period_s)
                    channels.setdefault(channel.name, channel)
        if not channels:
            return tuple(Channel(self._header[i], period_s=period_s) for i in self._columns)
        return tuple(channels.values())[:_MAX_CHANNELS]

    def _silent(self, stamp: Stamp, why: str) -> list[Reading]:
        answered = stamp.middle()
        return [answered.gap(self.name, channel.name, why) for channel in self.channels]

    def _is_row(self, fields: list[str]) -> bool:
        return len(fields) == len(self._header) and fields != self._header

    def _readings(self, fields: list[str], stamp: Stamp) -> list[Reading]:
        if not self._is_row(fields):
            return []
        if self._is_recording:
            return self._recorded(dict(zip(self._header, fields, strict=True)), stamp)
        moment, cells = csv_columns.values(self._header, fields, self._columns)
        row_time = _row_time(stamp, stamp.t if moment is None else moment)
        readings = []
        for cell in cells:
            channel = _channel(cell)
            name = channel.name
            if not self._has_channel(channel):
                continue
            if cell.watts is None:
                why = f"{cell.text[:40]!r} is not a number of watts"
                readings.append(row_time.gap(self.name, name, why, joules=None))
            else:
                readings.append(row_time.reading(self.name, name, cell.watts))
        return readings

    def _recorded(self, row: dict[str, str], stamp: Stamp) -> list[Reading]:
        """A row of a recording."""
        if not row["channel"]:
            return []  # a mark or a note
        try:
            t = csv_columns.absolute_time(row["time_unix_s"])
            rtt = float(row["rtt_s"])
            if row["watts"]:
                watts = float(row["watts"])
            else:
                watts = None
            if row["joules"]:
                joules = float(row["joules"])
            else:
                joules = None
        except ValueError:
            return []
        name = f"{row['source']} {row['channel']}"[:_MAX_NAME_CHARS]
        if t is None or not math.isfinite(rtt) or not self._has_channel(Channel(name)):
            return []
        quality = STALE if row["quality"] == STALE else OK
        if row["quality"] == SUSPECT:
            watts = None
            quality = suspect(row["reason"])
        elif watts is None:
            quality = none(row["reason"])
        return [_row_time(stamp, t, rtt).reading(self.name, name, watts, quality, joules)]

    def _has_channel(self, channel: Channel) -> bool:
        """Whether this is a channel; a new name is one more, unless there are absurdly many."""
        if channel.name not in self._names:
            if len(self._names) >= _MAX_CHANNELS:
                return False
            self._names.add(channel.name)
            self.channels = (*self.channels, channel)
        return True

    def close(self) -> None:
        self._file.close()


def _channel(cell: PowerCell) -> Channel:
    """The channel that a cell is of. Only nvidia-smi's columns say what they cover."""
    name = cell.channel[:_MAX_NAME_CHARS]
    if cell.gpu is None:
        return Channel(name)
    return Channel(
        name=name,
        scope="gpu",
        index=cell.gpu.number,
        uuid=cell.gpu.uuid,
        pci=cell.gpu.pci,
    )


def _has_content(line: bytes) -> bool:
    return bool(line.strip()) and not line.startswith(b"#")


def _row_time(stamp: Stamp, t: float, rtt: float = 0.0) -> AnswerTime:
    """When a row of that time was taken, by our steady clock too."""
    return AnswerTime(t, stamp.mono - (stamp.t - t), rtt)


def make(address: Address, options: Options) -> CsvTail:
    return CsvTail(address.path, options)
