"""How badly a power log fits a trace when it is laid on it at some offset.

Every reading is predicted by the kinds of work that would have filled its window (`predict`), with
watts that cannot be negative, on top of the lowest power that the log ever had: no idle machine
draws less than that floor, and hardly more, and work only adds to it. What is left over costs, in
units of the ordinary residual:

    above the prediction   no more than a fixed price: machines do things that no trace shows, and
                           those only add
    below it               more, the farther the more: what ran has to be paid for
    outside the profile    nothing is known; idle, or work like that in the profile, is likely,
                           anything else has its price
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.data.energy import nnls
from powertui.data.energy.samples import Samples
from powertui.data.energy.window_shares import WindowShares
from powertui.data.model import Bools, Floats
from powertui.value_types import dataclass

# Prices are in units of the ordinary residual's, so 0.5 is what a residual of one scale costs.
# Unless a comment says otherwise a value was chosen on simulated worlds. What half and twice of it
# do to 27 logs stands in docs/energy-evidence.md, summed up here as "lost" (no longer sure) and
# "won" (now sure and right).

# Growth of a large residual's price, as of Student's t with 5 degrees of freedom.
# Half: 3 lost, 1 won, 1 without a place. Twice: 2 won, 1 lost, 1 interval misses.
_STUDENT_T_FACTOR = 3.0
# Power above the prediction costs at most this: machines do work that no trace shows.
# 2, 4 and 8 were tried with one recording left out at a time, and 4 was best each of 16 times.
_MAX_PRICE_ABOVE = 4.0
# A load above the prediction costs less while it only continues from the reading before.
# Half and twice: 1 won each.
_ONGOING_LOAD_PRICE_PER_S = 3.0
_MAX_ONGOING_LOAD_PRICE = 1.5  # of one reading; chosen, not measured
# Price of an offset at which the log covers hardly any of the profile, from cut logs.
# Half: 1 lost. Twice: 1 lost, 1 won, 1 without a place.
_UNCOVERED_PROFILE_PRICE = 9.0
# Uncovered share of the profile that costs half of that. People record power around what they
# profile, but logs end early, too. Chosen, not measured.
_HALF_PRICE_SHARE = 0.4
# A reading outside the profile that is neither idle, nor like training, nor like the one before.
# Half: 1 lost. Twice: 2 won.
_UNKNOWN_LOAD_PRICE = 3.0
# Something like training, or like the reading before, that goes on unprofiled.
# Half: 2 lost, 1 won. Twice: 1 won.
_UNPROFILED_TRAINING_PRICE_PER_S = 1.0
_STARTUP_PRICE_FACTOR = 0.75  # of that before the training, where programs start and load
_MAX_UNPROFILED_TRAINING_PRICE = float(np.log(2))  # of one reading; chosen, not measured
# From this sum on the price of unprofiled training grows as a logarithm, because what has gone on
# for long is likely to go on. 1, 2, 3 and 6 were tried on eight simulated logs; at twice the value
# one interval misses.
_LOGARITHMIC_FROM_PRICE = 3.0
# Share of the known training that may be outside the log. Beyond it the logarithm no longer
# applies, or the log might be placed anywhere. Chosen, not measured.
_MAX_UNRECORDED_TRAINING_SHARE = 0.1
# Training that pauses before its recorded end, or goes on after it. From two real recordings.
# Half: 1 won. Twice: no change.
_LAPSE_PRICE_PER_S = 6.0
_MAX_LAPSE_PRICE = 3.0  # of one reading; chosen, not measured
_AFTER_TRAINING_S = 3.0  # after the recorded end; later readings belong to something else
_MAX_PRICE_AFTER_END = 4.0  # in all, because the recorded end may be wrong; chosen, not measured
# How far the idle machine may be above the lowest reading, as a share of the log's swing.
# Half and twice: no change.
IDLE_SHARE = 0.03
# Expected power of each kind of work, as a share of the log's swing; 1.5 for any other kind.
# A host call that shows nothing inside is probably waiting. Chosen, not measured.
_WORK_SHARE_OF_SWING = {
    "host calls without detail": 0.25,
    "host work": 0.6,
    "input": 0.6,
    "compiling": 0.7,
    "copies": 0.8,
}
# How much more than computing a kind of work may draw, as a share of the swing.
# Half and twice of the default: no change.
_EXCESS_OVER_COMPUTE = {"host calls without detail": 0.03, "input": 0.2}
_DEFAULT_EXCESS_OVER_COMPUTE = 0.25
# Price of a fit in which no work draws power, so that the log swings for reasons of its own.
# Half and twice: no change.
_NO_POWER_PRICE = 5.0
_NO_POWER_SHARE = 0.1  # of the swing: work that draws less counts as none; chosen, not measured
_FIT_ITERATIONS = 4  # of the robust fit; one less where offsets are only ranked
_PROFILE_LEVELS = 8  # levels of power that stand for the whole profile
_WINDOWS_PER_LEVEL = 8  # windows of the profile behind each of these levels
_LEVEL_RADIUS = 1.5  # residuals: levels nearer to a reading than this count as one
_IDLE_RADIUS = 2.5  # residuals: readings nearer to the idle level than this are of the idle machine
# What it costs that a reading is near so many of the levels: nothing where it is near all of them.
_LEVEL_SURPRISE = np.log(_PROFILE_LEVELS / np.maximum(np.arange(_PROFILE_LEVELS + 1.0), 1.0))
# What is known of the moment of a reading.
_IN_PROFILE, _IN_TRAINING, _AFTER_TRAINING, _BEFORE_TRAINING, _ELSEWHERE = range(5)
_CHUNK_CELLS = 30_000  # readings times offsets at once: they fit into a processor's cache


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
        chunk = max(1, _CHUNK_CELLS // max(len(data), 1))
        stretch = 1 + ppm * 1e-6
        above = data.watts - self.base_w
        # Beforehand: the idle machine stands near the floor, and no kind of work draws many times
        # the log's swing.
        expected_w = self.swing_w * np.array(
            [self.idle, *(_WORK_SHARE_OF_SWING.get(name, 1.5) for name in self.shares.names[1:-1])]
        )
        prior = self.alike / expected_w**2
        usual_level = np.array([self.usual_w, *[0.0] * (len(expected_w) - 1)])
        kinds = self.shares.names[1:-1]
        allowed_excess = self.swing_w * np.array(
            [_EXCESS_OVER_COMPUTE.get(name, _DEFAULT_EXCESS_OVER_COMPUTE) for name in kinds]
        )
        strongest = kinds.index("compute") if "compute" in kinds else None
        ridge = np.diag(prior * self.scale**2)
        idle_ridge = ridge.copy()
        # The first iterations keep the idle machine where it is likeliest.
        idle_ridge[0, 0] += 10.0 * len(data)
        sigma = self.scale * self.widths(data)
        steady = _change_price(above, sigma)
        trust = (self.scale / sigma) ** 2
        usual_work = self._usual_work(float(np.median(data.hi - data.lo)))
        rates = self._rates(data)
        for start in range(0, len(offsets), chunk):
            offset = offsets[start : start + chunk, None]
            lo, hi = data.lo * stretch + offset, data.hi * stretch + offset
            columns = self.shares.work(lo, hi, data.forget_s)  # [offsets, readings, kinds]
            state = self._state((lo + hi) / 2)
            weight = np.where(state == _IN_PROFILE, 1.0, 0.01) * trust
            turns = _FIT_ITERATIONS if exact else _FIT_ITERATIONS - 1
            for turn in range(turns):
                weighted = (columns * weight[..., None]).transpose(0, 2, 1)
                is_last = exact and turn == turns - 1
                penalty = ridge if turn > 1 else idle_ridge
                moment = weighted @ above
                moment[:, 0] += penalty[0, 0] * self.usual_w
                fitted = nnls.many(weighted @ columns + penalty, moment, exact=is_last)
                residual = (above - (columns @ fitted[..., None])[..., 0]) / sigma
                if turn < turns - 1:
                    weight = trust * self._weight(
                        residual, (above - fitted[:, :1]) / sigma, state, steady + rates.lasting
                    )
            idle = (above - fitted[:, :1]) / sigma
            busy = _level_price(above, _power_levels(fitted, usual_work), sigma)
            uncovered = _uncovered_share(data, offset[:, 0], self.shares.span)
            unrecorded = _uncovered_share(data, offset[:, 0], self.shares.training)
            cost = self._price(residual, idle, busy, state, steady, rates, unrecorded)
            cost = cost + ((fitted - usual_level) ** 2 @ prior) / 2
            cost += (
                _UNCOVERED_PROFILE_PRICE * self.alike * uncovered / (uncovered + _HALF_PRICE_SHARE)
            )
            cost += self._no_power_price(fitted)
            if strongest is not None:
                over_compute = np.maximum(fitted[:, 1:] - fitted[:, 1 + strongest, None], 0.0)
                excess = over_compute / allowed_excess
                cost += self.alike * (excess**2).sum(axis=1) / 2
            total[start : start + chunk] = cost
            watts[start : start + chunk] = fitted
        watts[:, 0] += self.base_w
        return total, watts

    def _no_power_price(self, fitted: Floats) -> Floats:
        """What each fit costs for saying that the work of the profile hardly draws power."""
        mixture = self.shares.mixture
        work_w = fitted[:, 1:] @ mixture / max(float(mixture.sum()), 1e-9)
        share = work_w / (_NO_POWER_SHARE * self.swing_w)
        return np.asarray(_NO_POWER_PRICE * self.alike * np.exp(-(share**2) / 2))

    def sweep(self, offsets: Floats, watts: Floats, data: Samples) -> Floats:
        """What each of many offsets costs, roughly, when every kind of work draws these watts."""
        joules_until = self.shares.running(watts[1:])
        above = data.watts - watts[0]
        sigma = self.scale * self.widths(data)
        outside = np.minimum(0.5 * (above / sigma) ** 2, _UNKNOWN_LOAD_PRICE)
        total = np.empty(len(offsets))
        chunk = max(1, _CHUNK_CELLS // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            offset = offsets[start : start + chunk, None]
            lo, hi = data.lo + offset, data.hi + offset
            residual = (above - (joules_until(hi) - joules_until(lo)) / (data.hi - data.lo)) / sigma
            inside = (lo >= self.shares.span[0]) & (hi <= self.shares.span[1])
            total[start : start + chunk] = np.where(
                inside, np.minimum(0.5 * residual**2, _MAX_PRICE_ABOVE), outside
            ).sum(axis=1)
        return total

    def ended(self, offsets: Floats, watts: Floats, data: Samples) -> Floats:
        """What of each offset's cost is for something like training that goes on after the end that
        is told. Nothing where much of what is known to be training lies outside the log: else that
        might lie anywhere.
        """
        above = data.watts - self.base_w
        sigma = self.scale * self.widths(data)
        steady, rates = _change_price(above, sigma), self._rates(data)
        usual_work = self._usual_work(float(np.median(data.hi - data.lo)))
        middle = (data.lo + data.hi) / 2
        total = np.empty(len(offsets))
        chunk = max(1, _CHUNK_CELLS // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            offset, fitted = (
                offsets[start : start + chunk],
                watts[start : start + chunk] - [self.base_w, *[0.0] * (watts.shape[1] - 1)],
            )
            levels = _power_levels(fitted, usual_work)
            idle = _residual_price((above - fitted[:, :1]) / sigma)
            unrecorded = _uncovered_share(data, offset, self.shares.training)
            outside = self._outside(
                idle,
                _level_price(above, levels, sigma),
                self._state(middle + offset[:, None]),
                steady,
                rates,
                unrecorded,
            )
            total[start : start + chunk] = outside.ended * (
                1 - np.minimum(unrecorded / _MAX_UNRECORDED_TRAINING_SHARE, 1.0)
            )
        return total

    def _rates(self, data: Samples) -> _Rates:
        """What a reading of this log costs for the time that it stands for."""
        pace = float(np.median(np.diff(data.hi))) if len(data) > 1 else 1.0
        return _Rates(
            min(_LAPSE_PRICE_PER_S * pace, _MAX_LAPSE_PRICE) * self.alike,
            min(_ONGOING_LOAD_PRICE_PER_S * pace, _MAX_ONGOING_LOAD_PRICE),
            min(
                _UNPROFILED_TRAINING_PRICE_PER_S * pace * self.alike, _MAX_UNPROFILED_TRAINING_PRICE
            ),
        )

    def _usual_work(self, window_s: float) -> Floats:
        """The columns of windows all over the profile: what readings of more of the same
        may say.
        """
        first, last = self.shares.span
        turn = (np.arange(_WINDOWS_PER_LEVEL * _PROFILE_LEVELS) + 0.5) * 0.6180339887498949 % 1.0
        lo = np.asarray(first + turn * max(last - first - window_s, 0.0), np.float64)
        return self.shares.work(lo, np.asarray(lo + min(window_s, last - first), np.float64))

    def _state(self, at: Floats) -> npt.NDArray[np.int8]:
        """What is known of these moments."""
        (first, last), (begin, end) = self.shares.span, self.shares.training
        state = np.where(
            (at >= first) & (at <= last),
            _IN_PROFILE,
            np.where(at < begin, _BEFORE_TRAINING, _ELSEWHERE),
        )
        if self.shares.told:
            state = np.where(
                (state == _ELSEWHERE) & (at >= begin) & (at <= end), _IN_TRAINING, state
            )
            state = np.where(
                (state == _ELSEWHERE) & (at > end) & (at <= end + _AFTER_TRAINING_S),
                _AFTER_TRAINING,
                state,
            )
        return state.astype(np.int8)

    def _weight(
        self, residual: Floats, idle: Floats, state: npt.NDArray[np.int8], going_on: Floats
    ) -> Floats:
        """How much each reading teaches the next turn.

        Outside the profile the level of the idle machine at most.
        """
        weight = 1 / (1 + residual**2 / (2 * _STUDENT_T_FACTOR))
        most = np.minimum(
            _MAX_PRICE_ABOVE, going_on
        )  # where more is left over than that, it is foreign
        foreign = residual > np.sqrt(2 * _STUDENT_T_FACTOR * np.expm1(most / _STUDENT_T_FACTOR))
        weight = np.where(foreign, 0.2 * weight, weight)
        return np.asarray(
            np.where(
                state == _IN_PROFILE, weight, np.where(np.abs(idle) < _IDLE_RADIUS, weight, 1e-3)
            )
        )

    def _price(
        self,
        residual: Floats,
        idle: Floats,
        busy: Floats,
        state: npt.NDArray[np.int8],
        steady: Floats,
        rates: _Rates,
        unrecorded: Floats,
    ) -> Floats:
        cost = _residual_price(residual)
        cost = np.where(
            residual > 0,
            np.minimum(cost, np.minimum(_MAX_PRICE_ABOVE, steady + rates.lasting)),
            cost,
        )
        outside = self._outside(_residual_price(idle), busy, state, steady, rates, unrecorded)
        cost = np.where(
            state == _IN_PROFILE,
            cost,
            np.where(state == _IN_TRAINING, outside.training, outside.anything),
        )
        return np.asarray(cost.sum(axis=1) + outside.goes_on + outside.ended)

    def _outside(
        self,
        idle: Floats,
        busy: Floats,
        state: npt.NDArray[np.int8],
        steady: Floats,
        rates: _Rates,
        unrecorded: Floats,
    ) -> _Outside:
        """What readings cost where nothing was profiled: any of these may be."""
        going_on = rates.second
        unlike = np.minimum(steady, _UNKNOWN_LOAD_PRICE - _MAX_UNPROFILED_TRAINING_PRICE)
        # Programs are busy before they train: they start, and load.
        cheapest = np.minimum(idle, np.minimum(busy, unlike))
        going_on_cost = np.minimum(
            idle,
            np.minimum(busy, unlike)
            + np.where(state == _BEFORE_TRAINING, _STARTUP_PRICE_FACTOR * going_on, going_on),
        )
        training_cost = np.minimum(busy, np.minimum(idle, unlike) + rates.lapse)
        ended = np.minimum(idle, np.minimum(busy, unlike) + rates.lapse) - going_on_cost
        # Whatever tells of the end may be wrong.
        ended = np.minimum(
            np.where(state == _AFTER_TRAINING, ended, 0.0).sum(axis=1),
            _MAX_PRICE_AFTER_END * self.alike,
        )
        recorded = (state == _IN_PROFILE) | (state == _IN_TRAINING)
        goes_on = np.where(recorded, 0.0, going_on_cost - cheapest).sum(axis=1)
        threshold = _LOGARITHMIC_FROM_PRICE * self.alike
        longer = threshold * np.log1p(goes_on / threshold)
        goes_on = longer + (goes_on - longer) * np.minimum(
            unrecorded / _MAX_UNRECORDED_TRAINING_SHARE, 1.0
        )
        return _Outside(training_cost, cheapest, goes_on, ended)

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
        residual = (data.watts - level) / (self.scale * self.widths(data))
        return float(
            np.where(
                residual > 0,
                np.minimum(_residual_price(residual), _MAX_PRICE_ABOVE),
                _residual_price(residual),
            ).sum()
        )


def _power_levels(fitted: Floats, usual_work: Floats) -> Floats:
    """The levels of power [offsets, levels] that windows all over the profile have by each fit."""
    in_order = np.sort(fitted @ usual_work.T, axis=1)
    return np.asarray(in_order[:, _WINDOWS_PER_LEVEL // 2 :: _WINDOWS_PER_LEVEL])


def _uncovered_share(data: Samples, offsets: Floats, span: tuple[float, float]) -> Floats:
    """The share of a span that the log does not cover at each offset: people record power around
    what they profile.
    """
    begin, end = span
    covered = np.minimum(float(data.hi[-1]) + offsets, end) - np.maximum(
        float(data.lo[0]) + offsets, begin
    )
    return np.asarray(1 - np.clip(covered / max(end - begin, 1e-9), 0, 1))


def _level_price(above: Floats, levels: Floats, sigma: Floats) -> Floats:
    """What readings cost that may be any of these levels [offsets, levels]: by the nearest, and by
    how many are as near.
    """
    nearest = np.full((len(levels), len(above)), np.inf)
    near = np.zeros(nearest.shape, np.int8)
    for level in levels.T:
        apart = np.abs(above - level[:, None])
        np.minimum(nearest, apart, out=nearest)
        near += apart < _LEVEL_RADIUS * sigma
    return np.asarray(_residual_price(nearest / sigma) + _LEVEL_SURPRISE.take(near))


def _change_price(above: Floats, sigma: Floats) -> Floats:
    """What it costs that a reading is like the one before."""
    return _residual_price(np.abs(np.diff(above, prepend=above[:1])) / (sigma * 2**0.5))


def _residual_price(residual: Floats) -> Floats:
    """What a residual costs, in units of the ordinary one."""
    size: Floats = _STUDENT_T_FACTOR * np.log1p(residual**2 / (2 * _STUDENT_T_FACTOR))
    return size
