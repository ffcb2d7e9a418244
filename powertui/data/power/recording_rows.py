"""The rows of powertui's own recordings as columns: line by line when they are few, by pandas' C
parser when they are many.

A recording is long: one row per reading, a hundred channels for a day make nine million of them.
Whatever the C parser does not take (a damaged line in the middle) is read line by line after all.
"""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from powertui.data.model import Bools, Floats, Int32s, Int64s
from powertui.data.power import column_times, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:
    import pandas as pd

MAGIC = "# powertui recording"
_FIRST, _MONO = "time_unix_s", "mono_s"
_MARK, BEGIN, END, LIMIT = "mark", "begin", "end", "limit"  # what a row without a channel tells
_MOMENT_KINDS = (_MARK, BEGIN, END, LIMIT)
_UNKNOWN = ("none", "suspect")  # qualities of rows without a value that counts
_MAX_COUNTED_IN_TABLE = 1 << 20  # numbers that are counted in a table
_CUT = "the last line is incomplete"


class NamedMoment(NamedTuple):
    """A row that names a moment."""

    row: int  # readings before it
    ns: int
    mono: float
    kind: str  # MARK, BEGIN, END or LIMIT
    name: str  # of a limit: the channel
    source: str = ""
    watts: float = math.nan  # of a limit; NaN: there is none any more


@dataclass(eq=False)
class RecordingRows:
    """Readings in file order. `key` counts (source, channel) pairs in their order of appearance."""

    ns: Int64s
    key: Int32s
    watts: Floats  # NaN: a gap
    counted: Floats  # the counter, J; NaN where there is none
    mono: Floats  # s on the clock that is never set; NaN where the row has none
    silent: Bools  # no value: a counter that is told nevertheless begins again here
    block: Int32s  # headers so far: a counter begins again after each, too
    keys: list[tuple[str, str]]
    gaps: dict[str, int] = field(default_factory=dict)  # reason → how often
    stale: int = 0
    moments: list[NamedMoment] = field(default_factory=list)  # in file order


def read(source: LogFile, notes: Notes) -> RecordingRows:
    """All readings of a recording."""
    if len(source.data) >= table.LARGE_TABLE_BYTES:
        rows = _large(source, notes)
        if rows is not None:
            return rows
    return _small(source, notes)


def _unix_ns(text: str) -> int | None:
    """Unix seconds with decimals as ns, digit for digit."""
    seconds, _, decimals = text.strip().partition(".")
    if not seconds.isdigit() or len(seconds) > 10:
        return None
    if decimals and not decimals.isdigit():
        return None
    nanoseconds = decimals[:9].ljust(9, "0")
    ns = int(seconds) * times.S + int(nanoseconds)
    if ns < column_times.MOST_NS:
        return ns
    return None


def _misfit(count: int, width: int) -> str:
    if width:
        return f"has {count} fields where the others have {width}"
    return "has no header above it"


class _Reading(NamedTuple):
    """A row of a recording with a reading, or with none where one was due."""

    ns: int
    key: int
    watts: float
    counted: float
    mono: float
    silent: bool
    block: int


class _RowsByLine:
    """The rows of a recording as they are read line by line."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._columns: dict[str, int] = {}
        self._keys: dict[tuple[str, str], int] = {}
        self._readings: list[_Reading] = []
        self._gaps: dict[str, int] = {}
        self._moments: list[NamedMoment] = []
        self._stale = 0
        self._block = 0

    def begin_block(self) -> None:
        """A recorder was started: its counters begin again."""
        self._block += 1

    def add(self, number: int, line: str) -> None:
        """A line that is no comment."""
        cells = table.fields(line, ",")
        if cells[0] == _FIRST:
            self._columns = {name: i for i, name in enumerate(cells)}
            return
        width = len(self._columns)
        if len(cells) != width:
            self._notes.drop(number, _misfit(len(cells), width))
            return
        row = {name: cells[i] for name, i in self._columns.items()}
        ns = _unix_ns(row[_FIRST])
        if row.get("channel"):
            self._add_reading(number, ns, row)
        elif ns is not None and row.get("quality") in _MOMENT_KINDS:
            self._add_moment(ns, row)

    def _add_moment(self, ns: int, row: dict[str, str]) -> None:
        moment = NamedMoment(
            row=len(self._readings),
            ns=ns,
            mono=table.number(row.get(_MONO, "")),
            kind=row["quality"],
            name=_name(row.get("mark", "")),
            source=row.get("source", ""),
            watts=table.number(row.get("watts", "")),
        )
        self._moments.append(moment)

    def _add_reading(self, number: int, ns: int | None, row: dict[str, str]) -> None:
        if ns is None:
            self._notes.drop(number, "the time is not a number")
            return
        watts = table.number(row.get("watts", ""))
        if row.get("watts") and not np.isfinite(watts):
            self._notes.drop(number, "the reading is not a number")
            return
        quality = row.get("quality")
        is_silent = quality in _UNKNOWN
        if is_silent:
            watts = np.nan
            reason = row.get("reason") or "no reading"
            self._gaps[reason] = self._gaps.get(reason, 0) + 1
        self._stale += quality == "stale"
        channel = (row.get("source", ""), row["channel"])
        reading = _Reading(
            ns=ns,
            key=self._keys.setdefault(channel, len(self._keys)),
            watts=watts,
            counted=table.number(row.get("joules", "")),
            mono=table.number(row.get(_MONO, "")),
            silent=is_silent,
            block=self._block,
        )
        self._readings.append(reading)

    def rows(self) -> RecordingRows:
        """All rows so far, as columns."""
        columns = zip(*self._readings, strict=True) if self._readings else [()] * 7
        ns, key, watts, counted, mono, silent, block = columns
        return RecordingRows(
            ns=np.array(ns, np.int64),
            key=np.array(key, np.int32),
            watts=np.array(watts, float),
            counted=np.array(counted, float),
            mono=np.array(mono, float),
            silent=np.array(silent, bool),
            block=np.array(block, np.int32),
            keys=list(self._keys),
            gaps=self._gaps,
            stale=self._stale,
            moments=self._moments,
        )


def _small(source: LogFile, notes: Notes) -> RecordingRows:
    rows = _RowsByLine(notes)
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith(MAGIC):
            rows.begin_block()
        if not line or line.startswith("#"):
            continue
        if number == len(lines):
            notes.drop(number, _CUT)
            continue
        rows.add(number, line)
    return rows.rows()


def _name(text: str) -> str:
    """A mark's text without the apostrophe that keeps spreadsheets from computing it."""
    if text.startswith(("'=", "'+", "'-", "'@")):
        return text[1:]
    return text


