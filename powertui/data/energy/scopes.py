"""Which channels may be added up.

A node holds its packages and GPUs, a package holds its cores: never both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from powertui.data.model import Device, PowerSeries, Scope, Sensor

NUMBER = re.compile(
    r"(?:gpu|cuda|rocm|hip)[\s:#_\[-]*(\d{1,3})", re.IGNORECASE
)  # of a GPU, as logs and profiles write it
_MACHINE_SCOPES = (Scope.NODE, Scope.PLUG)
_SUPPLY = re.compile(
    r"(?<![a-z])(?:psu|ps|power supply|phase|line|leg|l)[ _#-]?(\d)(?!\d)", re.IGNORECASE
)  # what feeds a machine together
_NO_SUPPLY = re.compile(r"(?<![a-z])(?:out|output|pout|cache)(?![a-z])", re.IGNORECASE)
_OUTLET = re.compile(r"(?<![a-z])outlet", re.IGNORECASE)
_PART_SCOPES = (Scope.GPU, Scope.PACKAGE, Scope.DRAM)


@dataclass(frozen=True, eq=False)
class Addends:
    """The channels that make up the machine's power as far as it was measured, and what was left
    out.
    """

    series: tuple[PowerSeries, ...]
    indices: tuple[int, ...]  # into what was given
    text: str


def _overlap(series: PowerSeries, rival: PowerSeries) -> bool:
    """Whether two channels of a machine are, or may be, one thing that draws power. Of two such
    only one is counted.

    One log tells its GPUs apart by itself: two ways of reading one ("GPU 0 (average)", "GPU 0
    (instant)") have one name. Channels of two logs are two GPUs only where both say which, in the
    same way.
    """
    a, b = series.sensor, rival.sensor
    if a.scope is not b.scope:
        return False
    if a.name.split(" (")[0].casefold() == b.name.split(" (")[0].casefold():
        return True
    first, second = device(a), device(b)
    if first is None or second is None:
        return series.path != rival.path
    for key in ("uuid", "pci", "index"):
        identities = getattr(first, key), getattr(second, key)
        if identities[0] not in ("", None) and identities[1] not in ("", None):
            return bool(identities[0] == identities[1])
    return series.path != rival.path


def device(sensor: Sensor) -> Device | None:
    """The GPU that a channel names: as its reader says, else by the number in its name."""
    if sensor.device is not None or sensor.scope is not Scope.GPU:
        return sensor.device
    match = NUMBER.search(sensor.name)
    return Device(int(match[1])) if match else None


def of_one(series: Sequence[PowerSeries]) -> Addends:
    """Disjoint channels of one machine, by whatever names its logs call it (node17, bmc-node17)."""
    rows, text = _host(series, [i for i, channel in enumerate(series) if len(channel)], _label)
    return Addends(tuple(series[i] for i in rows), tuple(rows), text)


def total(series: Sequence[PowerSeries]) -> Addends:
    """Disjoint channels, host by host: the whole node alone, else its GPUs, packages and memory,
    else a single unknown one.

    Of several logs that cannot be added up the first counts: whoever has several gives the better
    one first.
    """
    picked: list[int] = []
    words: list[str] = []
    for host in dict.fromkeys(channel.sensor.host for channel in series):
        mine = [
            i for i, channel in enumerate(series) if channel.sensor.host == host and len(channel)
        ]
        rows, text = _host(series, mine, _name)
        picked += rows
        if text:
            words.append(f"{host}: {text}" if host else text)
    return Addends(tuple(series[i] for i in picked), tuple(picked), "; ".join(words))


def _host(
    series: Sequence[PowerSeries], mine: Sequence[int], named: Callable[[PowerSeries], str]
) -> tuple[list[int], str]:
    if not mine:
        return [], ""
    for scope in _MACHINE_SCOPES:
        whole = [i for i in mine if series[i].sensor.scope is scope]
        if whole:
            together = [i for i in whole if series[i].path == series[whole[0]].path]
            outlets = [i for i in together if _OUTLET.search(series[i].sensor.name)]
            best = max(together, key=lambda i: (i not in outlets, len(series[i])))
            if len(outlets) > 1 and best in outlets:
                return (
                    [best],
                    (
                        f"{named(series[best])} alone: it is not known which of the {len(outlets)} "
                        "outlets feed the machine"
                    ),
                )
            rest = f", which includes the other {len(mine) - 1}" if len(mine) > 1 else ""
            return [best], f"{named(series[best])} alone{rest}"
    parts: list[int] = []
    for i in mine:
        if series[i].sensor.scope in _PART_SCOPES and not any(
            _overlap(series[i], series[k]) for k in parts
        ):
            parts.append(i)
    if parts:
        chosen = parts
        left = len(mine) - len(chosen)
        names = " + ".join(named(series[i]) for i in chosen[:4]) + (
            f" + {len(chosen) - 4} more" if len(chosen) > 4 else ""
        )
        return chosen, names + (
            f" ({left} overlapping, left out)" if left else ""
        ) + ": parts of the machine, not the whole"
    supplies = _supplies(series, mine)
    if supplies:
        left = len(mine) - len(supplies)
        names = " + ".join(named(series[i]) for i in supplies)
        return supplies, names + (
            f" ({left} others left out)" if left else ""
        ) + ": together they feed the machine"
    first = mine[0]
    if len(mine) == 1:
        return [first], f"{named(series[first])} alone"
    return [
        first
    ], f"{named(series[first])} alone: it is not known which of the {len(mine)} channels overlap"


def _supplies(series: Sequence[PowerSeries], mine: Sequence[int]) -> list[int]:
    """The supplies, or the phases, of one machine: channels of one log that are named alike but for
    their number. Of what goes into them and what comes out, what goes in.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for i in mine:
        name = series[i].sensor.name
        if _SUPPLY.search(name) and not _NO_SUPPLY.search(name):
            groups.setdefault(
                (series[i].path, _SUPPLY.sub("", name, count=1).casefold()), []
            ).append(i)
    supplies = next(iter(groups.values()), [])
    numbers = {match[1] for i in supplies if (match := _SUPPLY.search(series[i].sensor.name))}
    return supplies if len(supplies) > 1 and len(numbers) == len(supplies) else []


def _name(series: PowerSeries) -> str:
    return series.sensor.name or series.sensor.source or "power"


def _label(series: PowerSeries) -> str:
    return series.sensor.label
