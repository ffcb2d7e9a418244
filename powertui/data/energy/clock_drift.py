"""How fast a log's clock runs against the trace's, from the readings of a long log."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.offset_costs import OffsetChoices, OffsetCosts
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

_MAX_DRIFT_PPM = 200.0  # chosen: quartz clocks are off by 20 to 100 ppm
_MIN_SPAN_S = settings.DRIFT_S  # of readings in the profile: in that time 50 ppm are 30 ms
_MIN_READINGS = 32
_MIN_BIC = 6.0  # difference of the Bayesian information criterion: strong evidence
# Residuals farther than this are somebody else's work and count by their size, not its square.
_MAX_SIGMAS = settings.ORDINARY_SIGMAS
_STEPS = 9  # rates, and offsets at each, that are tried at once
_ROUNDS = 4  # each looks closer at the best rate


class _DriftFit(NamedTuple):
    ppm: float
    offset: float
    watts: Floats


def looks_like_memory(data: Samples) -> bool:
    """Whether a log is so long that a drift of its clock may look like a sensor that forgets."""
    return float(data.hi[-1] - data.lo[0]) > _MIN_SPAN_S


def drift_ppm(model: OffsetCosts, choices: OffsetChoices, data: Samples, near: float) -> float:
    """The drift beside the best of these offsets: of long logs only, and only when the data insist;
    else 0.
    """
    best = int(np.argmin(choices.cost))
    way = float(choices.way[best])
    offset = float(choices.offsets[best]) - model.shift(way)
    data = model.averaged_as(way, data)
    first, last = model.shares.span
    inside = (data.lo + offset > first) & (data.hi + offset < last)
    if inside.sum() < _MIN_READINGS:
        return 0.0
    if float(data.hi[inside][-1] - data.lo[inside][0]) < _MIN_SPAN_S:
        return 0.0
    fitted = _best_fit(model, data, offset, near, pivot=median_of_column(data.hi[inside]))
    without, _ = model.like.residuals(offset, choices.watts[best], data)
    drifting, _ = model.like.residuals(fitted.offset, fitted.watts, data, fitted.ppm)
    lag = model.lag(drifting[inside])
    independent = float(inside.sum()) * (1 - lag) / (1 + lag)
    cost_without = max(_huber_cost(without, inside, model.like.scale), 1e-12)
    cost_drifting = max(_huber_cost(drifting, inside, model.like.scale), 1e-12)
    # One more parameter costs log(n).
    gain = independent * np.log(cost_without / cost_drifting)
    evidence = gain - np.log(max(independent, 2.0))
    is_credible = evidence > _MIN_BIC and abs(fitted.ppm) <= _MAX_DRIFT_PPM
    return fitted.ppm if is_credible else 0.0


def _best_fit(
    model: OffsetCosts,
    data: Samples,
    offset: float,
    near: float,
    pivot: float,
) -> _DriftFit:
    """The best rate and offset; the moment `pivot` of the log stays where it is at any rate."""
    best = _DriftFit(0.0, offset, np.empty(0))
    lowest = np.inf
    reach_ppm, reach_s = _MAX_DRIFT_PPM, near / 2
    for _ in range(_ROUNDS):
        middle = best
        for ppm in middle.ppm + np.linspace(-reach_ppm, reach_ppm, _STEPS):
            turned_s = (ppm - middle.ppm) * 1e-6 * pivot
            offsets = middle.offset - turned_s + np.linspace(-reach_s, reach_s, _STEPS)
            cost, watts = model.like.costs(offsets, data, ppm)
            cheapest = np.argmin(cost)
            if cost.min() < lowest:
                lowest = float(cost.min())
                best = _DriftFit(float(ppm), float(offsets[cheapest]), watts[cheapest])
        reach_ppm, reach_s = reach_ppm / 4, reach_s / 3
    return best


def _huber_cost(residual: Floats, inside: Bools, scale: float) -> float:
    size = np.abs(residual[inside])
    return float(np.minimum(size, _MAX_SIGMAS * scale) @ size)
