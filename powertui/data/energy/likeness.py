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
from powertui.data.energy.predict import WindowShares
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats

TAIL = 3.0  # how slowly the price of a large residual grows: that of Student's t
FOREIGN = 4.0  # power above the prediction never costs more …
LASTING = 3.0  # … and no more than so much a second where it goes on as in the reading before
MOST_LASTING = 1.5  # or this for a reading
UNCOVERED = 9.0  # what it costs to lay the log on the trace so that hardly any of the profile is covered …
SOME = 0.4  # … and half of that, for so much of it: people record power around what they profile, but logs end early, too
ELSE = 3.0  # a reading outside the profile that is neither idle, nor like training, nor like the reading before
GOES_ON = 1.0  # a second in which something like training, or like the reading before, goes on unprofiled …
STARTS = 0.75  # … times this, before the training …
BUSY = float(np.log(2))  # … but no more than this for one reading
LAPSE = 6.0  # a second in which training pauses before the end that something tells, or goes on after it …
SOON = 3.0  # s: later it is something else that runs
MOST_LAPSE = 3.0  # … but no more than this for one reading
IDLE_SHARE = 0.03  # of the log's swing: so far the idle machine may stand above the lowest reading
# Of the swing: what each kind of work draws, give or take. A call that shows nothing inside waits, if anything.
USUAL = {"host calls without detail": 0.25, "host work": 0.6, "input": 0.6, "compiling": 0.7, "copies": 0.8}
# And hardly more than computing does, by so much of the swing.
MORE = {"host calls without detail": 0.03, "input": 0.2}
MORE_OTHERWISE = 0.25
WRONG_END = 4.0  # what it costs at most that training went on after its told end
NOTHING = 5.0  # that all that ran drew nothing, and the log swings for reasons of its own …
LITTLE = 0.1  # … or so little of its swing
TURNS = 4
_MANY = 8  # levels of power that stand for all of a profile …
_LEVELS = 8  # … each of so many windows of it
_NEAR = 1.5  # residuals: nearer levels are one
_IDLE = 2.5  # residuals: so near to its level a reading is of the idle machine
_SURPRISE = np.log(_MANY / np.maximum(np.arange(_MANY + 1.0), 1.0))
# The profile, training beyond it, after the training's told end, before the training, anything else.
INSIDE, TRAINING, AFTER, BEFORE, UNKNOWN = range(5)
_CHUNK = 30_000  # readings times offsets that are looked at together: they fit into a processor's cache


