"""What a row of somebody's CSV file means: which columns are watts, which tell the time, which name
the channel.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

__all__ = ["PowerCell", "absolute_time", "cells", "power_columns", "values"]

_TIME_TITLE = re.compile(
    r"^(time_unix_s|time_epoch|epoch|timestamp|unix_?time|time|date(time)?)\b", re.IGNORECASE
)
_POWER_TITLE = re.compile(
    r"watt|power\.draw|sensor_reading|(^|[^a-z])power|\[w\]|^w$", re.IGNORECASE
)
_LABEL_TITLE = re.compile(r"^(index|gpu|name|host|channel|sensor)$", re.IGNORECASE)
_FRACTION = re.compile(r"\.(\d+)")
_MAX_NUMBER_CHARS = 64  # characters
_YEAR_2000_S = 946684800.0  # 2000: anything smaller is no absolute time


class PowerCell(NamedTuple):
    """One cell that is about power."""

    channel: str
    watts: float | None
    text: str  # as it stands there


def absolute_time(text: str) -> float | None:
    """Unix seconds from seconds, ms, µs or ns since 1970, or from ISO 8601 (without a zone: this
    machine's).
    """
    text = text.strip()
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    try:
        value = int(text) if text.isdigit() else float(text)
    except ValueError:
        try:
            exact = _FRACTION.sub(
                lambda m: "." + m[1][:6].ljust(6, "0"), text
            )  # Python 3.10 takes three or six digits
            return datetime.fromisoformat(
                exact.replace("/", "-").replace("Z", "+00:00")
            ).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    for scale in (1, 10**3, 10**6, 10**9):
        if _YEAR_2000_S <= value / scale < 10 * _YEAR_2000_S:
            return value / scale
    return None


def _watts(text: str) -> float | None:
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    match = re.match(r"\s*(-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*(m?W|Watts)?\s*$", text)
    if not match:
        return None
    value = float(match[1]) / (1000 if match[2] == "mW" else 1)
    return value if math.isfinite(value) else None


def cells(line: bytes) -> list[str]:
    """The fields of one line, without the blanks around them."""
    text = line.decode("utf-8", "replace").rstrip("\r").removeprefix("\ufeff").replace("\0", "")
    try:
        return [field.strip() for field in next(csv.reader([text]), [])]
    except csv.Error:  # a quote that never closes in a line of megabytes
        return []


def power_columns(header: Sequence[str], asked: Iterable[str] = ()) -> list[int]:
    """The columns of watts, or those of the names that were asked for."""
    wanted = [name.casefold() for name in asked]
    return [
        index
        for index, title in enumerate(header)
        if (title.casefold() in wanted if wanted else _POWER_TITLE.search(title))
        and not _TIME_TITLE.match(title)
    ]


def values(
    header: Sequence[str], fields: Sequence[str], columns: Iterable[int]
) -> tuple[float | None, list[PowerCell]]:
    """(when, what) a row says: no time where none of its columns holds an absolute one."""
    row = dict(zip(header, fields, strict=True))
    moments = (absolute_time(text) for title, text in row.items() if _TIME_TITLE.match(title))
    label = " ".join(text for title, text in row.items() if _LABEL_TITLE.match(title))
    told = [
        PowerCell(f"{header[i]} {label}".strip(), _watts(fields[i]), fields[i]) for i in columns
    ]
    return next((moment for moment in moments if moment is not None), None), told
