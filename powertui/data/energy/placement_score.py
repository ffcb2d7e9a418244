"""How badly a power log fits a trace when it is laid on it at some offset.

Every reading is predicted by the kinds of work that would have filled its window (`predict`), with
watts that cannot be negative, on top of the lowest power that the log ever had: no idle machine
draws less than that floor, and hardly more, and work only adds to it. What is left over costs, in
units of the ordinary residual:

    above the prediction   no more than a fixed price: machines do things that no trace shows, and those only add
    below it               more, the farther the more: what ran has to be paid for
    outside the profile    nothing is known; idle, or work like that in the profile, is likely, anything else has its price
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.data.energy import nnls
from powertui.data.energy.expected_work import WindowShares
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats

_TAIL = 3.0  # how slowly the price of a large residual grows: that of Student's t
_FOREIGN = 4.0  # power above the prediction never costs more …
_LASTING = 3.0  # … and no more than so much a second where it goes on as in the reading before
_MOST_LASTING = 1.5  # or this for a reading
_UNCOVERED = (
    9.0  # what it costs to lay the log on the trace so that hardly any of the profile is covered …
)
# … and half of that, for so much of it: people record power around what they profile, but logs end
# early, too
_SOME = 0.4
# a reading outside the profile that is neither idle, nor like training, nor like the reading before
_ELSE = 3.0
# a second in which something like training, or like the reading before, goes on unprofiled …
_GOES_ON = 1.0
_STARTS = 0.75  # … times this, before the training …
_BUSY = float(np.log(2))  # … but no more than this for one reading …
# … and from so much on the sum grows as its logarithm: what goes on for long goes on for longer …
_ENOUGH = 3.0
# … where less than this of what is known to be training lies outside the log: else the log might
# lie anywhere
_COVERED = 0.1
# a second in which training pauses before the end that something tells, or goes on after it …
_LAPSE = 6.0
_SOON = 3.0  # s: later it is something else that runs
_MOST_LAPSE = 3.0  # … but no more than this for one reading
IDLE_SHARE = 0.03  # of the log's swing: so far the idle machine may stand above the lowest reading
# Of the swing: what each kind of work draws, give or take. A call that shows nothing inside waits,
# if anything.
_USUAL = {
    "host calls without detail": 0.25,
    "host work": 0.6,
    "input": 0.6,
    "compiling": 0.7,
    "copies": 0.8,
}
# And hardly more than computing does, by so much of the swing.
_MORE = {"host calls without detail": 0.03, "input": 0.2}
_MORE_OTHERWISE = 0.25
_WRONG_END = 4.0  # what it costs at most that training went on after its told end
_NOTHING = 5.0  # that all that ran drew nothing, and the log swings for reasons of its own …
_LITTLE = 0.1  # … or so little of its swing
_TURNS = 4
_MANY = 8  # levels of power that stand for all of a profile …
_LEVELS = 8  # … each of so many windows of it
_NEAR = 1.5  # residuals: nearer levels are one
_IDLE = 2.5  # residuals: so near to its level a reading is of the idle machine
_SURPRISE = np.log(_MANY / np.maximum(np.arange(_MANY + 1.0), 1.0))
# The profile, training beyond it, after the training's told end, before the training, anything
# else.
_INSIDE, _TRAINING, _AFTER, _BEFORE, _UNKNOWN = range(5)
_CHUNK = (
    30_000  # readings times offsets that are looked at together: they fit into a processor's cache
)


class _Rates(NamedTuple):
    lapse: float  # of a reading of training that pauses, or goes on after its told end
    lasting: float  # of power above the prediction that goes on
    second: float  # of something like training that goes on unprofiled


class _Outside(NamedTuple):
    training: Floats  # of each reading, where training is known to run …
    anything: Floats  # … and where nothing is known
    goes_on: Floats  # of each offset, for what goes on there …
    ended: Floats  # … and that it goes on after the training's told end


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

    def costs(
        self, offsets: Floats, data: Samples, ppm: float = 0.0, *, exact: bool = True
    ) -> tuple[Floats, Floats]:
        """What each offset costs, and the watts of its fit, idle first.

        Not `exact`: near enough to rank thousands.
        """
        total = np.empty(len(offsets))
        watts = np.empty((len(offsets), len(self.shares.names) - 1))
        chunk = max(1, _CHUNK // max(len(data), 1))
        stretch = 1 + ppm * 1e-6
        above = data.watts - self.base_w
        # Beforehand: the idle machine stands near the floor, and no kind of work draws many times
        # the log's swing.
        usual = self.swing_w * np.array(
            [self.idle, *(_USUAL.get(name, 1.5) for name in self.shares.names[1:-1])]
        )
        prior = self.alike / usual**2
        usual_level = np.array([self.usual_w, *[0.0] * (len(usual) - 1)])
        kinds = self.shares.names[1:-1]
        more = self.swing_w * np.array([_MORE.get(name, _MORE_OTHERWISE) for name in kinds])
        strongest = kinds.index("compute") if "compute" in kinds else None
        ridge = np.diag(prior * self.scale**2)
        low = ridge.copy()
        low[0, 0] += 10.0 * len(data)  # the first turns keep the idle machine where it is likeliest
        sigma = self.scale * self.widths(data)
        steady = _steady(above, sigma)
        trust = (self.scale / sigma) ** 2
        usual_work = self._usual_work(float(np.median(data.hi - data.lo)))
        rates = self._rates(data)
        for start in range(0, len(offsets), chunk):
            part = offsets[start : start + chunk, None]
            lo, hi = data.lo * stretch + part, data.hi * stretch + part
            columns = self.shares.work(lo, hi, data.forget_s)  # [offsets, readings, kinds]
            state = self._state((lo + hi) / 2)
            weight = np.where(state == _INSIDE, 1.0, 0.01) * trust
            turns = _TURNS if exact else _TURNS - 1
            for turn in range(turns):
                weighted = (columns * weight[..., None]).transpose(0, 2, 1)
                last = exact and turn == turns - 1
                held = ridge if turn > 1 else low
                moment = weighted @ above
                moment[:, 0] += held[0, 0] * self.usual_w
                fitted = nnls.many(weighted @ columns + held, moment, exact=last)
                left = (above - (columns @ fitted[..., None])[..., 0]) / sigma
                if turn < turns - 1:
                    weight = trust * self._weight(
                        left, (above - fitted[:, :1]) / sigma, state, steady + rates.lasting
                    )
            levels = np.sort(fitted @ usual_work.T, axis=1)[:, _LEVELS // 2 :: _LEVELS]
            idle = (above - fitted[:, :1]) / sigma
            bare, untold = (
                _bare(data, part[:, 0], span) for span in (self.shares.span, self.shares.training)
            )
            cost = self._price(
                left, idle, _among(above, levels, sigma), state, steady, rates, untold
            )
            total[start : start + chunk] = cost + ((fitted - usual_level) ** 2 @ prior) / 2
            total[start : start + chunk] += _UNCOVERED * self.alike * bare / (bare + _SOME)
            drawn = (
                fitted[:, 1:] @ self.shares.mixture / max(float(self.shares.mixture.sum()), 1e-9)
            )
            total[start : start + chunk] += (
                _NOTHING * self.alike * np.exp(-((drawn / (_LITTLE * self.swing_w)) ** 2) / 2)
            )
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
        outside = np.minimum(0.5 * (above / sigma) ** 2, _ELSE)
        total = np.empty(len(offsets))
        chunk = max(1, _CHUNK // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            part = offsets[start : start + chunk, None]
            lo, hi = data.lo + part, data.hi + part
            left = (above - (drawn(hi) - drawn(lo)) / (data.hi - data.lo)) / sigma
            inside = (lo >= self.shares.span[0]) & (hi <= self.shares.span[1])
            total[start : start + chunk] = np.where(
                inside, np.minimum(0.5 * left**2, _FOREIGN), outside
            ).sum(axis=1)
        return total

    def ended(self, offsets: Floats, watts: Floats, data: Samples) -> Floats:
        """What of each offset's cost is for something like training that goes on after the end that
        is told. Nothing where much of what is known to be training lies outside the log: else that
        might lie anywhere.
        """
        above = data.watts - self.base_w
        sigma = self.scale * self.widths(data)
        steady, rates = _steady(above, sigma), self._rates(data)
        usual_work = self._usual_work(float(np.median(data.hi - data.lo)))
        middle = (data.lo + data.hi) / 2
        total = np.empty(len(offsets))
        chunk = max(1, _CHUNK // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            part, fitted = (
                offsets[start : start + chunk],
                watts[start : start + chunk] - [self.base_w, *[0.0] * (watts.shape[1] - 1)],
            )
            levels = np.sort(fitted @ usual_work.T, axis=1)[:, _LEVELS // 2 :: _LEVELS]
            idle = _residual_price((above - fitted[:, :1]) / sigma)
            untold = _bare(data, part, self.shares.training)
            outside = self._outside(
                idle,
                _among(above, levels, sigma),
                self._state(middle + part[:, None]),
                steady,
                rates,
                untold,
            )
            total[start : start + chunk] = outside.ended * (1 - np.minimum(untold / _COVERED, 1.0))
        return total

    def _rates(self, data: Samples) -> _Rates:
        """What a reading of this log costs for the time that it stands for."""
        pace = float(np.median(np.diff(data.hi))) if len(data) > 1 else 1.0
        return _Rates(
            min(_LAPSE * pace, _MOST_LAPSE) * self.alike,
            min(_LASTING * pace, _MOST_LASTING),
            min(_GOES_ON * pace * self.alike, _BUSY),
        )

    def _usual_work(self, window_s: float) -> Floats:
        """The columns of windows all over the profile: what readings of more of the same
        may say.
        """
        first, last = self.shares.span
        turn = (np.arange(_LEVELS * _MANY) + 0.5) * 0.6180339887498949 % 1.0
        lo = np.asarray(first + turn * max(last - first - window_s, 0.0), np.float64)
        return self.shares.work(lo, np.asarray(lo + min(window_s, last - first), np.float64))

    def _state(self, at: Floats) -> npt.NDArray[np.int8]:
        """What is known of these moments."""
        (first, last), (begin, end) = self.shares.span, self.shares.training
        state = np.where(
            (at >= first) & (at <= last), _INSIDE, np.where(at < begin, _BEFORE, _UNKNOWN)
        )
        if self.shares.told:
            state = np.where((state == _UNKNOWN) & (at >= begin) & (at <= end), _TRAINING, state)
            state = np.where((state == _UNKNOWN) & (at > end) & (at <= end + _SOON), _AFTER, state)
        return state.astype(np.int8)

    def _weight(
        self, left: Floats, idle: Floats, state: npt.NDArray[np.int8], going_on: Floats
    ) -> Floats:
        """How much each reading teaches the next turn.

        Outside the profile the level of the idle machine at most.
        """
        weight = 1 / (1 + left**2 / (2 * _TAIL))
        most = np.minimum(_FOREIGN, going_on)  # where more is left over than that, it is foreign
        foreign = left > np.sqrt(2 * _TAIL * np.expm1(most / _TAIL))
        weight = np.where(foreign, 0.2 * weight, weight)
        return np.asarray(
            np.where(state == _INSIDE, weight, np.where(np.abs(idle) < _IDLE, weight, 1e-3))
        )

    def _price(
        self,
        left: Floats,
        idle: Floats,
        busy: Floats,
        state: npt.NDArray[np.int8],
        steady: Floats,
        rates: _Rates,
        untold: Floats,
    ) -> Floats:
        cost = _residual_price(left)
        cost = np.where(
            left > 0, np.minimum(cost, np.minimum(_FOREIGN, steady + rates.lasting)), cost
        )
        outside = self._outside(_residual_price(idle), busy, state, steady, rates, untold)
        cost = np.where(
            state == _INSIDE, cost, np.where(state == _TRAINING, outside.training, outside.anything)
        )
        return np.asarray(cost.sum(axis=1) + outside.goes_on + outside.ended)

    def _outside(
        self,
        idle: Floats,
        busy: Floats,
        state: npt.NDArray[np.int8],
        steady: Floats,
        rates: _Rates,
        untold: Floats,
    ) -> _Outside:
        """What readings cost where nothing was profiled: any of these may be."""
        second = rates.second
        other = np.minimum(steady, _ELSE - _BUSY)
        # Programs are busy before they train: they start, and load.
        fits = np.minimum(idle, np.minimum(busy, other))
        free = np.minimum(
            idle, np.minimum(busy, other) + np.where(state == _BEFORE, _STARTS * second, second)
        )
        going = np.minimum(busy, np.minimum(idle, other) + rates.lapse)
        ended = np.minimum(idle, np.minimum(busy, other) + rates.lapse) - free
        # Whatever tells of the end may be wrong.
        ended = np.minimum(
            np.where(state == _AFTER, ended, 0.0).sum(axis=1), _WRONG_END * self.alike
        )
        known = (state == _INSIDE) | (state == _TRAINING)
        goes_on = np.where(known, 0.0, free - fits).sum(axis=1)
        enough = _ENOUGH * self.alike
        longer = enough * np.log1p(goes_on / enough)
        goes_on = longer + (goes_on - longer) * np.minimum(untold / _COVERED, 1.0)
        return _Outside(going, fits, goes_on, ended)

    def widths(self, data: Samples) -> Floats:
        """How much wider than usual the residual of each reading is: as its neighbours differ,
        whatever ran.
        """
        if not len(data.noise):
            return np.ones(len(data))
        return np.asarray(np.hypot(self.floor, data.noise) / self.floor)

    def residuals(
        self, offset: float, watts: Floats, data: Samples, ppm: float = 0.0
    ) -> tuple[Floats, Bools]:
        """Watts minus fit, and which readings lie wholly inside the profile."""
        stretch = 1 + ppm * 1e-6
        lo, hi = data.lo * stretch + offset, data.hi * stretch + offset
        inside = (lo >= self.shares.span[0]) & (hi <= self.shares.span[1])
        return data.watts - self.shares.work(lo, hi, data.forget_s) @ watts, inside

    def flat(self, data: Samples, level: float) -> float:
        """The cost of saying that nothing ever changed."""
        left = (data.watts - level) / (self.scale * self.widths(data))
        return float(
            np.where(
                left > 0, np.minimum(_residual_price(left), _FOREIGN), _residual_price(left)
            ).sum()
        )


def _bare(data: Samples, offsets: Floats, span: tuple[float, float]) -> Floats:
    """The share of a span that the log does not cover at each offset: people record power around
    what they profile.
    """
    begin, end = span
    covered = np.minimum(float(data.hi[-1]) + offsets, end) - np.maximum(
        float(data.lo[0]) + offsets, begin
    )
    return np.asarray(1 - np.clip(covered / max(end - begin, 1e-9), 0, 1))


def _among(above: Floats, levels: Floats, sigma: Floats) -> Floats:
    """What readings cost that may be any of these levels [offsets, levels]: by the nearest, and by
    how many are as near.
    """
    nearest = np.full((len(levels), len(above)), np.inf)
    near = np.zeros(nearest.shape, np.int8)
    for level in levels.T:
        apart = np.abs(above - level[:, None])
        np.minimum(nearest, apart, out=nearest)
        near += apart < _NEAR * sigma
    return np.asarray(_residual_price(nearest / sigma) + _SURPRISE.take(near))


def _steady(above: Floats, sigma: Floats) -> Floats:
    """What it costs that a reading is like the one before."""
    return _residual_price(np.abs(np.diff(above, prepend=above[:1])) / (sigma * 2**0.5))


def _residual_price(left: Floats) -> Floats:
    """What a residual costs, in units of the ordinary one."""
    size: Floats = _TAIL * np.log1p(left**2 / (2 * _TAIL))
    return size
