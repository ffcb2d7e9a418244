"""Columns of machines that are called like a part of one: gpu17, gpu18.

Their reader takes `gpu17_power_w` for GPU 17. GPUs are numbered from 0, or from 1, and a log of
them names all up to the last one; where a log names the host of the run and not the numbers before
it, its columns are machines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from powertui.data.model import PowerSeries, Scope
from powertui.data.power import devices, units
from powertui.patterns import late_pattern

_LIKE_A_PART = late_pattern(
    r"((?:gpu|cpu|card|cuda|dev|device|accel|npu|aiu|tpu|socket)-?)(\d{1,5})"
)


def with_hosts(power: Sequence[PowerSeries], hosts: Iterable[str]) -> list[PowerSeries]:
    """The channels; those that a host's name like a part's begins or ends have that host."""
    names = set()
    stems = set()
    for host in hosts:
        name, _, _ = host.casefold().partition(".")
        names.add(name)
        match = _LIKE_A_PART.fullmatch(name)
        if match is not None:
            stems.add(match[1])
    channels = list(power)
    if not stems:
        return channels
    files: dict[str, list[int]] = {}
    for row, series in enumerate(channels):
        if not series.sensor.host:
            files.setdefault(series.path, []).append(row)
    for rows in files.values():
        for stem in stems:
            _name_hosts(channels, rows, stem, names)
    return channels


def _name_hosts(
    channels: list[PowerSeries],
    rows: Sequence[int],
    stem: str,
    names: set[str],
) -> None:
    """Give the channels of one file their hosts where its words `stem` and a number are hosts."""
    # Names of fields have no hyphens: gpu_04 is of gpu-04.
    written_stem = stem.replace("-", "[-_]")
    word = re.compile(rf"(?<![A-Za-z0-9]){written_stem}\d{{1,5}}(?![A-Za-z0-9])", re.IGNORECASE)
    matches: dict[int, re.Match[str]] = {}
    written = set()
    numbers = set()
    for row in rows:
        match = word.search(channels[row].sensor.name)
        if match is not None:
            matches[row] = match
            digits = match[0][len(stem) :]
            written.add(stem + digits)
            numbers.add(int(digits))
    if written.isdisjoint(names) or _are_numbered_through(numbers):
        return
    for row, match in matches.items():
        channels[row] = _of_host(channels[row], match, stem)


def _of_host(series: PowerSeries, match: re.Match[str], stem: str) -> PowerSeries:
    """A channel whose name holds its host: what else the name says is the part of it."""
    name = series.sensor.name
    start, end = match.span()
    rest = f"{name[:start]} {name[end:]}".strip(" _-.:/()[]")
    scope = units.scope_of(rest) if rest else Scope.UNKNOWN
    device = None
    if scope is Scope.GPU:
        device = devices.device_of_column(rest)
    host = match[0]
    if "-" in stem:
        host = stem + host[len(stem) :]  # a host's name as its stem is written: gpu-04 of gpu_04
    sensor = replace(
        series.sensor,
        host=host,
        scope=scope,
        device=device,
    )
    return replace(series, sensor=sensor)


def _are_numbered_through(numbers: set[int]) -> bool:
    """Whether these are all numbers up to the largest, as those of parts are."""
    count = len(numbers)
    from_zero = set(range(count))
    from_one = set(range(1, count + 1))
    return numbers in (from_zero, from_one)
