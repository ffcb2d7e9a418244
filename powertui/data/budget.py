"""An energy budget: what of it is spent, at which rate, and when it will be gone.

The rate is the mean of the last hour, in blocks of ten seconds and more. The time that is left
holds if it goes on as in these blocks: its interval comes from their spread, not from the error of
their mean, because loads stay high or low for longer than a block.
"""

from __future__ import annotations

import math
import re
from collections import deque

import numpy as np

from powertui.data.model import Z95
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

_JOULES = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9}
_WRITTEN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([A-Za-z]+)", re.ASCII)
_BLOCK_S = 10.0  # between two marks of what was spent: the rate is that between marks
_MAX_BLOCKS = 360  # an hour; chosen: a training's rate changes from epoch to epoch
_MIN_BLOCKS = 6  # a minute: before that nothing is said of the rate


class Budget(NamedTuple):
    """How much energy may be spent."""

    joules: float
    words: str  # as a person wrote it


def parse(text: str) -> Budget:
    """A budget like 4kWh. Raises `UsageError`."""
    match = _WRITTEN.fullmatch(text.strip())
    amount = 0.0
    scale = None
    if match is not None:
        amount = float(match[1])
        scale = _JOULES.get(match[2])
    if match is None or scale is None or not 0 < amount * scale < math.inf:
        raise UsageError(
            f"--budget {plain(text, 40)} is not an energy.",
            hint=f"Write it like 4kWh. The units are {', '.join(_JOULES)}.",
        )
    return Budget(amount * scale, f"{amount:g} {match[2]}")


class Forecast(NamedTuple):
    """When a budget will be gone, at the rate of the last hour."""

    watts: float
    left_s: float  # with the mean rate
    least_s: float  # 95 % interval; infinite where it may never be gone
    most_s: float


class BudgetMeter:
    """Follows the energy that is spent. `take` it as often as there is news."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.spent_j: float | None = None  # nothing was read yet
        self._marks: deque[tuple[float, float]] = deque(maxlen=_MAX_BLOCKS + 1)

    def take(self, mono_s: float, spent_j: float) -> None:
        """The energy that was spent up to a moment."""
        self.spent_j = spent_j
        if self._marks:
            last_s, last_j = self._marks[-1]
            if spent_j < last_j:
                self._marks.clear()  # the sum is of other channels than before
            elif mono_s - last_s < _BLOCK_S:
                return
        self._marks.append((mono_s, spent_j))

    @property
    def forecast(self) -> Forecast | None:
        """None until the rate is known, and when nothing is left."""
        spent_j = self.spent_j
        if spent_j is None or len(self._marks) <= _MIN_BLOCKS:
            return None
        left_j = self.budget.joules - spent_j
        if left_j <= 0:
            return None
        times, joules = np.array(self._marks).T
        watts = np.diff(joules) / np.diff(times)
        marked_j = joules[-1] - joules[0]
        marked_s = times[-1] - times[0]
        mean = float(marked_j / marked_s)
        if mean <= 0:
            return None
        spread = Z95 * float(np.std(watts, ddof=1))
        slowest = mean - spread
        most_s = math.inf
        if slowest > 0:
            most_s = left_j / slowest
        return Forecast(
            watts=mean,
            left_s=left_j / mean,
            least_s=left_j / (mean + spread),
            most_s=most_s,
        )

    def words(self, room: int) -> str:
        """What is spent, at which rate, and when it will be gone; shorter where there is less
        room.
        """
        if self.spent_j is None:
            return f"budget of {self.budget.words}: nothing was read yet"
        share = f"{100 * self.spent_j / self.budget.joules:.3g} %"
        of_budget = f"{share} of {self.budget.words} spent"
        if self.spent_j >= self.budget.joules:
            return f"budget gone: {of_budget}"
        forecast = self.forecast
        if forecast is None:
            return f"{of_budget}; the rate is known after a minute"
        gone = f"gone in {_length(forecast.left_s)}"
        bounds = f"{_length(forecast.least_s)} or more"
        if math.isfinite(forecast.most_s):
            bounds = f"{_length(forecast.least_s)} to {_length(forecast.most_s)}"
        rate = f" at {forecast.watts:,.0f} W"
        for words in (f"{of_budget}, {gone} ({bounds}){rate}", f"{of_budget}, {gone} ({bounds})"):
            if len(words) <= room:
                return words
        return f"{share} spent, {gone} ({bounds})"


def _length(seconds: float) -> str:
    """A time that is left, no finer than a person plans."""
    minutes = max(1, round(seconds / 60))
    if minutes < 100:
        return f"{minutes} min"
    hours = round(minutes / 60)
    if hours < 100:
        return f"{hours} h"
    return f"{round(hours / 24)} d"
