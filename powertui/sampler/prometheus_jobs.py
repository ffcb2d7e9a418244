"""Where and when a job ran, by the labels of a Prometheus server, and the power of it.

Two kinds of sites label jobs. On some the power series themselves carry the label (DCGM's exporter
with `hpc_job` or `pod`): they are the job's own. On others another metric says which job a machine
runs (Omnistat's `rmsjob_info`, exporters of control groups): then the power is that of the whole
machine while the job was on it.

The hours in which a label has samples are asked for first, for a quarter of a year; the samples
themselves only of the first and the last hour of each series, and of hours with a pause.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from powertui.errors import NotSupported, SensorError
from powertui.named_tuples import NamedTuple
from powertui.power_server import JobPower, JobQuestion, JobStretch, PowerQuestion
from powertui.sampler.prometheus_api import escaped, labels_of, results, samples_of
from powertui.sampler.prometheus_fetch import PowerFetch, PrometheusPower
from powertui.sampler.prometheus_hosts import machine_label
from powertui.sampler.prometheus_metrics import COUNTER_OF, METRICS
from powertui.sampler.prometheus_server import PrometheusConnection

__all__ = ["PrometheusJobs"]

_LOOKBACK_S = 90 * 86_400  # of jobs that are looked for: most servers keep less
_HOUR_S = 3600
_MAX_CARRIERS = 5_000  # series with the label of one job: more are not one job's. Chosen
_MAX_CLOSE_HOURS = 200  # of which all samples are asked for
_FULL_HOUR = 0.98  # of the samples that an hour without a pause has
_PAUSE_SPACINGS = 4.0  # without a sample a job pauses: three scrapes may fail
_USUAL_SPACING_S = 60.0  # between scrapes, where a series has a single sample
_RUNNING_SPACINGS = 2.5  # a job whose last sample is no older than that is running


class PrometheusJobs(PrometheusPower):
    """A server that is asked for the power of jobs. Implements `JobServer`."""

    def fetch_job(self, question: JobQuestion) -> JobPower:
        """The power of a job. Raises PowertuiError in one sentence."""
        with self.connected() as server:
            return _Job(server, question).power()


class _Carrier(NamedTuple):
    """A metric whose series carry the job's label."""

    metric: str
    matcher: str

    @property
    def query(self) -> str:
        return f"{self.metric}{{{self.matcher}}}"


_Key = tuple[tuple[str, str], ...]


class _Presence(NamedTuple):
    """When one series has samples: how many in which hours (by their ends), and when exactly in
    those that were looked at closely.
    """

    machine: str
    counts: dict[float, float]
    moments: dict[float, list[float]]

    @property
    def edge_hours(self) -> tuple[float, float]:
        """The first and the last hour."""
        return min(self.counts), max(self.counts)

    @property
    def spacing_s(self) -> float:
        """Between two scrapes."""
        gaps_s: list[float] = []
        for moments in self.moments.values():
            gaps_s += [after - before for before, after in pairwise(moments)]
        return statistics.median(gaps_s) if gaps_s else _USUAL_SPACING_S

    def partial_hours(self) -> set[float]:
        """Hours that have a pause, of those that were not looked at closely."""
        full_count = _FULL_HOUR * _HOUR_S / self.spacing_s
        partial = {hour for hour, count in self.counts.items() if count < full_count}
        return partial - set(self.moments)

    def runs(self) -> list[tuple[float, float]]:
        """From when to when it has samples, each stretch of them by itself."""
        pieces = []
        for hour in self.counts:
            if hour in self.moments:
                pieces += [(moment, moment) for moment in self.moments[hour]]
            else:
                pieces.append((hour - _HOUR_S, hour))
        return _joined(pieces, _PAUSE_SPACINGS * self.spacing_s)


