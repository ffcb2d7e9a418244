"""How long around the end of each epoch it does something else than train: validation before it, a
pause after it.

Where only epochs are logged, the readings tell. A sensor of seconds shows hardly a reading of
validation alone; but a reading is a sum of parts, and which lengths explain all of them best can be
told from many that hold a part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA, noise_floor
from powertui.data.energy.samples import Samples, usual_pace_s
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.value_types import dataclass

# Moments around an end that are tried, as shares of an epoch. After it, too, is where a sensor of
# which nobody knows how late it is shows what was before. These and the others here are chosen, not
# measured.
_BEGINS = (-0.3, -0.2, -0.15, -0.1, -0.07, -0.04, -0.02, 0.0, 0.04, 0.1, 0.15)
_ENDS = (0.0, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4)
# Of an epoch: the lengths are known no better, for no others are tried.
_STEP_SHARE = settings.SLIGHT_SHARE
# Of an epoch, from one to the other.
_MAX_SHARE = settings.MAX_BURST_SHARE
# Of an epoch. With more, its readings show by themselves what it draws at which time.
_MAX_EPOCH_READINGS = 60
_MAX_READINGS = 4000
_MIN_EPOCHS = settings.MIN_REPEATS
# A residual of more errors than this counts as one of so many: it is a load, or a pause.
_MAX_ERRORS = settings.FAR_SIGMAS
# Figures that are fitted more than without: each must be worth what chance gains (Bayesian
# information criterion).
_FITTED_FIGURES = 3
# How unlike the ends of epochs are, as a share of their lengths.
_UNLIKE_SHARE = 0.15

# [ways, readings] either way.
_ResidualFit = Callable[[Floats], Floats]


@dataclass(frozen=True)
class EpochEnds:
    """From how long before the end of each epoch until how long after it."""

    before_s: float  # below 0: it begins after the end
    after_s: float
    step_s: float  # the lengths are known no better

    def share(self, lo: Floats, hi: Floats, epochs: Sequence[tuple[float, float]]) -> Floats:
        """The share of each window that is around an end."""
        ends = np.array([end for _, end in epochs])
        begins = ends - self.before_s
        untils = ends + self.after_s
        # Nothing follows the last epoch.
        untils[-1] = max(ends[-1], begins[-1])
        lengths = untils - begins
        seconds_before = np.concatenate([[0.0], np.cumsum(lengths)])

        def seconds_up_to(moments: Floats) -> Floats:
            row = begins.searchsorted(moments, side="right") - 1
            since_begin = moments - begins[row]
            inside = np.clip(since_begin, 0.0, lengths[row])
            seconds = seconds_before[np.maximum(row, 0)] + inside
            return np.where(row >= 0, seconds, 0.0)

        around_s = seconds_up_to(hi) - seconds_up_to(lo)
        return np.asarray(around_s / np.maximum(hi - lo, 1e-12))

    def unsure(self, lo: Floats, hi: Floats, epochs: Sequence[tuple[float, float]]) -> Floats:
        """One sigma of that share."""
        length = np.maximum(hi - lo, 1e-12)
        share = self.share(lo, hi, epochs)
        unlike_s = _UNLIKE_SHARE * share * length
        off_s = unlike_s + np.where(share > 0, self.step_s / 2, 0.0)
        return np.asarray(np.minimum(off_s / length, 1.0))


def epoch_ends(
    data: Samples,
    judged: Bools,
    epochs: Sequence[tuple[float, float]],
    usual_s: float,
    without: Floats,
    fit: _ResidualFit,
) -> EpochEnds | None:
    """The lengths that explain the readings best; None where they explain no more than chance.

    `fit` gives the residuals of robust fits in which such shares of each window draw as they like;
    `without` are those of a level alone.
    """
    rows = int(judged.sum())
    if len(epochs) < _MIN_EPOCHS or rows > _MAX_READINGS:
        return None
    pace_s = usual_pace_s(data, single=usual_s)
    if usual_s > _MAX_EPOCH_READINGS * pace_s:
        return None
    lo = data.lo[judged]
    hi = data.hi[judged]
    tried = _tried_ends(usual_s)
    residuals = fit(np.array([ends.share(lo, hi, epochs) for ends in tried]))
    median_w = median_of_column(data.watts[judged])
    floor = noise_floor(data.quantum, median_w)
    deviation = min(median_of_column(np.abs(residual)) for residual in residuals)
    scale = max(MEDIAN_TO_SIGMA * deviation, floor)

    def cost(residual: Floats) -> float:
        errors = np.minimum(np.abs(residual) / scale, _MAX_ERRORS)
        return float((errors**2).sum())

    costs = [cost(residual) for residual in residuals]
    best = int(np.argmin(costs))
    gain = cost(without) - costs[best]
    if gain < _FITTED_FIGURES * np.log(rows):
        return None
    return tried[best]


def _tried_ends(usual_s: float) -> list[EpochEnds]:
    """All lengths that are tried, of an epoch that usually takes so long."""
    step_s = _STEP_SHARE * usual_s
    tried = []
    for begin in _BEGINS:
        for end in _ENDS:
            if not 0 < end - begin <= _MAX_SHARE:
                continue
            tried.append(
                EpochEnds(
                    before_s=-begin * usual_s,
                    after_s=end * usual_s,
                    step_s=step_s,
                )
            )
    return tried
