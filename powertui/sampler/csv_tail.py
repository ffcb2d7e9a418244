"""Follows a CSV file that somebody else writes: another recorder, nvidia-smi's output, any logger with a header.

Only rows that are appended from now on are yielded. A last line without its newline is waited for, up to the longest that a
row may be; a file that is renamed or cut is begun again. A recording names its channels in its heading, other files in their
columns. Time comes from a column with absolute times, else from the moment of arrival. What one look takes from the file is
limited: the rest is there the next time.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.sampler.csv_format import COLUMNS, MAGIC
from powertui.sampler.source import OK, STALE, SUSPECT, Channel, Info, Options, Reading, Stamp, none, suspect
from powertui.sampler.urls import Address

__all__ = ["CsvTail", "absolute_time", "make"]

_TIMES = re.compile(r"^(time_unix_s|time_epoch|epoch|timestamp|unix_?time|time|date(time)?)\b", re.IGNORECASE)
_WATTS = re.compile(r"watt|power\.draw|sensor_reading|(^|[^a-z])power|\[w\]|^w$", re.IGNORECASE)
_NAMES = re.compile(r"^(index|gpu|name|host|channel|sensor)$", re.IGNORECASE)
_FRACTION = re.compile(r"\.(\d+)")
_HEAD = 1 << 16
_LONGEST = 1 << 16  # bytes of one line
_MOST = 1 << 19  # bytes in one look: 10,000 rows and more
_CHANNELS = 10_000
_NUMBER = 64  # characters
_NAME = 200
_SILENT = 10.0  # spacings, and at least so many seconds, without a row: no value
_SCOPES = ("node", "package", "core", "dram", "gpu", "rail", "plug")
_SOURCE = b"# source: "
_EARLIEST = 946684800.0  # 2000: anything smaller is no absolute time


def absolute_time(text: str) -> float | None:
    """Unix seconds from seconds, ms, µs or ns since 1970, or from ISO 8601 (without a zone: this machine's)."""
    text = text.strip()
    if len(text) > _NUMBER:
        return None
    try:
        value = int(text) if text.isdigit() else float(text)
    except ValueError:
        try:
            exact = _FRACTION.sub(lambda m: "." + m[1][:6].ljust(6, "0"), text)  # Python 3.10 takes three or six digits
            return datetime.fromisoformat(exact.replace("/", "-").replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    for scale in (1, 10**3, 10**6, 10**9):
        if _EARLIEST <= value / scale < 10 * _EARLIEST:
            return value / scale
    return None


def _watts(text: str) -> float | None:
    if len(text) > _NUMBER:
        return None
    match = re.match(r"\s*(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(m?W|Watts)?\s*$", text)
    if not match:
        return None
    value = float(match[1]) / (1000 if match[2] == "mW" else 1)
    return value if math.isfinite(value) else None


class CsvTail:
    min_period = 0.05
    reconnects = 0

    def __init__(self, path: str, options: Options) -> None:
        if not path:
            raise UsageError("csv: needs a file.", hint="Write csv:power.csv.")
        self._path, self._options = Path(path), options
        self.name = self._path.name
        self.channels: tuple[Channel, ...] = ()
        self._file: BinaryIO | None = None
        self._rest = b""
        self._skipping = False  # inside of a line that is longer than a row may be
        self._too_long = 0  # such lines since the last look
        self._header: list[str] = []
        self._ours = False
        self._names: set[str] = set()  # of the channels
        self._heard = time.monotonic()
        self._spacing = 1.0

    def open(self) -> Info:
        try:
            self._start(at_end=True)
        except PermissionError:
            raise AuthenticationFailed(
                f"You may not read {self._path}.", hint=f"Ask its owner to make it readable: chmod a+r {self._path}"
            ) from None
        except OSError as error:
            raise SensorError(f"{self._path} cannot be read: {error.strerror}.") from None
        if not self._ours and not self._power_columns():
            columns = ", ".join(self._header[:12]) or "none"
            self.close()
            raise NotSupported(f"{self._path} has no column in watts.", hint=f"Its columns are: {columns}.")
        if not self._ours:
            self.channels = tuple(Channel(self._header[i].strip()) for i in self._power_columns())
        self._names = {c.name for c in self.channels}
        how = "a powertui recording" if self._ours else "a CSV file"
        return Info(f"csv ({how})", f"csv:{self._path}", "", self.channels, {"file": str(self._path)})

    def _start(self, *, at_end: bool) -> None:
        self.close()
        self._file = file = self._path.open("rb")
        head = file.read(_HEAD)
        self._ours = head.startswith(MAGIC.encode())
        lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
        self._header = COLUMNS.split(",") if self._ours else _cells(lines[0]) if lines else []
        if self._ours and not self.channels:
            self.channels = tuple(_told(head))
        if not at_end:
            file.seek(0)
        else:
            file.seek(0, os.SEEK_END)
            size = file.tell()
            file.seek(max(0, size - _HEAD))
            tail = file.read(min(size, _HEAD))
            self._rest = tail.rpartition(b"\n")[2] if tail else b""
            self._skipping = size > _HEAD and b"\n" not in tail
        self._heard = time.monotonic()

    def _power_columns(self) -> list[int]:
        wanted = [s.casefold() for s in self._options.sensors]
        return [
            i
            for i, h in enumerate(self._header)
            if (h.strip().casefold() in wanted if wanted else _WATTS.search(h)) and not _TIMES.match(h.strip())
        ]

    def _more(self) -> list[bytes]:
        """Whole lines that were appended since the last look."""
        assert self._file is not None
        try:
            now, ours = self._path.stat(), os.fstat(self._file.fileno())
            if (now.st_dev, now.st_ino) != (ours.st_dev, ours.st_ino) or now.st_size < self._file.tell():
                self._rest, self._skipping = b"", False
                self._start(at_end=False)
        except FileNotFoundError:
            pass  # being rotated: what is open may still get its last rows
        *lines, self._rest = (self._rest + self._file.read(_MOST)).split(b"\n")
        if self._skipping and lines:
            del lines[0]  # its end
            self._skipping = False
        if len(self._rest) > _LONGEST:
            self._rest, self._too_long, self._skipping = b"", self._too_long + (not self._skipping), True
        fitting = [line for line in lines if len(line) <= _LONGEST]
        self._too_long += len(lines) - len(fitting)
        return fitting

    def read(self) -> list[Reading]:
        stamp = Stamp.now()
        try:
            lines = self._more() if self._file else []
        except OSError as error:
            return self._silent(stamp, f"the file cannot be read: {error.strerror}")
        out: list[Reading] = []
        if self._too_long:
            self._too_long = 0
            out += self._silent(stamp, f"a line of more than {_LONGEST >> 10} KiB is not a row")
        for line in lines:
            if line.strip() and not line.startswith(b"#"):
                out += self._parse(_cells(line), stamp)
        if out:
            self._spacing = max(0.1, min(60.0, time.monotonic() - self._heard))
            self._heard = time.monotonic()
        elif time.monotonic() - self._heard > max(_SILENT, _SILENT * self._spacing):
            return self._silent(stamp, f"the file has not grown for {time.monotonic() - self._heard:.0f} s")
        return out

    def _silent(self, stamp: Stamp, why: str) -> list[Reading]:
        t, mono, rtt = stamp.middle()
        return [Reading(t, mono, None, rtt, self.name, c.name, none(why)) for c in self.channels]

    def _parse(self, fields: list[str], stamp: Stamp) -> list[Reading]:
        if len(fields) != len(self._header) or [f.strip() for f in fields] == [h.strip() for h in self._header]:
            return []
        row = {h.strip(): f for h, f in zip(self._header, fields, strict=True)}
        if self._ours:
            return self._parse_ours(row, stamp)
        moments = [m for h, f in row.items() if _TIMES.match(h) and (m := absolute_time(f)) is not None]
        t = moments[0] if moments else stamp.t
        label = " ".join(f.strip() for h, f in row.items() if _NAMES.match(h))
        out = []
        for index in self._power_columns():
            name = f"{self._header[index].strip()} {label}".strip()[:_NAME]
            if not self._know(name):
                continue
            value = _watts(fields[index])
            quality = OK if value is not None else none(f"{fields[index].strip()[:40]!r} is not a number of watts")
            out.append(Reading(t, stamp.mono - (stamp.t - t), value, 0.0, self.name, name, quality))
        return out

    def _parse_ours(self, row: dict[str, str], stamp: Stamp) -> list[Reading]:
        if not row["channel"]:
            return []  # a mark or a note
        try:
            t, rtt = absolute_time(row["time_unix_s"]), float(row["rtt_s"])
            watts = float(row["watts"]) if row["watts"] else None
            joules = float(row["joules"]) if row["joules"] else None
        except ValueError:
            return []
        name = f"{row['source']} {row['channel']}"[:_NAME]
        if t is None or not math.isfinite(rtt) or not self._know(name):
            return []
        quality = STALE if row["quality"] == STALE else OK
        if row["quality"] == SUSPECT:
            watts, quality = None, suspect(row["reason"])
        elif watts is None:
            quality = none(row["reason"])
        return [Reading(t, stamp.mono - (stamp.t - t), watts, rtt, self.name, name, quality, joules)]

    def _know(self, name: str) -> bool:
        """Whether it is a channel: one more, unless there are absurdly many."""
        if name not in self._names:
            if len(self._names) >= _CHANNELS:
                return False
            self._names.add(name)
            self.channels = (*self.channels, Channel(name))
        return True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _told(head: bytes) -> Iterator[Channel]:
    """The channels that a recording's header names, under the names that its rows give them here."""
    names: set[str] = set()
    for line in head.split(b"\n"):
        try:
            said = json.loads(line.removeprefix(_SOURCE)) if line.startswith(_SOURCE) and len(line) <= _LONGEST else {}
        except (ValueError, RecursionError):
            continue
        channels = said.get("channels") if isinstance(said, dict) else None
        for one in channels if isinstance(channels, list) else ():
            if isinstance(one, dict) and isinstance(one.get("name"), str):
                name = f"{said.get('name')} {one['name']}"[:_NAME]
                scope = one.get("scope") if one.get("scope") in _SCOPES else "unknown"
                if name not in names and len(names) < _CHANNELS:
                    names.add(name)
                    yield Channel(name, str(one.get("host") or said.get("host") or "")[:_NAME], str(scope))


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r").removeprefix("\ufeff").replace("\0", "")


def _cells(line: bytes) -> list[str]:
    try:
        return next(csv.reader([_decode(line)]), [])
    except csv.Error:  # a quote that never closes in a line of megabytes
        return []


def make(address: Address, options: Options) -> CsvTail:
    return CsvTail(address.path, options)
