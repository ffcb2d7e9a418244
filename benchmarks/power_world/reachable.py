"""Which wrong clocks a log's own readings show: a likelihood ratio by an observer who knows more.

The observer knows in which order the machine idled, trained, validated and paused, and as far as
the records show also when. The watts of each, the noise, the sensor's window and whose work a burst
is have to be learned from the readings, with all their real errors. Where the best placing of the
log where its clock puts it fits worse than the best one of all by so much as a right clock would in
one of a hundred logs, the readings show that the clock is wrong.

Whoever has the log and the records alone knows less: epoch scalars show neither when a validation
began nor that a checkpoint was written. So this is a bound from above, which shares no code with
what is judged by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.power_world.sensors import Taken
from benchmarks.power_world.shift_bound import RECORD_LATE_S, Floats, Levels, readings

# Of a right clock in 1 of 100 logs: chi-squared of one degree of freedom.
REJECTED_AT = 6.63
_FREEDOM = 4.0  # of Student's t: somebody else's work may add anything
_WINDOWS_OF_REFRESH = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)  # that a sensor may average over
_LONG_WINDOW_S = 1.0  # and this one of a sensor that publishes more often than twice a second
_FAST_REFRESH_S = 0.5
_MEMORY_MOMENTS = 24  # that stand for an exponential mean
_FIT_ITERATIONS = 6
_SCALES = 1.4 ** np.arange(12.0)  # of the noise, from its least
_MIN_REACH_S, _REACH_OF_WINDOW = 1.5, 0.6  # within which the best place of all is looked for
_REACH_STEPS = 61
_LATE_STEPS = 7


def contradictions(template: Levels, taken: Taken, offs_s: Sequence[float]) -> list[float]:
    """By how much worse the readings fit where each of these clocks puts them (-2 log likelihood).

    `template` is true, and so are the times of `taken`.
    """
    measured, model = taken.measured, taken.model
    assert measured is not None
    watts = measured.watts / taken.gain
    of_levels = readings(template, measured.lo_s, measured.hi_s, watts, model.quantum)
    least_sigma_w = max(model.quantum / np.sqrt(12) / 2, of_levels.sigma_w / 4, 1e-3)
    late_s = model.poll_s + model.delay * model.refresh_s + RECORD_LATE_S
    ways = _ways(taken)

    def misfit(shift_s: float) -> float:
        edge_s = template.believed_edges(shift_s)
        best = np.inf
        for lo, forget_s in ways:
            shares = _shares(template, edge_s, lo + shift_s, measured.hi_s + shift_s, forget_s)
            best = min(best, _misfit(watts, shares, of_levels.lag, least_sigma_w))
        return float(best)

    reach_s = max(_MIN_REACH_S, _REACH_OF_WINDOW * max(model.window_s, model.refresh_s))
    best = min(misfit(one) for one in np.linspace(-reach_s, reach_s, _REACH_STEPS).tolist())
    worse_by: list[float] = []
    for off_s in offs_s:
        around = np.linspace(off_s - late_s, off_s + late_s, _LATE_STEPS).tolist()
        worse_by.append(max(min(misfit(one) for one in around) - best, 0.0))
    return worse_by


def _ways(taken: Taken) -> list[tuple[Floats, float]]:
    """Each way in which the sensor may average: where its windows begin, and what it forgets in."""
    measured, model = taken.measured, taken.model
    assert measured is not None
    if model.counter:
        return [(measured.lo_s, 0.0)]
    windows_s = {share * model.refresh_s for share in _WINDOWS_OF_REFRESH} | {model.window_s}
    if model.refresh_s < _FAST_REFRESH_S:
        windows_s.add(_LONG_WINDOW_S)
    ways: list[tuple[Floats, float]] = []
    for window_s in sorted(windows_s):
        ways.append((measured.hi_s - window_s, 0.0))
    if model.forget_s:
        ways.append((measured.lo_s, model.forget_s))
    return ways


def _shares(template: Levels, edge_s: Floats, lo: Floats, hi: Floats, forget_s: float) -> Floats:
    """[readings, levels]: what part of each level each reading shows."""
    if not forget_s:
        return template.shares(lo, hi, edge_s)
    parts = (np.arange(_MEMORY_MOMENTS) + 0.5) / _MEMORY_MOMENTS
    ages_s = -forget_s * np.log(1 - parts)
    shown = [template.shares(hi - age, hi - age, edge_s) for age in ages_s.tolist()]
    return np.asarray(np.mean(shown, axis=0))


def _misfit(watts: Floats, shares: Floats, lag: float, least_sigma_w: float) -> float:
    """-2 log likelihood of the best watts of each level and the best noise."""
    observed = _without_lag(watts[:, None], lag)[:, 0]
    columns = _without_lag(shares, lag)
    weight = np.ones(len(observed))
    ridge = 1e-9 * len(observed) * np.eye(columns.shape[1])
    residual = observed
    for _ in range(_FIT_ITERATIONS):
        weighted = (columns * weight[:, None]).T
        level_w = np.linalg.solve(weighted @ columns + ridge, weighted @ observed)
        residual = observed - columns @ level_w
        scale = max(1.4826 * float(np.median(np.abs(residual))), least_sigma_w)
        weight = 1 / (1 + (residual / scale) ** 2 / _FREEDOM)
    sigma_w = least_sigma_w * _SCALES
    prices = (_FREEDOM + 1) * np.log1p((residual[:, None] / sigma_w) ** 2 / _FREEDOM)
    return float((prices.sum(axis=0) + 2 * len(residual) * np.log(_SCALES)).min())


def _without_lag(columns: Floats, lag: float) -> Floats:
    """What is new in each row, where neighbors are so much alike."""
    first = columns[:1] * np.sqrt(1 - lag**2)
    return np.asarray(np.concatenate([first, columns[1:] - lag * columns[:-1]]))
