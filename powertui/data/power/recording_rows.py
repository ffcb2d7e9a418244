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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from powertui.data.model import Bools, Floats, Int32s, Int64s
from powertui.data.power import table, times
from powertui.data.power.notes import Notes
from powertui.data.power.source import LogFile
from powertui.value_types import dataclass

if TYPE_CHECKING:
    import pandas as pd

MAGIC = "# powertui recording"
_FIRST, _MONO = "time_unix_s", "mono_s"
_MARK, BEGIN, END, LIMIT = "mark", "begin", "end", "limit"  # what a row without a channel tells
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
    seconds, _, rest = text.strip().partition(".")
    if not seconds.isdigit() or (rest and not rest.isdigit()) or len(seconds) > 10:
        return None
    ns = int(seconds) * times.S + int((rest or "0")[:9].ljust(9, "0"))
    return ns if ns < times.MOST_NS else None


def _misfit(count: int, width: int) -> str:
    return (
        f"has {count} fields where the others have {width}" if width else "has no header above it"
    )


def _small(source: LogFile, notes: Notes) -> RecordingRows:
    keys: dict[tuple[str, str], int] = {}
    gaps: dict[str, int] = {}
    readings: list[tuple[int, int, float, float, float, bool, int]] = []
    moments: list[NamedMoment] = []
    columns: dict[str, int] = {}
    stale = block = 0
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        if line.startswith("#"):
            block += line.startswith(MAGIC)
            continue
        if number == len(lines):
            notes.drop(number, _CUT)
            continue
        cells = table.fields(line, ",")
        if cells[0] == _FIRST:
            columns = {name: i for i, name in enumerate(cells)}
            continue
        if len(cells) != len(columns):
            notes.drop(number, _misfit(len(cells), len(columns)))
            continue
        at = {name: cells[i] for name, i in columns.items()}
        ns = _unix_ns(at[_FIRST])
        if not at.get("channel"):
            if ns is not None and (kind := at.get("quality", "")) in (_MARK, BEGIN, END, LIMIT):
                moment = NamedMoment(
                    len(readings),
                    ns,
                    table.number(at.get(_MONO, "")),
                    kind,
                    _name(at.get("mark", "")),
                )
                moments.append(
                    moment._replace(
                        source=at.get("source", ""), watts=table.number(at.get("watts", ""))
                    )
                )
            continue
        watts = table.number(at.get("watts", ""))
        if ns is None or (at.get("watts") and not np.isfinite(watts)):
            notes.drop(
                number, "the time is not a number" if ns is None else "the reading is not a number"
            )
            continue
        silent = at.get("quality") in _UNKNOWN
        if silent:
            watts = np.nan
            reason = at.get("reason") or "no reading"
            gaps[reason] = gaps.get(reason, 0) + 1
        stale += at.get("quality") == "stale"
        key = keys.setdefault((at.get("source", ""), at["channel"]), len(keys))
        readings.append(
            (
                ns,
                key,
                watts,
                table.number(at.get("joules", "")),
                table.number(at.get(_MONO, "")),
                silent,
                block,
            )
        )
    ns_, key_, watts_, counted, mono, silent_, block_ = (
        zip(*readings, strict=True) if readings else ((), (), (), (), (), (), ())
    )
    return RecordingRows(
        ns=np.array(ns_, np.int64),
        key=np.array(key_, np.int32),
        watts=np.array(watts_, float),
        counted=np.array(counted, float),
        mono=np.array(mono, float),
        silent=np.array(silent_, bool),
        block=np.array(block_, np.int32),
        keys=list(keys),
        gaps=gaps,
        stale=stale,
        moments=moments,
    )


def _name(text: str) -> str:
    """A mark's text without the apostrophe that keeps spreadsheets from computing it."""
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


def _heads(body: bytes, begin: int) -> list[int]:
    """How many rows stand above each header that comes later in the file than `begin`."""
    above, checked, heads = 0, begin, []
    last = body.rfind(b"#", begin) + len(MAGIC)
    while (at := body.find(b"\n" + MAGIC.encode(), checked, last)) >= 0:
        piece = body[checked : at + 1]
        above += (
            piece.count(b"\n")
            - piece.count(b"\n#")
            - piece.startswith(b"#")
            - piece.count(b"\n\n")
            - piece.startswith(b"\n")
        )
        heads.append(above)
        checked = at + 1
    return heads


