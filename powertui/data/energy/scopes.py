"""Which channels may be added up. A node holds its packages and GPUs, a package holds its cores: never both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from powertui.data.model import PowerSeries, Scope

_WHOLE = (Scope.NODE, Scope.PLUG)
_PARTS = (Scope.GPU, Scope.PACKAGE, Scope.DRAM)


@dataclass(frozen=True, eq=False)
class Total:
    """The channels that make up the machine's power as far as it was measured, and what was left out."""

    series: tuple[PowerSeries, ...]
    indices: tuple[int, ...]  # into what was given
    text: str


def _device(series: PowerSeries) -> tuple[Scope, str]:
    """One thing of a machine that draws power: two ways of reading it ("GPU 0 (average)", "GPU 0 (instant)") are one."""
    return series.sensor.scope, series.sensor.name.split(" (")[0].lower()


def of_one(series: Sequence[PowerSeries]) -> Total:
    """Disjoint channels of one machine, by whatever names its logs call it (node17, bmc-node17)."""
    rows, text = _host(series, [i for i, one in enumerate(series) if len(one)])
    return Total(tuple(series[i] for i in rows), tuple(rows), text)


def total(series: Sequence[PowerSeries]) -> Total:
    """Disjoint channels, host by host: the whole node alone, else its GPUs, packages and memory, else a single unknown one.

    Of several logs that cannot be added up the first counts: whoever has several gives the better one first.
    """
    picked: list[int] = []
    words: list[str] = []
    for host in dict.fromkeys(one.sensor.host for one in series):
        mine = [i for i, one in enumerate(series) if one.sensor.host == host and len(one)]
        rows, text = _host(series, mine)
        picked += rows
        if text:
            words.append(f"{host}: {text}" if host else text)
    return Total(tuple(series[i] for i in picked), tuple(picked), "; ".join(words))


def _host(series: Sequence[PowerSeries], mine: Sequence[int]) -> tuple[list[int], str]:
    if not mine:
        return [], ""
    for scope in _WHOLE:
        whole = [i for i in mine if series[i].sensor.scope is scope]
        if whole:
            best = max((i for i in whole if series[i].path == series[whole[0]].path), key=lambda i: len(series[i]))
            rest = f", which includes the other {len(mine) - 1}" if len(mine) > 1 else ""
            return [best], f"{_name(series[best])} alone{rest}"
    parts: dict[tuple[Scope, str], int] = {}
    for i in mine:
        if series[i].sensor.scope in _PARTS:
            parts.setdefault(_device(series[i]), i)
    if parts:
        chosen = list(parts.values())
        left = len(mine) - len(chosen)
        names = " + ".join(_name(series[i]) for i in chosen[:4]) + (f" + {len(chosen) - 4} more" if len(chosen) > 4 else "")
        return chosen, names + (f" ({left} overlapping, left out)" if left else "") + ": parts of the machine, not the whole"
    first = mine[0]
    if len(mine) == 1:
        return [first], f"{_name(series[first])} alone"
    return [first], f"{_name(series[first])} alone: it is not known which of the {len(mine)} channels overlap"


def _name(series: PowerSeries) -> str:
    return series.sensor.name or series.sensor.source or "power"
