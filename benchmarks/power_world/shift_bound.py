"""How well a log could be placed at best: by a matched filter that knows what the machine did.

The filter knows when the machine idled, started, trained, validated and paused, what of the readings
is somebody else's work, and what the sensor does. It is given two sorts of moments:

    truth     when the machine really changed what it did, and when each reading was taken
    records   when it may have, as far as the records of the training show: a loop that logs its
              loss every 20 steps shows its end to 20 steps; and readings that may be late by a poll
              and by what the sensor takes to publish, and records by a moment

By the truth it knows the watts of each kind of work, and its answer is how much worse the readings
fit where a wrong clock puts them. By the records it learns the watts from the same readings, whose
errors are as alike from one to the next as they are, and its answer is the error of the place: how
far off the log may be, one standard deviation. A clock that is off by three of these is to be
noticed. One that is off by less cannot be noticed for sure by whoever has only the log and the
records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ASKED_ERRORS = 3.0  # a clock that is off by more of them is to be noticed
# A record is written so long after what it tells of: 5 to 26 ms in five Keras trainings.
RECORD_LATE_S = 0.02
_MAX_OPEN_S = 600.0  # of an edge before or after which no record is: as far as clocks are searched
_MOMENT_S = 0.005  # what a sensor without a window averages over
# Shifts at which the filter by records is asked (s, either way): from, to, apart.
_SHIFTS_S = ((0.0, 1.0, 0.02), (1.0, 5.0, 0.1), (5.0, 60.0, 0.5))
_FINE_SHIFT_S = 0.01  # between them its answers are interpolated
_RIDGE = 1e-9  # settles the watts of work that no reading shows
_ORDINARY_SIGMAS = 2.5  # readings that differ by more are somebody else's work
_MAX_LAG = 0.95  # correlation of neighbors: at 1 all readings together would count for nothing
_MAD_SIGMAS = 1.4826  # median deviations of a normal distribution in one sigma


@dataclass(frozen=True, eq=False)
class Levels:
    """What a machine draws: constant from each edge to the next."""

    edge_s: Floats  # ascending
    watts: Floats  # before the first edge, after each
    before_s: Floats  # by so much each edge may be earlier as far as records show
    after_s: Floats

    def mean(self, lo: Floats, hi: Floats, edge_s: Floats | None = None) -> Floats:
        """The mean watts of windows; with other moments of the edges if given."""
        edges = self.edge_s if edge_s is None else edge_s
        hi = np.maximum(hi, lo + _MOMENT_S)
        ends = np.concatenate([[edges[0] - 1e6], edges, [edges[-1] + 1e6]])
        joules = np.concatenate([[0.0], np.cumsum(np.diff(ends) * self.watts)])
        return np.asarray((np.interp(hi, ends, joules) - np.interp(lo, ends, joules)) / (hi - lo))

    def shares(self, lo: Floats, hi: Floats, edge_s: Floats) -> Floats:
        """[windows, levels]: the share of each window that each level fills. Equal watts are one
        level.
        """
        hi = np.maximum(hi, lo + _MOMENT_S)
        ends = np.concatenate([[edge_s[0] - 1e6], edge_s, [edge_s[-1] + 1e6]])
        columns: list[Floats] = []
        for watts in np.unique(np.round(self.watts, 6)):
            is_level = np.isclose(self.watts, watts)
            seconds = np.concatenate([[0.0], np.cumsum(np.diff(ends) * is_level)])
            columns.append(
                (np.interp(hi, ends, seconds) - np.interp(lo, ends, seconds)) / (hi - lo)
            )
        return np.stack(columns, axis=1)

    def believed_edges(self, shift_s: float) -> Floats:
        """Where the edges would be if a log that is off by so much were right.

        Each is where the log shows it, as far as the records leave it open.
        """
        seen = self.edge_s + shift_s
        clipped = np.clip(seen, self.edge_s - self.before_s, self.edge_s + self.after_s)
        return np.asarray(np.maximum.accumulate(clipped))


@dataclass(frozen=True, eq=False)
class Readings:
    """When each reading of a log was really taken (s), and its error."""

    lo_s: Floats
    hi_s: Floats
    sigma_w: float
    lag: float = 0.0  # how alike the errors of neighbors are: their correlation


def levels(
    edge_s: Floats, watts: Floats, record_s: Floats, *, begun_s: float, usual_interval_s: float
) -> Levels:
    """Levels, and what records at these moments leave open of each edge.

    A program loads and compiles any time before its first record, and works from `begun_s` on. After
    its last record it went on for no more than the usual interval of its records.
    """
    record_s = np.unique(record_s)
    before_s = np.empty(len(edge_s))
    after_s = np.empty(len(edge_s))
    for row, edge in enumerate(edge_s.tolist()):
        if np.abs(record_s - edge).min() <= RECORD_LATE_S:
            before_s[row] = after_s[row] = 0.0
            continue
        number = int(np.searchsorted(record_s, edge))
        earliest = begun_s if edge > begun_s + RECORD_LATE_S else edge - _MAX_OPEN_S
        if number > 0:
            earliest = float(record_s[number - 1])
        latest = float(record_s[-1]) + usual_interval_s
        if number < len(record_s):
            latest = float(record_s[number])
        before_s[row] = edge - earliest
        after_s[row] = max(latest - edge, 0.0)
    return Levels(edge_s=edge_s, watts=watts, before_s=before_s, after_s=after_s)


def readings(
    template: Levels, lo_s: Floats, hi_s: Floats, watts: Floats, quantum_w: float
) -> Readings:
    """The readings with their error: what differs from the levels, foreign work left out."""
    residual = watts - template.mean(lo_s, hi_s)
    residual = residual - np.median(residual)
    sigma_w = _MAD_SIGMAS * float(np.median(np.abs(residual)))
    sigma_w = max(sigma_w, quantum_w / np.sqrt(12), 1e-3)
    return Readings(lo_s, hi_s, sigma_w, _lag(residual, sigma_w))


def _lag(residual_w: Floats, sigma_w: float) -> float:
    is_ordinary = np.abs(residual_w) < _ORDINARY_SIGMAS * sigma_w
    is_pair = is_ordinary[1:] & is_ordinary[:-1]
    after = residual_w[1:][is_pair]
    before = residual_w[:-1][is_pair]
    lag = float((after * before).sum() / max(float((before**2).sum()), 1e-12))
    return min(max(lag, 0.0), _MAX_LAG)


def errors_of_shift(template: Levels, taken: Readings, shift_s: float) -> float:
    """How many of its own errors a log is off whose clock is off by so much, by the truth.

    The square is by how much worse the readings fit where the clock puts them, in units of their
    squared errors: of one edge and a small shift it is the shift by the error of that edge.
    """
    seen = template.mean(taken.lo_s, taken.hi_s)
    expected = template.mean(taken.lo_s + shift_s, taken.hi_s + shift_s)
    return float(np.sqrt((((seen - expected) / taken.sigma_w) ** 2).sum()))


def own_error_s(template: Levels, taken: Readings, late_s: float) -> float:
    """One standard deviation of where the log is, for whoever has it and the records alone.

    The edges may be wherever records leave them, and all readings be late or early by `late_s`: no
    log can tell that from its offset.
    """
    shift_s = _shifts()
    misfit = np.array([_misfit(template, taken, one) for one in shift_s.tolist()])
    farthest_s = float(shift_s[-1])
    fine = np.arange(-farthest_s, farthest_s + _FINE_SHIFT_S / 2, _FINE_SHIFT_S)
    misfit = _least_within(np.interp(fine, shift_s, misfit), round(late_s / _FINE_SHIFT_S))
    weight = np.exp(-0.5 * (misfit - misfit.min()))
    return float(np.sqrt((weight * fine**2).sum() / weight.sum()))


def _shifts() -> Floats:
    later = np.unique(np.concatenate([np.arange(lo, hi, step) for lo, hi, step in _SHIFTS_S]))
    return np.concatenate([-later[:0:-1], later])


def _misfit(template: Levels, taken: Readings, shift_s: float) -> float:
    """By how much the readings would miss the best levels of a log that is off by so much, in units
    of their squared errors.
    """
    seen_w = template.mean(taken.lo_s, taken.hi_s)
    edge_s = template.believed_edges(shift_s)
    shares = template.shares(taken.lo_s + shift_s, taken.hi_s + shift_s, edge_s)
    ridge = _RIDGE * len(seen_w) * np.eye(shares.shape[1])
    watts = np.linalg.solve(shares.T @ shares + ridge, shares.T @ seen_w)
    misfit = float((((seen_w - shares @ watts) / taken.sigma_w) ** 2).sum())
    # Neighbors that are alike count as fewer readings.
    return misfit * (1 - taken.lag) / (1 + taken.lag)


def _least_within(values: Floats, reach: int) -> Floats:
    """The least of so many values on either side of each."""
    padded = np.pad(values, reach, constant_values=np.inf)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).min(axis=1))