def _heads(body: bytes, begin: int) -> list[int]:
    """How many rows stand above each header that comes later in the file than `begin`."""
    above = 0
    checked = begin
    heads = []
    header_mark = b"\n" + MAGIC.encode()
    last = body.rfind(b"#", begin) + len(MAGIC)
    while (at := body.find(header_mark, checked, last)) >= 0:
        after_line = at + 1
        above += _row_count(body[checked:after_line])
        heads.append(above)
        checked = after_line
    return heads


class _Body(NamedTuple):
    """The part of a recording that the C parser reads, from `begin` on."""

    names: list[str]
    text: bytes
    begin: int


def _row_count(piece: bytes) -> int:
    """The lines of a piece that are neither empty nor comments."""
    comment_count = piece.count(b"\n#") + piece.startswith(b"#")
    empty_count = piece.count(b"\n\n") + piece.startswith(b"\n")
    return piece.count(b"\n") - comment_count - empty_count


def _body(source: LogFile, notes: Notes) -> _Body | None:
    """The rows below the first header; None where some are to be read line by line."""
    data = source.utf8
    first_name = _FIRST.encode()
    start = data.find(first_name)
    while start > 0 and data[start - 1 : start] != b"\n":
        start = data.find(first_name, start + 1)
    if start < 0:
        return None
    # NULs are what a power cut leaves: old pandas reads on past them.
    if b"\r" in data[:4096] or b"\x00" in data:
        return None
    end = data.rfind(b"\n") + 1
    if end < len(data):
        line_count = data.count(b"\n")
        notes.drop(line_count + 1, _CUT)
    header_end = data.index(b"\n", start)
    header = data[start:header_end]
    names = header.decode().split(",")
    # Nearly always there is one header and a last line that is whole: then nothing is copied.
    # (Columns without a # line above them are no numbers.)
    if end == len(data) and data.find(b"#", header_end) < 0:
        return _Body(names, data, header_end)
    header_line = b"\n" + header + b"\n"
    body = data[header_end:end].replace(header_line, b"\n")
    if b"\n" + first_name in body:
        return None  # a header with other columns
    return _Body(names, body, 0)


_TEXT_COLUMNS = ("source", "channel", "quality", "reason", "mark")


_NUMBER_COLUMNS = (_FIRST, _MONO, "watts", "joules")


