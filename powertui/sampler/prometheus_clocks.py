"""How far the clocks of machines are ahead of a server's, as the server scraped them.

node_exporter answers with the time of its machine (`node_time_seconds`), and the server writes its
own time beside it. Both were read within one scrape, which took `scrape_duration_seconds`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from powertui.errors import SensorError
from powertui.named_tuples import NamedTuple
from powertui.power_server import ClockAhead, ServerSeries
from powertui.sampler.prometheus_api import (
    escaped,
    labels_of,
    literal,
    merged,
    results,
    samples_of,
)
from powertui.sampler.prometheus_hosts import machine_label, machine_names
from powertui.sampler.prometheus_server import PrometheusConnection, selector

__all__ = ["with_clocks"]

_TIME = "node_time_seconds"
_DURATION = "scrape_duration_seconds"
# Prometheus writes a scrape that is up to 2 ms late at the moment for which it was planned
# (`scrape.timestamp-tolerance`).
_PLANNED_S = 0.002
_MIN_COMPARISONS = 3  # a machine whose clock was read less often may have been started just then
_MAX_COMPARISONS = 240  # of one machine: a bound of time; four an hour of a run of two days
_MAX_MACHINES = 2000  # that are compared: 10 MB of answers
# A clock that was set while it was compared, or answers that contradict each other, say nothing.
_MAX_OPEN_S = 2.0


class _Asked(NamedTuple):
    """From when to when, and how often, clocks are compared."""

    start_s: float
    end_s: float
    step_s: float


def with_clocks(
    server: PrometheusConnection,
    series: Sequence[ServerSeries],
    start_s: float,
    end_s: float,
) -> list[ServerSeries]:
    """The same series, each with how far the clock of its machine was ahead of the server's, and
    how long its scrapes took, where the server has both.
    """
    try:
        ahead = _ClockComparison(server, series, start_s, end_s).ahead()
    except (SensorError, OSError):
        ahead = {}  # without it the place of the log is open, as it is of every log
    return [one._replace(clock=ahead.get(number)) for number, one in enumerate(series)]


class _ClockComparison:
    """The clocks of the machines of some series, beside a server's."""

    def __init__(
        self,
        server: PrometheusConnection,
        series: Sequence[ServerSeries],
        start_s: float,
        end_s: float,
    ) -> None:
        self._server, self._series = server, series
        step_s = max(1.0, math.ceil((end_s - start_s) / _MAX_COMPARISONS))
        self._asked = _Asked(start_s, end_s, step_s)

    def ahead(self) -> dict[int, ClockAhead]:
        """By the number of the series."""
        exporters = self._exporters()
        if not exporters:
            return {}
        clocks = self._clocks(list(exporters.values()))
        durations = self._durations([dict(one.labels) for one in self._series])
        ahead = {}
        for number, one in enumerate(self._series):
            exporter = exporters.get(_machine(one.labels))
            if exporter is not None:
                clock = clocks.get(_target(exporter))
            else:
                clock = None
            took = durations.get(_target(one.labels))
            if clock is None or not took:
                continue
            low_s, high_s = clock
            ahead[number] = ClockAhead(low_s, high_s + _median(sorted(took.values())))
        return ahead

    def _exporters(self) -> dict[str, dict[str, str]]:
        """The labels of the node exporter of each machine: where there is one alone."""
        names = {}
        for one in self._series:
            machine = _machine(one.labels)
            names[machine] = machine_names(machine)
        if len(names) > _MAX_MACHINES:
            return {}
        parameters: dict[str, Any] = {
            "match[]": _TIME,
            "start": f"{self._asked.start_s:.3f}",
            "end": f"{self._asked.end_s:.3f}",
        }
        listed = self._server.ask("series", **parameters)
        by_name: dict[str, list[dict[str, str]]] = {}
        for entry in listed if isinstance(listed, list) else []:
            labels = labels_of(entry)
            for name in machine_names(_machine(labels)):
                by_name.setdefault(name, []).append(labels)
        exporters = {}
        for machine, its_names in names.items():
            targets = {}
            for name in its_names:
                for labels in by_name.get(name, ()):
                    targets[_target(labels)] = labels
            if machine and len(targets) == 1:
                (exporters[machine],) = targets.values()
        return exporters

    def _clocks(
        self,
        exporters: Sequence[Mapping[str, str]],
    ) -> dict[tuple[str, str], tuple[float, float]]:
        """Of each exporter: between which two figures its clock was ahead of the server's."""
        time_of = selector(_TIME, _matchers(exporters))
        clocks = {}
        ahead = self._over_time(f"{time_of} - timestamp({time_of})")
        durations = self._durations(exporters)
        for target, ahead_at in ahead.items():
            took = durations.get(target, {})
            low = [value - took[at] - _PLANNED_S for at, value in ahead_at.items() if at in took]
            high = [value + _PLANNED_S for at, value in ahead_at.items() if at in took]
            if len(low) < _MIN_COMPARISONS:
                continue
            # Each is right by itself; a clock that is slowly set is right in turns.
            low_s, high_s = max(low), min(high)
            if low_s > high_s:
                low_s, high_s = min(low), max(high)
            if high_s - low_s <= _MAX_OPEN_S:
                clocks[target] = low_s, high_s
        return clocks

    def _durations(
        self,
        targets: Sequence[Mapping[str, str]],
    ) -> dict[tuple[str, str], dict[float, float]]:
        """Of each target: how long its scrapes took, by moment."""
        found = self._over_time(selector(_DURATION, _matchers(targets)))
        return {
            target: {at: value for at, value in values.items() if value >= 0}
            for target, values in found.items()
        }

    def _over_time(self, query: str) -> dict[tuple[str, str], dict[float, float]]:
        """Of each target: what a query gives at each moment that is asked about."""
        data = self._server.ask(
            "query_range",
            query=query,
            start=f"{self._asked.start_s:.3f}",
            end=f"{self._asked.end_s:.3f}",
            step=f"{self._asked.step_s:g}",
        )
        if self._server.missing:
            return {}
        found = {}
        for one in merged(
            samples_of(entry, self._asked.start_s, self._asked.end_s, 1.0)
            for entry in results(data)
        ):
            values = {at: value for at, value in one.samples if math.isfinite(value)}
            found[_target(one.labels)] = values
        return found


def _machine(labels: Mapping[str, str]) -> str:
    return labels.get(machine_label(labels), "")


def _target(labels: Mapping[str, str]) -> tuple[str, str]:
    """What a server scrapes, as it names it itself."""
    return labels.get("job", ""), labels.get("instance", "")


def _matchers(targets: Sequence[Mapping[str, str]]) -> list[str]:
    """What picks the series of some targets."""
    instances = sorted({labels.get("instance", "") for labels in targets})
    pattern = "|".join(literal(instance) for instance in instances)
    return [f'instance=~"{escaped(pattern)}"']


def _median(ordered: Sequence[float]) -> float:
    return ordered[len(ordered) // 2]