def _large(source: LogFile, notes: Notes) -> RecordingRows | None:
    data = source.utf8
    start = data.find(_FIRST.encode())
    while start > 0 and data[start - 1 : start] != b"\n":
        start = data.find(_FIRST.encode(), start + 1)
    if (
        start < 0 or b"\r" in data[:4096] or b"\x00" in data
    ):  # NULs are what a power cut leaves: old pandas reads on past them
        return None
    end = data.rfind(b"\n") + 1
    if end < len(data):
        notes.drop(data.count(b"\n") + 1, _CUT)
    header = data[start : data.index(b"\n", start)]
    # Nearly always there is one header and a last line that is whole: then nothing is copied.
    # (Columns without a # line above them are no numbers.)
    body, begin = data, start + len(header)
    if end < len(data) or data.find(b"#", begin) >= 0:
        body, begin = data[begin:end].replace(b"\n" + header + b"\n", b"\n"), 0
        if body.find(b"\n" + _FIRST.encode()) >= 0:
            return None  # a header with other columns
    lines = io.BytesIO(body)
    lines.seek(begin)
    names = header.decode().split(",")
    import pandas as pd

    columns_to_read = [
        name
        for name in (
            _FIRST,
            _MONO,
            "source",
            "channel",
            "watts",
            "joules",
            "quality",
            "reason",
            "mark",
        )
        if name in names
    ]
    kinds: Any = dict.fromkeys(("source", "channel", "quality", "reason", "mark"), "category")
    kinds |= dict.fromkeys((_FIRST, _MONO, "watts", "joules"), np.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = pd.read_csv(
                lines,
                header=None,
                names=names,
                usecols=columns_to_read,
                comment="#",
                keep_default_na=False,
                na_values=[""],
                dtype=kinds,
                index_col=False,
                engine="c",
            )
    except (ValueError, Warning, OverflowError):
        return None
    frame = frame[frame[_FIRST].abs() < times.MOST_NS / times.S]
    moments = _moments(frame)
    frame = frame[frame["channel"].notna()]
    ns = _to_us(frame[_FIRST].to_numpy(np.float64))
    watts = frame["watts"].to_numpy(np.float64)
    sources, channels = frame["source"].cat, frame["channel"].cat
    pair = (sources.codes.to_numpy(np.int64) + 1) * (
        len(channels.categories) + 1
    ) + channels.codes.to_numpy(np.int64)
    if int(pair.max(initial=0)) > _MAX_COUNTED_IN_TABLE:
        pair = np.unique(pair, return_inverse=True)[1].reshape(-1)
    first = _first_rows(pair)
    rank = np.zeros(int(pair.max(initial=0)) + 1, np.int32)
    rank[pair[first]] = np.arange(len(first), dtype=np.int32)
    heads = frame.iloc[first]
    labels = [
        ("" if source != source else str(source), str(name))
        for source, name in zip(heads["source"], heads["channel"], strict=True)
    ]
    silent = frame["quality"].isin(_UNKNOWN).to_numpy(bool)
    watts = np.where(silent, np.nan, watts)
    reasons = (
        frame["reason"][silent].astype(object).where(frame["reason"][silent].notna(), "no reading")
    )
    gaps = {
        str(reason): int(count)
        for reason, count in reasons.value_counts(sort=False).items()
        if count
    }
    counted = (
        frame["joules"].to_numpy(np.float64) if "joules" in frame else np.full(len(frame), np.nan)
    )
    return RecordingRows(
        ns=ns,
        key=rank[pair],
        watts=watts,
        counted=counted,
        mono=frame[_MONO].to_numpy(np.float64) if _MONO in frame else np.full(len(frame), np.nan),
        silent=silent,
        block=np.searchsorted(_heads(body, begin), frame.index.to_numpy(), side="right").astype(
            np.int32
        ),
        keys=labels,
        gaps=gaps,
        stale=int((frame["quality"] == "stale").sum()),
        moments=moments,
    )


def _first_rows(numbers: Int64s) -> Int64s:
    """The row in which each of some small numbers comes first, in order of appearance."""
    first = np.full(int(numbers.max(initial=-1)) + 1, -1)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several the last one that is written
    rows: Int64s = np.sort(first[first >= 0])
    return rows


def _to_us(seconds: Floats) -> Int64s:
    """Unix seconds as ns; they are written to the µs."""
    seconds_down = np.floor(seconds)
    ns: Int64s = (
        seconds_down.astype(np.int64) * times.S
        + np.round((seconds - seconds_down) * 1e6).astype(np.int64) * 1000
    )
    return ns


def _moments(frame: pd.DataFrame) -> list[NamedMoment]:
    """The rows that name a moment."""
    if "mark" not in frame:
        return []
    silent = frame["channel"].isna().to_numpy(bool)
    rows = np.flatnonzero(silent & frame["quality"].isin((_MARK, BEGIN, END, LIMIT)).to_numpy(bool))
    before = np.cumsum(~silent)[rows].tolist()
    some = frame.iloc[rows]
    mono = some[_MONO].tolist() if _MONO in some else [math.nan] * len(some)
    names = some["mark"].astype(object).where(some["mark"].notna(), "")
    sources = some["source"].astype(object).where(some["source"].notna(), "")
    return [
        NamedMoment(row, ns, mono_s, str(kind), _name(str(name)), str(source), float(watts))
        for row, ns, mono_s, kind, name, source, watts in zip(
            before,
            _to_us(some[_FIRST].to_numpy(np.float64)).tolist(),
            mono,
            some["quality"],
            names,
            sources,
            some["watts"].to_numpy(np.float64).tolist(),
            strict=True,
        )
    ]
