"""How far the readings of a log lie from one another: asked once for all channels that share their
times.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from powertui.data.model import PS_PER_S, Floats, Int64s
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

_MEDIAN_DIFFERENCES = 65_536  # the first ones, that stand for a whole log: a bound of time
_MAX_SHIFTS = 4  # of one log's times that are kept: its channels differ by their sensors

_T = TypeVar("_T")


class Apart(NamedTuple):
    """From each of some moments to the next, in s."""

    seconds: Floats
    least: float
    most: float
    usual: float  # the median of the first ones; NaN where there is none


class _Lately(Generic[_T]):
    """What was last made of a few arrays, each kept no longer than the array that it was
    made of.
    """

    def __init__(
        self,
        make: Callable[[Int64s, int], _T],
        most: int,
        keep: Callable[[_T], Callable[[], _T | None]],
    ) -> None:
        self._make = make
        self._most = most
        self._keep = keep
        self._made: list[tuple[weakref.ref[Int64s], int, Callable[[], _T | None]]] = []

    def cached_for(self, array: Int64s, by: int = 0) -> _T:
        for reference, shift, made in tuple(self._made):
            if shift == by and reference() is array and (result := made()) is not None:
                return result
        new = self._make(array, by)
        self._made.append((weakref.ref(array, self._gone), by, self._keep(new)))
        del self._made[: -self._most]
        return new

    def _gone(self, which: weakref.ref[Int64s]) -> None:
        self._made = [entry for entry in self._made if entry[0] is not which]


def _held(made: _T) -> Callable[[], _T | None]:
    return lambda: made


def _apart(times: Int64s, _: int) -> Apart:
    seconds = np.diff(times) / float(PS_PER_S)
    seconds.flags.writeable = False
    if not len(seconds):
        return Apart(
            seconds=seconds,
            least=np.inf,
            most=0.0,
            usual=np.nan,
        )
    return Apart(
        seconds=seconds,
        least=float(seconds.min()),
        most=float(seconds.max()),
        usual=median_of_column(seconds[:_MEDIAN_DIFFERENCES]),
    )


def _longest_of(times: Int64s, _: int) -> int:
    if len(times) > 1:
        return int(np.diff(times).max())
    return 0


def _median_of(times: Int64s, _: int) -> float:
    return median_of_column(np.diff(times))


def _earlier(times: Int64s, by: int) -> Int64s:
    return times - by


_seconds: _Lately[Apart] = _Lately(_apart, 1, _held)
_longest: _Lately[int] = _Lately(_longest_of, 1, _held)
_median: _Lately[float] = _Lately(_median_of, 1, _held)
_shifted: _Lately[Int64s] = _Lately(
    _earlier, _MAX_SHIFTS, weakref.ref
)  # as long as somebody else wants them


def reading_distances(times: Int64s) -> Apart:
    """The distances of some moments (ps), which nobody may write to."""
    return _seconds.cached_for(times)


def longest(times: Int64s) -> int:
    """The longest of them, as the moments are counted."""
    return _longest.cached_for(times)


def median(times: Int64s) -> float:
    """The median of all of them, as the moments are counted; of two moments and more."""
    return _median.cached_for(times)


def earlier(times: Int64s, by: int) -> Int64s:
    """The same moments by so much earlier: one array for all channels that share them."""
    return _shifted.cached_for(times, by)
