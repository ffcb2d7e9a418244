"""What the columns of somebody's CSV file mean: watts, the time, or a channel's name."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from powertui.named_tuples import NamedTuple

__all__ = [
    "NvidiaGpu",
    "PowerCell",
    "absolute_time",
    "are_of_nvidia_smi",
    "cells",
    "power_columns",
    "values",
]

_TIME_TITLE = re.compile(
    r"^(time_unix_s|time_epoch|epoch|timestamp|unix_?time|time|date(time)?)\b", re.IGNORECASE
)
_POWER_TITLE = re.compile(
    r"watt|power\.draw|sensor_reading|(^|[^a-z])power|\[w\]|^w$", re.IGNORECASE
)
_LABEL_TITLE = re.compile(r"^(index|gpu|name|host|channel|sensor)$", re.IGNORECASE)
# As `nvidia-smi --query-gpu=index,uuid,pci.bus_id,power.draw --format=csv` writes them.
_NVIDIA_POWER_TITLE = re.compile(r"power\.draw(?:\.(average|instant))?(?: \[W\])?$")
_FRACTION = re.compile(r"\.(\d+)")
_GPU_INDEX = re.compile(r"\d{1,4}", re.ASCII)
_MAX_ID_CHARS = 80  # chosen: a UUID of nvidia-smi has 40, an address 16
_MAX_NUMBER_CHARS = 64  # chosen: a double needs 25; what is longer is not worth the parsing
_YEAR_2000_S = 946684800.0  # what is smaller is no absolute time, but seconds since some start


class NvidiaGpu(NamedTuple):
    """A GPU as a row of nvidia-smi names it, in at least one of three ways."""

    number: int | None  # as the driver counts
    uuid: str
    pci: str

    @property
    def name(self) -> str:
        if self.number is not None:
            return f"GPU {self.number}"
        return f"GPU {self.uuid or self.pci}"


class PowerCell(NamedTuple):
    """One cell that is about power."""

    channel: str
    watts: float | None
    text: str  # as written
    gpu: NvidiaGpu | None = None  # that it is of, where nvidia-smi wrote it


def absolute_time(text: str) -> float | None:
    """Unix seconds from seconds, ms, µs or ns since 1970, or from ISO 8601.

    A time without a zone is in this machine's.
    """
    text = text.strip()
    if len(text) > _MAX_NUMBER_CHARS:
        return None
    try:
        if text.isdigit():
            value: float = int(text)
        else:
            value = float(text)
    except ValueError:
        return _iso_time(text)
    for scale in (1, 10**3, 10**6, 10**9):
        if _YEAR_2000_S <= value / scale < 10 * _YEAR_2000_S:
            return value / scale
    return None


def _iso_time(text: str) -> float | None:
    # Python 3.10 takes fractions of three or six digits alone.
    text = _FRACTION.sub(lambda match: "." + match[1][:6].ljust(6, "0"), text)
    text = text.replace("/", "-").replace("Z", "+00:00")
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
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
    names = [name.casefold() for name in asked]
    columns = []
    for index, title in enumerate(header):
        if names:
            chosen = title.casefold() in names
        else:
            chosen = _POWER_TITLE.search(title) is not None
        if chosen and not _TIME_TITLE.match(title):
            columns.append(index)
    return columns


def are_of_nvidia_smi(titles: Sequence[str]) -> bool:
    """Whether these columns of watts are what nvidia-smi calls them."""
    return bool(titles) and all(map(_NVIDIA_POWER_TITLE.fullmatch, titles))


def values(
    header: Sequence[str],
    fields: Sequence[str],
    columns: Iterable[int],
) -> tuple[float | None, list[PowerCell]]:
    """(the time, the power) in a row; no time where none of its columns holds an absolute one."""
    row = dict(zip(header, fields, strict=True))
    moment = None
    for title, text in row.items():
        if moment is None and _TIME_TITLE.match(title):
            moment = absolute_time(text)
    label = " ".join(text for title, text in row.items() if _LABEL_TITLE.match(title))
    power = []
    for column in columns:
        channel = f"{header[column]} {label}".strip()
        text = fields[column]
        gpu = None
        nvidia_title = _NVIDIA_POWER_TITLE.fullmatch(header[column])
        if nvidia_title is not None:
            gpu = _nvidia_gpu(row)
        if nvidia_title is not None and gpu is not None:
            way = nvidia_title[1]  # "average" or "instant", in newer drivers
            if way:
                channel = f"{gpu.name} ({way})"
            else:
                channel = gpu.name
        power.append(PowerCell(channel, _watts(text), text, gpu))
    return moment, power


def _nvidia_gpu(row: Mapping[str, str]) -> NvidiaGpu | None:
    """The GPU of a row of nvidia-smi; None where none of its columns says which."""
    index = row.get("index", "")
    gpu = NvidiaGpu(
        number=int(index) if _GPU_INDEX.fullmatch(index) else None,
        uuid=(row.get("uuid") or row.get("gpu_uuid", ""))[:_MAX_ID_CHARS],
        pci=(row.get("pci.bus_id") or row.get("gpu_bus_id", ""))[:_MAX_ID_CHARS],
    )
    if gpu != NvidiaGpu(None, "", ""):
        return gpu
    return None
