"""When a step of a program that runs comes, told by what it has logged so far.

A record carries the moment at which it was made, however late its writer lets it out. So the rate
of the steps is known from the first time that a writer lets out some, and what lies ahead can be
told from it, as long as the program goes on like that.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["StepClock", "StepTime"]

_RECENT_RECORDS = 64  # records by which the rate is told: a program may become slower
_MIN_RATE_ERROR = 0.05  # of the time ahead: no rate is known better than that


class StepTime(NamedTuple):
    """A moment in Unix seconds, and how far off it may be."""

    at: float
    half: float


class StepClock:
    """Fed with records in any order; knows the first moment of each step that was logged."""

    def __init__(self) -> None:
        self._made: dict[int, float] = {}  # step → Unix s
        # the longest that a record was kept from us, of those that were made while we looked
        self.behind_s = 0.0
        self._since: float | None = None

    def add(self, records: list[tuple[int, float]], now: float) -> None:
        """What has come: (step, Unix s)."""
        fresh = [(step, made) for step, made in records if step not in self._made]
        self._made.update((step, made) for step, made in reversed(fresh))
        if self._since is None:
            self._since = now
        self.behind_s = max(
            self.behind_s, *(now - made for _, made in fresh if made >= self._since), 0.0
        )

    @property
    def last(self) -> int | None:
        """The last step that was logged."""
        return max(self._made, default=None)

    def when(self, step: int) -> StepTime | None:
        """When this step was or will be at its end; None where the log tells no rate."""
        recent_steps = sorted(self._made)[-_RECENT_RECORDS:]
        if len(recent_steps) < 2:
            return None
        first, last = recent_steps[0], recent_steps[-1]
        began, each = self._made[first], (self._made[last] - self._made[first]) / (last - first)
        if each <= 0:
            return None  # two programs, or a clock that was set
        off = max(
            abs(self._made[logged] - began - each * (logged - first)) for logged in recent_steps
        )
        ahead = abs(step - last) if step > last else 0
        return StepTime(
            self._made[last] + each * (step - last),
            each + off * (1 + ahead / (last - first)) + _MIN_RATE_ERROR * each * ahead,
        )

    def at(self, moment: float) -> float | None:
        """The step that was going on then: between the records around it, else by the rate."""
        steps = sorted(self._made)
        before = [step for step in steps if self._made[step] <= moment]
        after = [step for step in steps if self._made[step] > moment]
        if before and after:
            lo, hi = before[-1], after[0]
            return lo + (hi - lo) * (moment - self._made[lo]) / (self._made[hi] - self._made[lo])
        expected, last = (self.when(steps[-1]), steps[-1]) if steps else (None, 0)
        following = self.when(last + 1)
        if expected is None or following is None:
            return None
        return last + (moment - expected.at) / (following.at - expected.at)

    def covers(self, moment: float) -> bool:
        """Whether records lie on both sides of a moment."""
        made = self._made.values()
        return bool(made) and min(made) <= moment <= max(made)
