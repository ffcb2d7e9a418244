"""What feeds a machine from outside: its supplies, phases and inlets, and the outlets of a PDU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from powertui.data.model import PowerSeries
from powertui.patterns import late_pattern

_SUPPLY = late_pattern(
    r"(?:(?<![a-z])(?:psu|ps|phase|line|leg|l|feed|inlet)|power ?supply|ac input power)"
    r"[ _#-]?(\d|[a-d](?![a-z]))(?!\d)",
    re.IGNORECASE,
)
_NO_SUPPLY = late_pattern(r"(?<![a-z])(?:out|output|pout|cache)(?![a-z])", re.IGNORECASE)
_INPUT = late_pattern(r"(?<![a-z])(?:in|input|pin)(?![a-z])", re.IGNORECASE)
_OUTLET = late_pattern(r"(?<![a-z])(?:outlet|socket outlet)s?(?![a-z])", re.IGNORECASE)


def is_supply(name: str) -> bool:
    """Whether a channel is called like one of several supplies or phases."""
    return _SUPPLY.search(name) is not None


def outlets(series: Sequence[PowerSeries], rows: Iterable[int]) -> list[int]:
    """The outlets of a PDU or a power strip among some channels: each may feed another machine."""
    return [row for row in rows if _OUTLET.search(series[row].sensor.name)]


def outputs(series: Sequence[PowerSeries], rows: Sequence[int]) -> list[int]:
    """What comes out of supplies whose input is a channel of the same log: "DC Output Power" beside
    "AC Input Power".
    """
    logs_with_input = set()
    for row in rows:
        if _INPUT.search(series[row].sensor.name):
            logs_with_input.add(series[row].path)
    out = []
    for row in rows:
        channel = series[row]
        if channel.path in logs_with_input and _NO_SUPPLY.search(channel.sensor.name):
            out.append(row)
    return out


def supplies(series: Sequence[PowerSeries], rows: Sequence[int]) -> list[int]:
    """The supplies, or the phases, of one machine: channels of one log that are named alike but for
    their number. Of what goes into them and what comes out, what goes in.
    """
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for row in rows:
        channel = series[row]
        name = channel.sensor.name
        match = _SUPPLY.search(name)
        if match is None or _NO_SUPPLY.search(name):
            continue
        name_without_number = _SUPPLY.sub("", name, count=1).casefold()
        group = groups.setdefault((channel.path, name_without_number), [])
        group.append((row, match[1].casefold()))
    largest = max(groups.values(), key=len, default=[])
    # A number that comes twice is no supply's.
    numbers = {number for _, number in largest}
    if len(numbers) < len(largest):
        return []
    return [row for row, _ in largest]