@dataclass
class Likeness:
    """Readings, what ran, and the width of an ordinary residual."""

    shares: WindowShares
    base_w: float  # the floor
    swing_w: float  # from there to the highest readings
    scale: float = 1.0
    floor: float = 1.0  # the smallest scale
    alike: float = 1.0  # how many neighbouring residuals say the same thing
    idle: float = IDLE_SHARE  # of the swing: so far the idle machine may stand above the floor
    usual_w: float = 0.0  # where it is likeliest, above the floor

    def costs(self, offsets: Floats, data: Samples, ppm: float = 0.0, *, exact: bool = True) -> tuple[Floats, Floats]:
        """What each offset costs, and the watts of its fit, idle first. Not `exact`: near enough to rank thousands."""
        total = np.empty(len(offsets))
        watts = np.empty((len(offsets), len(self.shares.names) - 1))
        chunk = max(1, _CHUNK // max(len(data), 1))
        stretch = 1 + ppm * 1e-6
        above = data.watts - self.base_w
        # Beforehand: the idle machine stands near the floor, and no kind of work draws many times the log's swing.
        usual = self.swing_w * np.array([self.idle, *(USUAL.get(name, 1.5) for name in self.shares.names[1:-1])])
        prior = self.alike / usual**2
        usual_level = np.array([self.usual_w, *[0.0] * (len(usual) - 1)])
        kinds = self.shares.names[1:-1]
        more = self.swing_w * np.array([MORE.get(name, MORE_OTHERWISE) for name in kinds])
        strongest = kinds.index("compute") if "compute" in kinds else None
        ridge = np.diag(prior * self.scale**2)
        low = ridge.copy()
        low[0, 0] += 10.0 * len(data)  # the first turns keep the idle machine where it is likeliest
        sigma = self.scale * self.widths(data)
        steady = _residual_price(np.abs(np.diff(above, prepend=above[:1])) / (sigma * 2**0.5))
        trust = (self.scale / sigma) ** 2
        pace = float(np.median(np.diff(data.hi))) if len(data) > 1 else 1.0
        usual_work = self._usual_work(float(np.median(data.hi - data.lo)))
        lapse = min(LAPSE * pace, MOST_LAPSE) * self.alike
        lasting, busy = min(LASTING * pace, MOST_LASTING), min(GOES_ON * pace * self.alike, BUSY)
        for start in range(0, len(offsets), chunk):
            part = offsets[start : start + chunk, None]
            lo, hi = data.lo * stretch + part, data.hi * stretch + part
            columns = self.shares.work(lo, hi, data.forget_s)  # [offsets, readings, kinds]
            state = self._state((lo + hi) / 2)
            weight = np.where(state == INSIDE, 1.0, 0.01) * trust
            turns = TURNS if exact else TURNS - 1
            for turn in range(turns):
                weighted = (columns * weight[..., None]).transpose(0, 2, 1)
                last = exact and turn == turns - 1
                held = ridge if turn > 1 else low
                moment = weighted @ above
                moment[:, 0] += held[0, 0] * self.usual_w
                fitted = nnls.many(weighted @ columns + held, moment, exact=last)
                left = (above - (columns @ fitted[..., None])[..., 0]) / sigma
                if turn < turns - 1:
                    weight = trust * self._weight(left, (above - fitted[:, :1]) / sigma, state, steady + lasting)
            levels = np.sort(fitted @ usual_work.T, axis=1)[:, _LEVELS // 2 :: _LEVELS]
            idle = (above - fitted[:, :1]) / sigma
            cost = self._price(left, idle, _among(above, levels, sigma), state, steady, (lapse, lasting, busy))
            total[start : start + chunk] = cost + ((fitted - usual_level) ** 2 @ prior) / 2
            bare = self._bare(float(data.lo[0]), float(data.hi[-1]), part[:, 0])
            total[start : start + chunk] += UNCOVERED * self.alike * bare / (bare + SOME)
            drawn = fitted[:, 1:] @ self.shares.mixture / max(float(self.shares.mixture.sum()), 1e-9)
            total[start : start + chunk] += NOTHING * self.alike * np.exp(-((drawn / (LITTLE * self.swing_w)) ** 2) / 2)
            if strongest is not None:
                excess = np.maximum(fitted[:, 1:] - fitted[:, 1 + strongest, None], 0.0) / more
                total[start : start + chunk] += self.alike * (excess**2).sum(axis=1) / 2
            watts[start : start + chunk] = fitted
        watts[:, 0] += self.base_w
        return total, watts

    def sweep(self, offsets: Floats, watts: Floats, data: Samples) -> Floats:
        """What each of many offsets costs, roughly, when every kind of work draws these watts."""
        drawn = self.shares.running(watts[1:])
        above = data.watts - watts[0]
        sigma = self.scale * self.widths(data)
        outside = np.minimum(0.5 * (above / sigma) ** 2, ELSE)
        total = np.empty(len(offsets))
        chunk = max(1, _CHUNK // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            part = offsets[start : start + chunk, None]
            lo, hi = data.lo + part, data.hi + part
            left = (above - (drawn(hi) - drawn(lo)) / (data.hi - data.lo)) / sigma
            inside = (lo >= self.shares.span[0]) & (hi <= self.shares.span[1])
            total[start : start + chunk] = np.where(inside, np.minimum(0.5 * left**2, FOREIGN), outside).sum(axis=1)
        return total

    def _usual_work(self, window_s: float) -> Floats:
        """The columns of windows all over the profile: what readings of more of the same may say."""
        first, last = self.shares.span
        turn = (np.arange(_LEVELS * _MANY) + 0.5) * 0.6180339887498949 % 1.0
        lo = np.asarray(first + turn * max(last - first - window_s, 0.0), np.float64)
        return self.shares.work(lo, np.asarray(lo + min(window_s, last - first), np.float64))

    def _state(self, at: Floats) -> npt.NDArray[np.int8]:
        """What is known of these moments."""
        (first, last), (begin, end) = self.shares.span, self.shares.training
        state = np.where((at >= first) & (at <= last), INSIDE, np.where(at < begin, BEFORE, UNKNOWN))
        if self.shares.told:
            state = np.where((state == UNKNOWN) & (at >= begin) & (at <= end), TRAINING, state)
            state = np.where((state == UNKNOWN) & (at > end) & (at <= end + SOON), AFTER, state)
        return state.astype(np.int8)

    def _weight(self, left: Floats, idle: Floats, state: npt.NDArray[np.int8], going_on: Floats) -> Floats:
        """How much each reading teaches the next turn. Outside the profile the level of the idle machine at most."""
        weight = 1 / (1 + left**2 / (2 * TAIL))
        most = np.minimum(FOREIGN, going_on)  # where more is left over than that, it is foreign
        foreign = left > np.sqrt(2 * TAIL * np.expm1(most / TAIL))
        weight = np.where(foreign, 0.2 * weight, weight)
        return np.asarray(np.where(state == INSIDE, weight, np.where(np.abs(idle) < _IDLE, weight, 1e-3)))

    def _price(
        self,
        left: Floats,
        idle: Floats,
        busy: Floats,
        state: npt.NDArray[np.int8],
        steady: Floats,
        rates: tuple[float, float, float],
    ) -> Floats:
        lapse, lasting, goes_on = rates
        cost = _residual_price(left)
        cost = np.where(left > 0, np.minimum(cost, np.minimum(FOREIGN, steady + lasting)), cost)
        # Where nothing was profiled any of these may be.
        idle, other = _residual_price(idle), np.minimum(steady, ELSE - BUSY)
        # Programs are busy before they train: they start, and load.
        free = np.minimum(idle, np.minimum(busy, other) + np.where(state == BEFORE, STARTS * goes_on, goes_on))
        going = np.minimum(busy, np.minimum(idle, other) + lapse)
        ended = np.minimum(idle, np.minimum(busy, other) + lapse) - free
        # Whatever tells of the end may be wrong.
        ended = np.minimum(np.where(state == AFTER, ended, 0.0).sum(axis=1), WRONG_END * self.alike)
        free = np.where(state == TRAINING, going, free)
        return np.asarray(np.where(state == INSIDE, cost, free).sum(axis=1) + ended)

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
        return data.watts - self.shares.work(lo, hi, data.forget_s) @ watts, inside

    def flat(self, data: Samples, level: float) -> float:
        """The cost of saying that nothing ever changed."""
        left = (data.watts - level) / (self.scale * self.widths(data))
        return float(np.where(left > 0, np.minimum(_residual_price(left), FOREIGN), _residual_price(left)).sum())


def _among(above: Floats, levels: Floats, sigma: Floats) -> Floats:
    """What readings cost that may be any of these levels [offsets, levels]: by the nearest, and by how many are as near."""
    nearest = np.full((len(levels), len(above)), np.inf)
    near = np.zeros(nearest.shape, np.int8)
    for level in levels.T:
        apart = np.abs(above - level[:, None])
        np.minimum(nearest, apart, out=nearest)
        near += apart < _NEAR * sigma
    return np.asarray(_residual_price(nearest / sigma) + _SURPRISE.take(near))


def _residual_price(left: Floats) -> Floats:
    """What a residual costs, in units of the ordinary one."""
    size: Floats = TAIL * np.log1p(left**2 / (2 * TAIL))
    return size
