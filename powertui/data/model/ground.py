"""Units, how far a number can be trusted, what could not be read, and where a zero lies in Unix
time.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from powertui.data.wire.types import Bools as Bools
from powertui.data.wire.types import Floats as Floats
from powertui.data.wire.types import Int32s as Int32s
from powertui.data.wire.types import Int64s as Int64s
from powertui.data.wire.types import UInt8s as UInt8s
from powertui.data.wire.types import UInt32s as UInt32s
from powertui.data.wire.types import UInt64s as UInt64s
from powertui.named_tuples import NamedTuple
from powertui.units import PS_PER_S as PS_PER_S
from powertui.value_types import dataclass

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
NS_PER_S = 1_000_000_000
Z95 = 1.959964  # standard deviations on either side that hold 95 % of a normal distribution


class Badge(str, enum.Enum):
    """How far a number can be trusted: of watts, joules, and whatever is worked out from several.

    Whoever reads or makes a number says which; what is made from it is never better
    (`worst_badge`).
    """

    MEASURED = "measured"  # counted or integrated from samples
    ESTIMATED = "estimated"  # a model, with its interval
    ASSUMED = "assumed"  # a default or a convention
    SIMULATED = "simulated"  # from a simulated sensor, as the demo's: nothing was measured


# From the best to the worst.
_RANKED_BADGES = (Badge.MEASURED, Badge.ESTIMATED, Badge.ASSUMED, Badge.SIMULATED)


def worst_badge(badges: Iterable[Badge]) -> Badge:
    """The badge of a figure made from others: that of the least certain one.

    A sum of measured joules and of joules in an assumed unit is assumed.
    """
    return max(badges, key=_RANKED_BADGES.index, default=Badge.MEASURED)


class Figure(NamedTuple):
    """One number with its badge."""

    value: float
    badge: Badge


@dataclass(frozen=True)
class Warn:
    """Something that could not be read or believed. Counted, shown, never raised."""

    file: str
    where: str  # "byte 1234", "row 7", "plane /host:CPU"; "" when it is the whole file
    cause: str
    count: int = 1
    is_loss: bool = False  # a part of the file is missing from every figure

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        times = ""
        if self.count > 1:
            times = f", {self.count} times"
        file = "standard input" if self.file == "-" else self.file
        return f"{file}{place}: {self.cause}{times}"


@dataclass(frozen=True)
class Clock:
    """Where a zero lies in Unix time: an interval in ns, and the evidence for it.

    `source` names the evidence: for a profile a rung of the ladder in `data/run/clocks.py` ("task
    environment" … "file time"), for a power log how its times were read, and "none". Without
    evidence both ends are None: relative time only.
    """

    lo_ns: int | None = None
    hi_ns: int | None = None
    source: str = "none"
    detail: str = ""  # one clause for a person: which file, which rule
    utc_offset_s: int | None = None  # of the profiled machine, when the evidence tells
    # what of it the file does not say itself ("date 2026-11-21 assumed from the file's name")
    assumed: str = ""
    of_day_ns: int | None = None  # the zero's time of day, in a file that tells no date

    @property
    def known(self) -> bool:
        return self.lo_ns is not None and self.hi_ns is not None

    @property
    def mid_ns(self) -> int:
        """The middle of the interval. Ask `known` first."""
        assert self.lo_ns is not None
        assert self.hi_ns is not None
        return (self.lo_ns + self.hi_ns) // 2

    @property
    def half_ns(self) -> int:
        """Half the width of the interval: the ± of every wall time derived from this clock."""
        assert self.lo_ns is not None
        assert self.hi_ns is not None
        return (self.hi_ns - self.lo_ns) // 2
