"""One sensor behind several series.

A job that begins on a machine adds its label to the machine's series, and takes it away when it
ends. To the server these are two series, to a person one sensor. They are one here where they
differ in labels of work alone and have samples in turns. Two that have them at the same time stay
two: what two pods draw of one GPU.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from powertui.power_server import JOB_LABELS, POD_LABELS, USER_LABELS, ServerSeries
from powertui.sampler.prometheus_api import SeriesSamples
from powertui.sampler.prometheus_metrics import METRICS

__all__ = ["Relabeled", "joined_series"]

# Labels that tell whose work a sensor sees.
_WORK_LABELS = frozenset(
    (
        *JOB_LABELS,
        *POD_LABELS,
        *USER_LABELS,
        "account",
        "container",
        "container_name",
        "exported_container",
        "exported_namespace",
        "job_name",
        "namespace",
        "partition",
    )
)
# A series pauses where so many usual spacings are between two of its samples: one scrape may fail.
_PAUSE_SPACINGS = 2.5

_Key = tuple[tuple[str, str], ...]
_Samples = Sequence[tuple[float, float]]
_Series = TypeVar("_Series", SeriesSamples, ServerSeries)


class Relabeled:
    """The sensors behind a server's series, question after question."""

    def __init__(self) -> None:
        # Those that were seen with two series at a time: their series stay apart from then on.
        self._shared: set[_Key] = set()

    def sensors(self, all_series: Sequence[SeriesSamples]) -> list[SeriesSamples]:
        """One series for each sensor, without the labels of work that it has in turns."""
        if all(_WORK_LABELS.isdisjoint(series.labels) for series in all_series):
            return list(all_series)
        found: list[SeriesSamples] = []
        for key, group in _by_sensor(all_series).items():
            if key not in self._shared and _take_turns(series.samples for series in group):
                samples = sorted(sample for series in group for sample in series.samples)
                found.append(SeriesSamples(dict(key), samples))
            else:
                self._shared.add(key)
                found += group
        return found


def joined_series(all_series: Sequence[ServerSeries]) -> list[ServerSeries]:
    """The series of a run, those of one sensor as one with the labels that all of them have."""
    found: list[ServerSeries] = []
    for group in _by_sensor(all_series).values():
        if len(group) > 1 and _take_turns(map(_samples_of_fetched, group)):
            found.append(_joined(group))
        else:
            found += group
    return found


def _joined(group: Sequence[ServerSeries]) -> ServerSeries:
    # A step in which a series has no mean is a gap, unless another one has it.
    value_at = dict.fromkeys((moment for series in group for moment in series.times_s), math.nan)
    for series in group:
        value_at.update(_samples_of_fetched(series))
    labels = set.intersection(*(set(series.labels.items()) for series in group))
    times_s = sorted(value_at)
    return group[0]._replace(
        labels=dict(sorted(labels)),
        times_s=times_s,
        values=[value_at[moment] for moment in times_s],
    )


def _by_sensor(all_series: Iterable[_Series]) -> dict[_Key, list[_Series]]:
    """The series of each sensor, by the labels that name it, in the order of their first."""
    groups: dict[_Key, list[_Series]] = {}
    for series in all_series:
        labels = series.labels
        # A metric that a person names may count what a pod alone draws: its labels all count.
        if labels.get("__name__", "") in METRICS:
            left_out = _WORK_LABELS
        else:
            left_out = frozenset()
        key = tuple(sorted(item for item in labels.items() if item[0] not in left_out))
        groups.setdefault(key, []).append(series)
    return groups


def _take_turns(sampled: Iterable[_Samples]) -> bool:
    """Whether no series has a sample while another one has them.

    A series may come back: its sensor was nobody's before a job, and is so after it.
    """
    series = [samples for samples in sampled if samples]
    pauses = [_PAUSE_SPACINGS * _usual_spacing(samples) for samples in series]
    merged = sorted((moment, n) for n, samples in enumerate(series) for moment, _ in samples)
    last: dict[int, float] = {}
    for before, (moment, n) in zip([None, *merged], merged, strict=False):
        if before is not None and before[1] != n:
            is_same_moment = before[0] == moment
            has_not_paused = n in last and moment - last[n] < pauses[n]
            if is_same_moment or has_not_paused:
                return False
        last[n] = moment
    return True


def _usual_spacing(samples: _Samples) -> float:
    """Between two samples (s); 0 of a single one."""
    gaps = [after[0] - before[0] for before, after in pairwise(samples)]
    return statistics.median(gaps) if gaps else 0.0


def _samples_of_fetched(series: ServerSeries) -> _Samples:
    """Its values by their moments, without gaps."""
    pairs = zip(series.times_s, series.values, strict=True)
    return [(moment, value) for moment, value in pairs if not math.isnan(value)]