class _Job:
    """One job that is looked for."""

    def __init__(self, server: PrometheusConnection, question: JobQuestion) -> None:
        self._server, self._question = server, question
        self._now_s = time.time()
        self._server.ask_whole("query", query="1")  # its clock, and whether it lets us in
        self._now_s += server.ahead_s

    def power(self) -> JobPower:
        """Where and when it ran, and the power then."""
        label, listed = self._labeled()
        names = {labels.get("__name__", "") for labels in listed}
        own_metrics = [metric for metric in METRICS if metric in names]
        own_metrics = [name for name in own_metrics if COUNTER_OF.get(name) not in own_metrics]
        matcher = f'{label}="{escaped(self._question.value)}"'
        metrics = own_metrics or [_clearest(names)]
        carriers = [_Carrier(metric, matcher) for metric in metrics]
        present = [presence for carrier in carriers for presence in self._presence(carrier)]
        stretches = self._stretches(present)
        machines = frozenset(stretch.machine for stretch in stretches)
        asked = PowerQuestion(
            min(stretch.first_s - stretch.spacing_s for stretch in stretches),
            max(stretch.last_s + stretch.spacing_s for stretch in stretches),
            frozenset() if own_metrics else machines,
        )
        return JobPower(
            label=label,
            carriers=tuple(metrics),
            is_own=bool(own_metrics),
            stretches=stretches,
            other_jobs=0 if own_metrics else self._other_jobs(metrics[0], label, asked),
            power=PowerFetch(self._server, asked, (matcher,) if own_metrics else ()).answer(),
        )

    def _series(self, selectors: Sequence[str], start_s: float, end_s: float) -> list[Any]:
        """The labels of all series of a time that fit."""
        listed = self._server.ask_whole(
            "series",
            **{"match[]": selectors, "start": f"{start_s:.3f}", "end": f"{end_s:.3f}"},
        )
        return [labels_of(entry) for entry in listed if isinstance(entry, dict)]

    def _labeled(self) -> tuple[str, list[dict[str, str]]]:
        """The label that names the job, and the labels of all series that have it."""
        value = escaped(self._question.value)
        selectors = [f'{{{label}="{value}"}}' for label in self._question.labels]
        listed = self._series(selectors, self._now_s - _LOOKBACK_S, self._now_s)
        for label in self._question.labels:
            found = [labels for labels in listed if labels.get(label) == self._question.value]
            if len(found) > _MAX_CARRIERS:
                raise SensorError(
                    f"{self._server.name} has {len(found)} series with {label}={value}: "
                    "that is not a single job.",
                    hint="Name another label: --job LABEL=VALUE.",
                )
            if found:
                return label, found
        raise NotSupported(
            f"{self._server.name} has no series of the last 90 days with "
            f"{' or '.join(self._question.labels)} = {self._question.value}.",
            hint="Name the label that your exporters use: --job LABEL=VALUE.",
        )

    def _presence(self, carrier: _Carrier) -> list[_Presence]:
        """When each series of a metric had samples."""
        end_s = math.ceil(self._now_s / _HOUR_S) * _HOUR_S
        data = self._server.ask_whole(
            "query_range",
            query=f"count_over_time({carrier.query}[{_HOUR_S}s])",
            start=f"{end_s - _LOOKBACK_S:.3f}",
            end=f"{end_s:.3f}",
            step=f"{_HOUR_S}",
        )
        series: dict[_Key, _Presence] = {}
        for entry in results(data):
            counted = samples_of(entry, -math.inf, math.inf, 1.0)
            if counted.samples:
                machine = counted.labels.get(machine_label(counted.labels), "")
                series[_key(counted.labels)] = _Presence(machine, dict(counted.samples), {})
        edges = {hour for presence in series.values() for hour in presence.edge_hours}
        self._look_closer(carrier, series, edges)
        # How many samples an hour has that is without a pause is known by now.
        partial = {hour for presence in series.values() for hour in presence.partial_hours()}
        self._look_closer(carrier, series, partial)
        return list(series.values())

    def _look_closer(
        self,
        carrier: _Carrier,
        series: Mapping[_Key, _Presence],
        hours: set[float],
    ) -> None:
        """Ask for the moments of all samples of some hours."""
        if len(hours) > _MAX_CLOSE_HOURS:
            raise SensorError(
                f"{self._server.name} has samples of {self._question.value} that begin, pause or "
                f"end in {len(hours)} different hours: they are not those of a single job.",
                hint="Name one part of it: --job LABEL=VALUE.",
            )
        for hour in sorted(hours):
            data = self._server.ask_whole(
                "query",
                query=f"{carrier.query}[{_HOUR_S}s]",
                time=f"{hour:.3f}",
            )
            for entry in results(data):
                found = samples_of(entry, -math.inf, math.inf, 1.0)
                presence = series.get(_key(found.labels))
                if presence is not None:
                    presence.moments[hour] = [moment for moment, _ in found.samples]

    def _stretches(self, series: Iterable[_Presence]) -> tuple[JobStretch, ...]:
        """When it ran on each machine, without its pauses."""
        by_machine: dict[str, list[_Presence]] = {}
        for presence in series:
            by_machine.setdefault(presence.machine, []).append(presence)
        stretches = []
        for machine, of_machine in sorted(by_machine.items()):
            spacing_s = statistics.median(presence.spacing_s for presence in of_machine)
            runs = _joined(
                [run for presence in of_machine for run in presence.runs()],
                _PAUSE_SPACINGS * spacing_s,
            )
            for first_s, last_s in runs:
                is_running = self._now_s - last_s <= _RUNNING_SPACINGS * spacing_s
                stretches.append(
                    JobStretch(
                        machine=machine,
                        first_s=first_s,
                        last_s=last_s,
                        spacing_s=spacing_s,
                        is_running=is_running,
                    )
                )
        if not stretches:
            raise NotSupported(
                f"{self._server.name} has no sample of {self._question.value} any more.",
                hint="Check how long it keeps samples.",
            )
        return tuple(stretches)

    def _other_jobs(self, metric: str, label: str, asked: PowerQuestion) -> int:
        """How many other jobs the same machines ran in that time, by the same metric."""
        others = set()
        selector = f'{metric}{{{label}!="",{label}!="{escaped(self._question.value)}"}}'
        for labels in self._series([selector], asked.start_s, asked.end_s):
            if labels.get(machine_label(labels), "") in asked.hosts:
                others.add(labels.get(label, ""))
        return len(others)


def _key(labels: Mapping[str, str]) -> _Key:
    """What tells series of one metric apart; functions drop the metric's name."""
    return tuple(sorted(item for item in labels.items() if item[0] != "__name__"))


def _joined(runs: Iterable[tuple[float, float]], pause_s: float) -> list[tuple[float, float]]:
    """Runs that overlap, or follow one another without a pause, as one."""
    joined: list[tuple[float, float]] = []
    for first_s, last_s in sorted(runs):
        if joined and first_s - joined[-1][1] <= pause_s:
            joined[-1] = joined[-1][0], max(joined[-1][1], last_s)
        else:
            joined.append((first_s, last_s))
    return joined


def _clearest(names: Iterable[str]) -> str:
    """Of metrics that carry a job's label the one that is most likely about the job itself."""

    def unlikeliness(name: str) -> tuple[bool, bool, int, str]:
        return "info" not in name, "job" not in name, len(name), name

    return min(names, key=unlikeliness)
