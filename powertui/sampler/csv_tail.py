"""Follows a CSV file that somebody else writes: another recorder, nvidia-smi's output, any logger
with a header.

Only rows that are appended from now on are yielded. A recording names its channels in its heading,
with all that it knows of them; other files do in their columns. Time comes from a column with
absolute times, else from the moment of arrival.
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
from powertui.sampler.csv_format import COLUMNS, MAGIC, sources_in
from powertui.sampler.growing_file import MAX_LINE_BYTES, GrowingFile
from powertui.sampler.source import (
    OK,
    STALE,
    SUSPECT,
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

_MAX_CHANNELS = 10_000
_MAX_NAME_CHARS = 200
_MAX_SILENT_SPACINGS = 10.0  # spacings, and at least so many seconds, without a row: no value


class CsvTail:
    min_period = 0.05
    reconnects = 0

    def __init__(self, path: str, options: Options) -> None:
        if not path:
            raise UsageError("csv: needs a file.", hint="Write csv:power.csv.")
        self._path, self._options = Path(path), options
        self.name = self._path.name
        self.channels: tuple[Channel, ...] = ()
        self._file = GrowingFile(self._path)
        self._begun = 0  # how often the file had been begun when its columns were read
        self._header: list[str] = []
        self._columns: list[int] = []  # of watts
        self._ours = False
        self._names: set[str] = set()  # of the channels
        self._heard = time.monotonic()
        self._spacing = 1.0

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
        self._heard = time.monotonic()
        kinds = self._learn()
        if not self._ours and not self._columns:
            columns = ", ".join(self._header[:12]) or "none"
            self.close()
            raise NotSupported(
                f"{self._path} has no column in watts.", hint=f"Its columns are: {columns}."
            )
        if not self._ours:
            period = self._rhythm(last)
            self.channels = tuple(Channel(self._header[i], period_s=period) for i in self._columns)
        self._names = {c.name for c in self.channels}
        how = "a powertui recording" if self._ours else "a CSV file"
        source = (
            f"{kinds.pop()}, followed in {how}"
            if len(kinds) == 1 and "" not in kinds
            else f"csv ({how})"
        )
        return Info(source, f"csv:{self._path}", "", self.channels, {"file": str(self._path)})

    def _learn(self) -> set[str]:
        """The columns, from the head of the file; of a recording its channels, too, and what their
        sources are.
        """
        head, self._begun = self._file.head, self._file.begun
        self._ours = head.startswith(MAGIC.encode())
        if not self._ours:
            whole = head[: head.rfind(b"\n") + 1] or (
                head if self._file.begun == 0 else b""
            )  # a header may be half written
            lines = [
                line for line in whole.split(b"\n") if line.strip() and not line.startswith(b"#")
            ]
            self._header = csv_columns.cells(lines[0]) if lines else []
            self._columns = csv_columns.power_columns(self._header, self._options.sensors)
            return set()
        self._header = COLUMNS.split(",")
        found = {channel.name: channel for channel in self.channels}
        kinds = set()
        for source, kind, channel in sources_in(head):
            name = f"{source} {channel.name}"[:_MAX_NAME_CHARS]  # as its rows are named here
            if len(found) < _MAX_CHANNELS:
                kinds.add(kind)
                found.setdefault(name, replace(channel, name=name))
        self.channels = tuple(found.values())
        return kinds

    def _rhythm(self, lines: Iterable[bytes]) -> float | None:
        """How far the last rows of a channel are apart (s); None where no times tell."""
        moments: dict[str, set[float]] = {}
        for fields in map(csv_columns.cells, lines):
            if self._is_row(fields):
                moment, told = csv_columns.values(self._header, fields, self._columns)
                for one in told:
                    if moment is not None:
                        moments.setdefault(one.channel, set()).add(moment)
        gaps = [
            after - before for each in moments.values() for before, after in pairwise(sorted(each))
        ]
        return round(statistics.median(gaps), 3) if gaps else None

    def read(self) -> list[Reading]:
        stamp = Stamp.now()
        try:
            lines = self._file.more()
        except OSError as error:
            return self._silent(stamp, f"the file cannot be read: {error.strerror}")
        if self._begun != self._file.begun or not self._header:
            self._learn()
        out: list[Reading] = []
        if self._file.too_long():
            out += self._silent(
                stamp, f"a line of more than {MAX_LINE_BYTES >> 10} KiB is not a row"
            )
        for line in lines:
            if line.strip() and not line.startswith(b"#"):
                out += self._readings(csv_columns.cells(line), stamp)
        if out:
            self._spacing = max(0.1, min(60.0, time.monotonic() - self._heard))
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > max(
            _MAX_SILENT_SPACINGS, _MAX_SILENT_SPACINGS * self._spacing
        ):
            return self._silent(
                stamp, f"the file has not grown for {time.monotonic() - self._heard:.0f} s"
            )
        return out

    def _silent(self, stamp: Stamp, why: str) -> list[Reading]:
        t, mono, rtt = stamp.middle()
        return [Reading(t, mono, None, rtt, self.name, c.name, none(why)) for c in self.channels]

    def _is_row(self, fields: list[str]) -> bool:
        return len(fields) == len(self._header) and fields != self._header

    def _readings(self, fields: list[str], stamp: Stamp) -> list[Reading]:
        if not self._is_row(fields):
            return []
        if self._ours:
            return self._recorded(dict(zip(self._header, fields, strict=True)), stamp)
        moment, told = csv_columns.values(self._header, fields, self._columns)
        t = stamp.t if moment is None else moment
        out = []
        for one in told:
            name = one.channel[:_MAX_NAME_CHARS]
            if self._know(name):
                quality = (
                    OK
                    if one.watts is not None
                    else none(f"{one.text[:40]!r} is not a number of watts")
                )
                out.append(
                    Reading(t, stamp.mono - (stamp.t - t), one.watts, 0.0, self.name, name, quality)
                )
        return out

    def _recorded(self, row: dict[str, str], stamp: Stamp) -> list[Reading]:
        """A row of a recording."""
        if not row["channel"]:
            return []  # a mark or a note
        try:
            t, rtt = csv_columns.absolute_time(row["time_unix_s"]), float(row["rtt_s"])
            watts = float(row["watts"]) if row["watts"] else None
            joules = float(row["joules"]) if row["joules"] else None
        except ValueError:
            return []
        name = f"{row['source']} {row['channel']}"[:_MAX_NAME_CHARS]
        if t is None or not math.isfinite(rtt) or not self._know(name):
            return []
        quality = STALE if row["quality"] == STALE else OK
        if row["quality"] == SUSPECT:
            watts, quality = None, suspect(row["reason"])
        elif watts is None:
            quality = none(row["reason"])
        return [
            Reading(t, stamp.mono - (stamp.t - t), watts, rtt, self.name, name, quality, joules)
        ]

    def _know(self, name: str) -> bool:
        """Whether it is a channel: one more, unless there are absurdly many."""
        if name not in self._names:
            if len(self._names) >= _MAX_CHANNELS:
                return False
            self._names.add(name)
            self.channels = (*self.channels, Channel(name))
        return True

    def close(self) -> None:
        self._file.close()


def make(address: Address, options: Options) -> CsvTail:
    return CsvTail(address.path, options)
