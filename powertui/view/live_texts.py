"""The texts that the parts of the live screen share: watts, ages, lengths and times of day."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeAlias

from powertui.feed import NS

RoleLine: TypeAlias = Sequence[tuple[str, str]]  # (text, role of the theme)


def watts_text(value: float | None) -> str:
    """A power in a table: whole watts, or a dash for what is not known."""
    if value is None:
        return "–"
    return f"{value:,.0f}"


def age_text(seconds: float | None) -> str:
    """How long ago, in one glance."""
    if seconds is None:
        return "never"
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def length_text(seconds: float) -> str:
    """A length of time without needless figures: "30 s", "5 min", "2 h"."""
    for size_s, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size_s:
            count = seconds / size_s
            return f"{count:.3g} {unit}"
    return f"{seconds:.3g} s"


def time_of_day(at_ns: int, seconds: bool = True) -> str:
    """The time of day here."""
    form = "%H:%M"
    if seconds:
        form = "%H:%M:%S"
    moment = time.localtime(at_ns / NS)
    return time.strftime(form, moment)
