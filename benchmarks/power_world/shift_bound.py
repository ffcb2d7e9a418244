"""How well a log could be placed at best: by a matched filter that knows what the machine drew.

The filter knows the watts of idling, start-up, steps, validation and pauses, and what the sensor
does. It is given two sorts of moments:

    truth     when the machine really changed what it did, and when each reading was taken
    records   when it may have, as far as the records of the training show: a loop that logs its
              loss every 20 steps shows its end to 20 steps; and readings that may be late by a poll
              and by what the sensor takes to publish

A clock that is off by less than three errors of the first is not asked to be noticed. One that is
off by more, and by less than three errors of the second, cannot be noticed by whoever has only the
log and the records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ASKED_ERRORS = 3.0  # a clock that is off by more of them is to be noticed
# A record is written so long after what it tells of. Simulated trainings write theirs within 5 ms.
_RECORD_LATE_S = 0.02
_MAX_OPEN_S = 600.0  # of an edge before or after which no record is: as far as clocks are searched
_MOMENT_S = 0.005  # what a sensor without a window averages over
_LATENESS_STEPS = 9
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
        if np.abs(record_s - edge).min() <= _RECORD_LATE_S:
            before_s[row] = after_s[row] = 0.0
            continue
        number = int(np.searchsorted(record_s, edge))
        earliest = begun_s if edge > begun_s + _RECORD_LATE_S else edge - _MAX_OPEN_S
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
    sigma_w = _MAD_SIGMAS * float(np.median(np.abs(residual - np.median(residual))))
    return Readings(lo_s, hi_s, max(sigma_w, quantum_w / np.sqrt(12), 1e-3))


def errors_of_shift(template: Levels, taken: Readings, shift_s: float) -> float:
    """How many of its own errors a log is off whose clock is off by so much, by the truth.

    The square is by how much worse the readings fit where the clock puts them, in units of their
    squared errors: of one edge and a small shift it is the shift by the error of that edge.
    """
    return _errors(template, taken, shift_s, template.edge_s)


def errors_by_records(template: Levels, taken: Readings, shift_s: float, late_s: float) -> float:
    """The same for whoever has the log and the records alone.

    The edges may be wherever records leave them, and the readings be late by `late_s`: that no log
    can tell from its offset.
    """
    errors: list[float] = []
    for late in np.linspace(-late_s, late_s, _LATENESS_STEPS).tolist():
        off_s = shift_s + late
        errors.append(_errors(template, taken, off_s, template.believed_edges(off_s)))
    return min(errors)


def _errors(template: Levels, taken: Readings, shift_s: float, believed_s: Floats) -> float:
    expected = template.mean(taken.lo_s + shift_s, taken.hi_s + shift_s, believed_s)
    seen = template.mean(taken.lo_s, taken.hi_s)
    return float(np.sqrt((((seen - expected) / taken.sigma_w) ** 2).sum()))
