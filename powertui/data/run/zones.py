"""Time zones: what a local time stands for, which hours there are twice or never, and which zone a
difference of clocks means.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from powertui.data.model import NS_PER_S
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_OFFSET = late_pattern(r"^(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?$", re.IGNORECASE)
_HOUR_S = 3600
HALF_HOUR_S = 1800  # that most offsets are whole numbers of
OFFSET_LIMITS = (-12 * _HOUR_S, 14 * _HOUR_S)  # seconds east of UTC
# Whole hours, and those other offsets that a place on earth has: Marquesas, Newfoundland, Iran,
# Afghanistan, India, Nepal, Myanmar, Eucla, central Australia, Lord Howe, Chatham.
_ODD_HOURS = (-9.5, -3.5, -2.5, 3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75, 13.75)
REAL_OFFSETS = frozenset(
    {
        *range(OFFSET_LIMITS[0], OFFSET_LIMITS[1] + 1, _HOUR_S),
        *(round(hours * _HOUR_S) for hours in _ODD_HOURS),
    }
)


def offsets_at(text: str, local: datetime) -> tuple[int, ...]:
    """Seconds east of UTC in a zone when its clocks showed this: one; two in the hour that autumn
    repeats; none in spring's gap.
    """
    named = _zone(text)
    if isinstance(named, timedelta):
        return (round(named.total_seconds()),)
    offsets = []
    for fold in (0, 1):
        offset = named.utcoffset(local.replace(fold=fold)) or timedelta(0)
        moment = (local - offset).replace(tzinfo=timezone.utc)
        if moment.astimezone(named).replace(tzinfo=None) == local:
            offsets.append(round(offset.total_seconds()))
    return tuple(dict.fromkeys(offsets))


def offsets_in_zone(local: datetime, text: str) -> tuple[tuple[int, ...], str]:
    """(the offsets of a zone that a person named when its clocks showed this, in words)."""
    offsets = offsets_at(text, local.replace(tzinfo=None))
    if not offsets:
        return offsets, f"no such time in {text}, where clocks were set forward: check --tz"
    names = " or ".join(name(offset) for offset in offsets)
    if len(offsets) == 2:
        return offsets, f"{names}: the clocks in {text} showed this hour twice"
    return offsets, f"{names}, given with --tz"


def offset_of(text: str, unix_ns: int) -> int:
    """Seconds east of UTC in a named zone at a moment: that is never in doubt."""
    named = _zone(text)
    if isinstance(named, timedelta):
        return round(named.total_seconds())
    offset = datetime.fromtimestamp(unix_ns // NS_PER_S, timezone.utc).astimezone(named).utcoffset()
    return round((offset or timedelta(0)).total_seconds())


class ZoneFit(NamedTuple):
    """A zone that a difference of clocks may stand for; the least is the likeliest."""

    is_odd: bool  # not a whole hour
    rest_s: int  # what is left over
    offset_s: int  # east of UTC


def fit_zone(difference_s: int, early_s: int, late_s: int) -> ZoneFit | None:
    """The zone that a difference of clocks stands for; None for none."""
    offset_s = min(REAL_OFFSETS, key=lambda offset: abs(difference_s - offset))
    rest_s = difference_s - offset_s
    if not -early_s <= rest_s <= late_s:
        return None
    return ZoneFit(
        is_odd=bool(offset_s % _HOUR_S),
        rest_s=abs(rest_s),
        offset_s=offset_s,
    )


def name(offset_s: int) -> str:
    """UTC−3, UTC+5:30."""
    if not offset_s:
        return "UTC"
    sign = "−" if offset_s < 0 else "+"
    hours, rest_s = divmod(abs(offset_s), _HOUR_S)
    if rest_s:
        minutes = f":{rest_s // 60:02d}"
    else:
        minutes = ""
    return f"UTC{sign}{hours}{minutes}"


def _zone(text: str) -> timedelta | ZoneInfo:
    zone_name = text.strip()
    match = _OFFSET.match(zone_name)
    if match:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        if offset <= timedelta(hours=14) and int(match[3] or 0) < 60:
            return -offset if match[1] == "-" else offset
    elif zone_name.upper() in ("UTC", "GMT", "Z"):
        return timedelta(0)
    else:
        import zoneinfo

        try:
            return zoneinfo.ZoneInfo(zone_name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    hint = "Give an offset like --tz=-03:00, or a name like --tz=America/Sao_Paulo."
    raise UsageError(f"--tz {text!r} is not a time zone that this machine knows", hint=hint)