def _frame(body: _Body) -> pd.DataFrame | None:
    """The rows by pandas; None where a cell is not what its column holds."""
    import pandas as pd

    lines = io.BytesIO(body.text)
    lines.seek(body.begin)
    kinds: Any = dict.fromkeys(_TEXT_COLUMNS, "category")
    kinds |= dict.fromkeys(_NUMBER_COLUMNS, np.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return pd.read_csv(
                lines,
                header=None,
                names=body.names,
                usecols=[name for name in body.names if name in kinds],
                comment="#",
                keep_default_na=False,
                na_values=[""],
                dtype=kinds,
                index_col=False,
                engine="c",
            )
    except (ValueError, Warning, OverflowError):
        return None


def _large(source: LogFile, notes: Notes) -> RecordingRows | None:
    body = _body(source, notes)
    if body is None:
        return None
    frame = _frame(body)
    if frame is None:
        return None
    is_possible = frame[_FIRST].abs() < column_times.MOST_NS / times.S
    frame = frame[is_possible]
    moments = _moments(frame)
    frame = frame[frame["channel"].notna()]
    key, keys = _channel_keys(frame)
    quality = frame["quality"]
    is_silent = quality.isin(_UNKNOWN).to_numpy(bool)
    heads = _heads(body.text, body.begin)
    block = np.searchsorted(heads, frame.index.to_numpy(), side="right")
    watts = frame["watts"].to_numpy(np.float64)
    return RecordingRows(
        ns=_to_us(frame[_FIRST].to_numpy(np.float64)),
        key=key,
        watts=np.where(is_silent, np.nan, watts),
        counted=_numbers_or_nan(frame, "joules"),
        mono=_numbers_or_nan(frame, _MONO),
        silent=is_silent,
        block=block.astype(np.int32),
        keys=keys,
        gaps=_gaps(frame["reason"][is_silent]),
        stale=int((quality == "stale").sum()),
        moments=moments,
    )


def _numbers_or_nan(frame: pd.DataFrame, name: str) -> Floats:
    """A column of numbers; NaN where a recording of an earlier version has no such column."""
    if name not in frame:
        return np.full(len(frame), np.nan)
    numbers: Floats = frame[name].to_numpy(np.float64)
    return numbers


def _gaps(reasons: Any) -> dict[str, int]:
    """How often each reason for a missing reading occurs."""
    named = _texts_or(reasons, "no reading")
    counts = named.value_counts(sort=False)
    gaps = {}
    for reason, count in counts.items():
        if count:
            gaps[str(reason)] = int(count)
    return gaps


def _texts_or(column: Any, default: str) -> Any:
    """A column of texts, with this one for the missing ones."""
    texts = column.astype(object)
    return texts.where(column.notna(), default)


def _channel_keys(frame: pd.DataFrame) -> tuple[Int32s, list[tuple[str, str]]]:
    """The number of each row's channel, and the channels: (source, name), in the order of their
    first rows.
    """
    source_codes = frame["source"].cat.codes.to_numpy(np.int64)
    channels = frame["channel"].cat
    channel_count = len(channels.categories)
    # A source may be missing: its code is -1 then.
    pair = (source_codes + 1) * (channel_count + 1)
    pair += channels.codes.to_numpy(np.int64)
    if pair.max(initial=0) > _MAX_COUNTED_IN_TABLE:
        _, counted = np.unique(pair, return_inverse=True)
        pair = counted.reshape(-1)
    first_rows = _first_rows(pair)
    rank_count = int(pair.max(initial=0)) + 1
    rank = np.zeros(rank_count, np.int32)
    rank[pair[first_rows]] = np.arange(len(first_rows), dtype=np.int32)
    firsts = frame.iloc[first_rows]
    sources = _texts_or(firsts["source"], "")
    keys = []
    for source, name in zip(sources, firsts["channel"], strict=True):
        keys.append((str(source), str(name)))
    return rank[pair], keys


def _first_rows(numbers: Int64s) -> Int64s:
    """The row in which each of some small numbers comes first, in order of appearance."""
    number_count = int(numbers.max(initial=-1)) + 1
    first = np.full(number_count, -1)
    backwards = np.arange(len(numbers))[::-1]
    first[numbers[::-1]] = backwards  # of several the last one that is written
    rows: Int64s = np.sort(first[first >= 0])
    return rows


def _to_us(seconds: Floats) -> Int64s:
    """Unix seconds as ns; they are written to the µs."""
    seconds_down = np.floor(seconds)
    decimals = seconds - seconds_down
    microseconds = np.round(decimals * 1e6).astype(np.int64)
    ns: Int64s = seconds_down.astype(np.int64) * times.S
    ns += microseconds * 1000
    return ns


def _moments(frame: pd.DataFrame) -> list[NamedMoment]:
    """The rows that name a moment."""
    if "mark" not in frame:
        return []
    is_silent = frame["channel"].isna().to_numpy(bool)
    is_moment = frame["quality"].isin(_MOMENT_KINDS).to_numpy(bool)
    rows = np.flatnonzero(is_silent & is_moment)
    named = frame.iloc[rows]
    readings_before = np.cumsum(~is_silent)
    columns = zip(
        readings_before[rows].tolist(),
        _to_us(named[_FIRST].to_numpy(np.float64)).tolist(),
        _numbers_or_nan(named, _MONO).tolist(),
        named["quality"],
        _texts_or(named["mark"], ""),
        _texts_or(named["source"], ""),
        named["watts"].to_numpy(np.float64).tolist(),
        strict=True,
    )
    moments = []
    for row, ns, mono, kind, name, source, watts in columns:
        moment = NamedMoment(
            row=row,
            ns=ns,
            mono=mono,
            kind=str(kind),
            name=_name(str(name)),
            source=str(source),
            watts=float(watts),
        )
        moments.append(moment)
    return moments
