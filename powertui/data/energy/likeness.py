"""How badly a power log fits a trace when it is laid on it at some offset.

Every reading is predicted by the kinds of work that would have filled its window (`predict`), with watts that cannot be
negative, on top of the lowest power that the log ever had: no idle machine draws less than that floor, and hardly more, and
work only adds to it. What is left over costs, in units of the ordinary residual:

    above the prediction   no more than a fixed price: machines do things that no trace shows, and those only add
    below it               more, the farther the more: what ran has to be paid for
    outside the profile    nothing is known; idle, or work like that in the profile, is likely, anything else has its price
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from powertui.data.energy import nnls
from powertui.data.energy.predict import Shares
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats

TAIL = 3.0  # how slowly the price of a large residual grows: that of Student's t
FOREIGN = 4.0  # power above the prediction never costs more …
LASTING = 3.0  # … and no more than so much a second where it goes on as in the reading before
MOST_LASTING = 1.5  # or this for a reading
UNCOVERED = 10.0  # what it costs to lay the log on the trace so that none of the profile is covered
ELSE = 3.0  # a reading outside the profile that is neither idle, nor like training, nor like the reading before
BUSY = float(
    np.log(2)
)  # or twice that a second, if this is less: one that is like training, which may have gone on, or like the reading before
LAPSE = 4.0  # a second in which training pauses before the end that something tells, or goes on after it …
SOON = 3.0  # s: later it is something else that runs
MOST_LAPSE = 2.0  # … but no more than this for one reading
IDLE_SHARE = 0.03  # of the log's swing: so far the idle machine may stand above the lowest reading
# Of the swing: what each kind of work draws, give or take. A call that shows nothing inside waits, if anything.
USUAL = {"host calls without detail": 0.25, "host work": 0.6, "input": 0.6, "compiling": 0.7, "copies": 0.8}
# And hardly more than computing does, by so much of the swing.
MORE = {"host calls without detail": 0.03, "input": 0.2}
MORE_OTHERWISE = 0.25
TURNS = 4
INSIDE, TRAINING, AFTER, UNKNOWN = range(4)  # the profile, training beyond it, after the training's told end, anything else
_CHUNK = 400_000  # readings times offsets that are looked at together


@dataclass
class Likeness:
    """Readings, what ran, and the width of an ordinary residual."""

    shares: Shares
    base_w: float  # the floor
    swing_w: float  # from there to the highest readings
    scale: float = 1.0
    floor: float = 1.0  # the smallest scale
    alike: float = 1.0  # how many neighbouring residuals say the same thing

    def costs(self, offsets: Floats, data: Samples, ppm: float = 0.0) -> tuple[Floats, Floats]:
        """What each offset costs, and the watts of its fit, idle first."""
        total = np.empty(len(offsets))
        watts = np.empty((len(offsets), len(self.shares.names) - 1))
        chunk = max(1, _CHUNK // max(len(data), 1))
        stretch = 1 + ppm * 1e-6
        above = data.watts - self.base_w
        # Beforehand: the idle machine stands near the floor, and no kind of work draws many times the log's swing.
        usual = self.swing_w * np.array([IDLE_SHARE, *(USUAL.get(name, 1.5) for name in self.shares.names[1:-1])])
        prior = self.alike / usual**2
        kinds = self.shares.names[1:-1]
        more = self.swing_w * np.array([MORE.get(name, MORE_OTHERWISE) for name in kinds])
        strongest = kinds.index("compute") if "compute" in kinds else None
        ridge = np.diag(prior * self.scale**2)
        low = ridge.copy()
        low[0, 0] += 10.0 * len(data)  # the first turns keep the idle machine at the floor
        sigma = self.scale * self.widths(data)
        steady = price(np.abs(np.diff(above, prepend=above[:1])) / (sigma * 2**0.5))
        trust = (self.scale / sigma) ** 2
        pace = float(np.median(np.diff(data.hi))) if len(data) > 1 else 1.0
        lapse = min(LAPSE * pace, MOST_LAPSE) * self.alike
        lasting, busy = min(LASTING * pace, MOST_LASTING), BUSY * min(2 * pace, 1.0)
        for start in range(0, len(offsets), chunk):
            part = offsets[start : start + chunk, None]
            lo, hi = data.lo * stretch + part, data.hi * stretch + part
            columns = self.shares.rows(lo, hi)  # [offsets, readings, kinds]
            columns = columns[..., :-1]
            state = self._state((lo + hi) / 2)
            weight = np.where(state == INSIDE, 1.0, 0.01) * trust
            for turn in range(TURNS):
                weighted = (columns * weight[..., None]).transpose(0, 2, 1)
                fitted = nnls.many(weighted @ columns + (ridge if turn > 1 else low), weighted @ above, exact=turn == TURNS - 1)
                cost, weight = self._price(above, columns, fitted, state, steady, sigma, (lapse, lasting, busy))
                weight *= trust
            total[start : start + chunk] = cost.sum(axis=1) + (fitted**2 @ prior) / 2
            total[start : start + chunk] += UNCOVERED * self.alike * self._bare(float(data.lo[0]), float(data.hi[-1]), part[:, 0])
            if strongest is not None:
                excess = np.maximum(fitted[:, 1:] - fitted[:, 1 + strongest, None], 0.0) / more
                total[start : start + chunk] += self.alike * (excess**2).sum(axis=1) / 2
            watts[start : start + chunk] = fitted
        watts[:, 0] += self.base_w
        return total, watts

    def _state(self, at: Floats) -> npt.NDArray[np.int8]:
        """What is known of these moments."""
        (first, last), (begin, end) = self.shares.span, self.shares.training
        state = np.where((at >= first) & (at <= last), INSIDE, UNKNOWN)
        if self.shares.told:
            state = np.where((state == UNKNOWN) & (at >= begin) & (at <= end), TRAINING, state)
            state = np.where((state == UNKNOWN) & (at > end) & (at <= end + SOON), AFTER, state)
        return state.astype(np.int8)

    def _price(
        self,
        above: Floats,
        columns: Floats,
        fitted: Floats,
        state: npt.NDArray[np.int8],
        steady: Floats,
        sigma: Floats,
        rates: tuple[float, float, float],
    ) -> tuple[Floats, Floats]:
        lapse, lasting, goes_on = rates
        left = (above - (columns @ fitted[..., None])[..., 0]) / sigma
        full = price(left)
        cost = np.where(left > 0, np.minimum(full, np.minimum(FOREIGN, steady + lasting)), full)
        weight = 1 / (1 + left**2 / (2 * TAIL))
        weight = np.where(cost < full, 0.2 * weight, weight)
        # Where nothing was profiled any of these may be: such readings teach the level of the idle machine at most.
        idle = price((above - fitted[:, :1]) / sigma)
        busy = price((above - fitted[:, :1] - fitted[:, 1:] @ self.shares.mixture[:, None]) / sigma)
        other = np.minimum(steady, ELSE - BUSY)
        free = np.minimum(idle, np.minimum(busy, other) + np.where(state == AFTER, lapse, goes_on))
        going = np.minimum(busy, np.minimum(idle, other) + lapse)
        free = np.where(state == TRAINING, going, free)
        weight = np.where(state == INSIDE, weight, np.where(idle <= free, weight, 1e-3))
        return np.where(state == INSIDE, cost, free), weight

    def widths(self, data: Samples) -> Floats:
        """How much wider than usual the residual of each reading is: as its neighbours differ, whatever ran."""
        if not len(data.noise):
            return np.ones(len(data))
        return np.asarray(np.hypot(self.floor, data.noise) / self.floor)

    def _bare(self, first: float, last: float, offsets: Floats) -> Floats:
        """The share of the profile that the log does not cover at each offset: people record power around what they profile."""
        begin, end = self.shares.span
        covered = np.minimum(last + offsets, end) - np.maximum(first + offsets, begin)
        return np.asarray(1 - np.clip(covered / max(end - begin, 1e-9), 0, 1))

    def residuals(self, offset: float, watts: Floats, data: Samples, ppm: float = 0.0) -> tuple[Floats, Bools]:
        """Watts minus fit, and which readings lie wholly inside the profile."""
        stretch = 1 + ppm * 1e-6
        lo, hi = data.lo * stretch + offset, data.hi * stretch + offset
        inside = (lo >= self.shares.span[0]) & (hi <= self.shares.span[1])
        return data.watts - self.shares.rows(lo, hi)[..., :-1] @ watts, inside

    def flat(self, data: Samples, level: float) -> float:
        """The cost of saying that nothing ever changed."""
        left = (data.watts - level) / (self.scale * self.widths(data))
        return float(np.where(left > 0, np.minimum(price(left), FOREIGN), price(left)).sum())


def price(left: Floats) -> Floats:
    """What a residual costs, in units of the ordinary one."""
    size: Floats = TAIL * np.log1p(left**2 / (2 * TAIL))
    return size
