"""When a step of a running program comes, predicted from what it has logged so far.

A record carries the moment at which it was made, however late its writer lets it out. So the rate
of the steps is known from the first time that a writer lets out some, and the steps ahead can be
predicted, as long as the program goes on like that.
"""

from __future__ import annotations

from powertui.named_tuples import NamedTuple

__all__ = ["StepClock", "StepTime"]

_RECENT_RECORDS = 64  # of which the rate is taken: a program may become slower
# A share of the time ahead: no rate is trusted better than that. Chosen, not measured.
_MIN_RATE_ERROR = 0.05


class StepTime(NamedTuple):
    """A moment in Unix seconds, and how far off it may be."""

    at: float
    half: float


class StepClock:
    """Fed with records in any order; knows the first moment of each step that was logged."""

    def __init__(self) -> None:
        self._made: dict[int, float] = {}  # step → Unix s
        # The longest that a record was kept from us, of those that were made while we looked.
        self.behind_s = 0.0
        self._since: float | None = None

    def add(self, records: list[tuple[int, float]], now: float) -> None:
        """Take records: (step, Unix s). The first record of a step counts."""
        if self._since is None:
            self._since = now
        fresh: dict[int, float] = {}
        for step, made in records:
            if step in self._made:
                continue
            fresh.setdefault(step, made)
            if made >= self._since:
                self.behind_s = max(self.behind_s, now - made)
        self._made.update(fresh)

    @property
    def last(self) -> int | None:
        """The last step that was logged."""
        return max(self._made, default=None)

    def when(self, step: int) -> StepTime | None:
        """When this step was or will be at its end; None where the log shows no rate."""
        recent_steps = sorted(self._made)[-_RECENT_RECORDS:]
        if len(recent_steps) < 2:
            return None
        first = recent_steps[0]
        last = recent_steps[-1]
        first_s = self._made[first]
        last_s = self._made[last]
        step_s = (last_s - first_s) / (last - first)
        if step_s <= 0:
            return None  # two programs, or a clock that was set
        # How far records are off an even rate; ahead of the last one that grows with the distance.
        scatter_s = 0.0
        for logged in recent_steps:
            since_first_s = self._made[logged] - first_s
            scatter_s = max(scatter_s, abs(since_first_s - step_s * (logged - first)))
        ahead = max(step - last, 0)
        error_s = step_s + scatter_s * (1 + ahead / (last - first))
        error_s += _MIN_RATE_ERROR * step_s * ahead
        return StepTime(last_s + step_s * (step - last), error_s)

    def at(self, moment: float) -> float | None:
        """The step that was going on then: between the records around it, else by the rate."""
        steps = sorted(self._made)
        if not steps:
            return None
        before = [step for step in steps if self._made[step] <= moment]
        after = [step for step in steps if self._made[step] > moment]
        if before and after:
            lo = before[-1]
            hi = after[0]
            lo_s = self._made[lo]
            hi_s = self._made[hi]
            return lo + (hi - lo) * (moment - lo_s) / (hi_s - lo_s)
        last = steps[-1]
        end = self.when(last)
        next_end = self.when(last + 1)
        if end is None or next_end is None:
            return None
        return last + (moment - end.at) / (next_end.at - end.at)

    def covers(self, moment: float) -> bool:
        """Whether there are records on both sides of a moment."""
        made = self._made.values()
        return bool(made) and min(made) <= moment <= max(made)
