"""Prometheus: the text that exporters answer, and the JSON of a query (raw matrix, query_range,
instant).

Scraped text seldom holds times: one scrape is a snapshot, several need a time (in ms after the
value, as the format has it, or a line with a Unix time or date before each scrape).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import (
    Clock,
    PowerSeries,
)
from powertui.data.power import (
    assemble,
    column_times,
    stamps,
    times,
    units,
    written_times,
)
from powertui.data.power.counter_series import counter_series
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.prometheus_labels import labeled_sensor, written_labels
from powertui.data.power.prometheus_metrics import Metric, metric_value
from powertui.data.power.source import LogFile
from powertui.data.power.units import Unit
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

NAME = "prometheus"
# The exposition format: a name, labels, a value and perhaps a time; OpenMetrics adds exemplars
# behind a #.
_LINE = late_pattern(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(-?\d+(?:\.\d+)?))?\s*(?:#.*)?"
)
# `promtool query range` prints a metric, and its points below it; of `query instant` in one line.
_PROMTOOL = late_pattern(r"([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{.*\})?) =>(.*)")
_PROMTOOL_POINT = late_pattern(r"(\S+) @\[(\d+(?:\.\d+)?)\]")
# Parts of a machine's power that another metric reports as a whole.
_SHARED_OUT = late_pattern(
    r"_(?:process|container|pod|vm|thread|consumer)_|_(?:active|idle)_(?:watts|joules)"
)


def sniff(head: str, _path: str) -> int:
    """JSON with a result, or lines of a metric that means power."""
    if not head.lstrip().startswith(("{", "[")):
        if any(map(_is_metric_of_power, head.split("\n"))):
            return 92
        return 0
    if re.search(r'"status"\s*:\s*"error"', head) and '"errorType"' in head:
        return 40
    if re.search(r'"datapoints"\s{0,9}:\s{0,9}\[', head) and '"target"' in head:
        return 95
    names_metric = re.search(r'"(metric|__name__)"\s*:', head)
    if names_metric and re.search(r'"values?"\s*:', head):
        return 95
    return 0


def _is_metric_of_power(line: str) -> bool:
    """Whether a line is a metric of power or energy, as exporters write it."""
    match = _LINE.fullmatch(line.strip())
    if match is None:
        return False
    name, labels = match.group(1, 2)
    if "_" not in name or _metric_unit(name) is None:
        return False
    # Without labels there are a name, a value and at most a time: prose has more words.
    return labels is not None or line.count(" ") <= 2


def _metric_unit(name: str) -> Unit | None:
    """The unit of a metric's name; None when it does not mean power or energy."""
    if name in units.METRICS:
        return units.UNITS[units.METRICS[name]]
    if name.endswith(("_power_watts_count", "_bucket", "_created")):
        return None
    if _SHARED_OUT.search(name):
        return None
    return units.unit_of_name(name)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per metric and set of labels."""
    notes = Notes(source.path)
    is_json = source.head_text.lstrip()[:1] in ("{", "[")
    if is_json:
        from powertui.data.power import prometheus_answers

        metrics = prometheus_answers.answered_metrics(source, notes)
    else:
        metrics = _text(source, notes)
    guess = "Prometheus: unit and channel by the metric's name"
    return log_of_metrics(source.path, metrics, notes, options, guess)


def log_of_metrics(
    path: str,
    metrics: list[Metric],
    notes: Notes,
    options: LogColumns,
    guess: str,
) -> PowerLog:
    """The channels of metrics, however they came."""
    series: list[PowerSeries] = []
    names: set[tuple[str, str]] = set()
    is_guessed = False
    for metric in _with_joined_modes(metrics):
        name = metric.labels.get("__name__", "")
        unit = units.UNITS.get(options.unit or "") or _metric_unit(name)
        if unit is None and name and not _may_be_power(name):
            continue
        is_guessed |= unit is None
        channel = _series(metric, unit, options, notes)
        if channel is None:
            continue
        sensor = channel.sensor
        if (sensor.host, sensor.name) in names:
            # The same part by its power and by a counter.
            sensor = replace(sensor, name=f"{sensor.name} (energy)")
            channel = replace(channel, sensor=sensor)
        names.add((sensor.host, sensor.name))
        series.append(channel)
    if not series:
        raise UnreadableFile(
            path,
            "comes from Prometheus, but holds no metric in watts or joules",
            hint=(
                "A counter of joules needs two scrapes. Query "
                "ipmi_dcmi_power_consumption_watts, or give --unit W."
            ),
        )
    if is_guessed:
        guess += "; watts assumed where it has none"
    return PowerLog(
        path=path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=guess,
    )


def machine_of(labels: Mapping[str, str]) -> str:
    """The machine that a series is about, as its labels name it."""
    return labeled_sensor(labels, is_sure=True, host="").host


def _may_be_power(name: str) -> bool:
    """Whether a metric whose name tells no unit may be in watts."""
    return units.means_power(name) and not _SHARED_OUT.search(name)


def _with_joined_modes(metrics: list[Metric]) -> list[Metric]:
    """Kepler counts idle and dynamic energy apart: the two become their sum, at the times at which
    both were read.
    """
    joined: list[Metric] = []
    rows: dict[tuple[tuple[str, str], ...], int] = {}
    for metric in metrics:
        labels = dict(metric.labels)
        if labels.pop("mode", None) not in ("idle", "dynamic"):
            joined.append(metric)
            continue
        row = rows.setdefault(tuple(labels.items()), len(joined))
        if row < len(joined):
            joined[row] = _sum(joined[row], metric)
        else:
            joined.append(metric)
    return joined


def _sum(first: Metric, second: Metric) -> Metric:
    ns, rows_of_first, rows_of_second = np.intersect1d(
        first.ns,
        second.ns,
        return_indices=True,
    )
    values = first.values[rows_of_first] + second.values[rows_of_second]
    return Metric(first.labels, ns, values, second.clock)


def _stamp(text: str) -> int | None:
    """The Unix time behind a value, ns: it is written in ms, in OpenMetrics in seconds. None for
    any other number.
    """
    number = np.array([metric_value(text)])
    column = column_times.from_numbers(number)
    if column.kind == "absolute" and column.ok[0]:
        return int(column.ns[0])
    return None


class _Point(NamedTuple):
    """A line of scraped text."""

    line: int
    ns: int | None  # Unix time, where the text gives one
    value: float


class _Scrapes:
    """Scraped text on its way to series: its points by labels, and the time of the scrape."""

    def __init__(self) -> None:
        self.points: dict[tuple[tuple[str, str], ...], list[_Point]] = {}
        self.now_ns: int | None = None
        self.is_local = False  # the times of the scrapes have no zone

    def set_time(self, when: str) -> None:
        """A line with the time of the scrape below it."""
        stamp = written_times.parse(when)
        if stamp is not None and stamp.dated:
            self.now_ns = stamp.ns - (stamp.offset_s or 0) * times.S
            self.is_local = stamp.offset_s is None
        else:
            self.now_ns = _stamp(when) or self.now_ns

    def add(self, line: int, match: re.Match[str]) -> None:
        """A line of the exposition format, where its metric is one of power."""
        name, labels_text, value, when = match.groups()
        if _metric_unit(name) is None and not units.means_power(name):
            return
        labels = {"__name__": name, **written_labels(labels_text or "")}
        point = _Point(
            line,
            ns=_stamp(when) if when else self.now_ns,
            value=metric_value(value),
        )
        points = self.points.setdefault(tuple(labels.items()), [])
        points.append(point)

    def first_ns(self) -> int | None:
        """The first time of any point; None where the text gives no times."""
        timed = [
            point.ns for points in self.points.values() for point in points if point.ns is not None
        ]
        return min(timed, default=None)

    def clock(self, zero_ns: int | None) -> Clock:
        """Where the zero of the series is."""
        if zero_ns is None:
            return Clock(detail="a snapshot without a time")
        column = column_times.TimeColumn(
            ns=np.zeros(0, np.int64),
            ok=np.zeros(0, np.bool_),
            kind="local" if self.is_local else "absolute",
            words="times of the scrapes",
        )
        return times.clock(column, zero_ns)

    def metrics(self, notes: Notes) -> list[Metric]:
        """The series, on one zero."""
        zero = self.first_ns()
        clock = self.clock(zero)
        metrics: list[Metric] = []
        for labels, points in self.points.items():
            if zero is not None:
                untimed = [point for point in points if point.ns is None]
                notes.drop_all((point.line for point in untimed), "has no time")
                points = [point for point in points if point.ns is not None]
            if not points:
                continue
            ns = np.array([point.ns or 0 for point in points], np.int64)
            ns -= zero or 0
            values = np.array([point.value for point in points])
            metrics.append(Metric(dict(labels), ns, values, clock))
        return metrics


def _text(source: LogFile, notes: Notes) -> list[Metric]:
    """The metrics of scraped text, on one zero."""
    scrapes = _scrapes(source.text.split("\n"), notes)
    has_several = any(len(points) > 1 for points in scrapes.points.values())
    if has_several and scrapes.first_ns() is None:
        raise UnreadableFile(
            source.path,
            "holds several scrapes and no time",
            hint="Write the time before each: date +%s >> FILE; curl … >> FILE",
        )
    return scrapes.metrics(notes)


def _scrapes(lines: list[str], notes: Notes) -> _Scrapes:
    """All scrapes of a text, also as promtool prints them."""
    scrapes = _Scrapes()
    metric_above = ""
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        printed = _PROMTOOL.fullmatch(bare)
        if printed is not None:
            metric_above = printed[1]
            bare = printed[2].strip()
        if not bare:
            continue
        if metric_above and (point := _PROMTOOL_POINT.fullmatch(bare)) is not None:
            bare = f"{metric_above} {point[1]} {point[2]}"
        if when := stamps.time_of_line(bare):
            scrapes.set_time(when)
            continue
        if bare.startswith("#"):
            continue
        match = _LINE.fullmatch(bare)
        if match is None:
            notes.drop(number, "is not a line of the exposition format")
        elif number == len(lines):
            notes.drop(number, "the last line may be cut")
        else:
            scrapes.add(number, match)
    return scrapes


def _series(
    metric: Metric,
    unit: Unit | None,
    options: LogColumns,
    notes: Notes,
) -> PowerSeries | None:
    """One channel. `unit` None: nothing names it, and it is taken for watts."""
    sensor = labeled_sensor(metric.labels, is_sure=unit is not None, host=options.host)
    unit = unit or units.UNITS["W"]
    ns = metric.ns
    scaled = metric.values * unit.factor
    if unit.quantity == "power":
        return assemble.power_series(sensor, ns, scaled, clock=metric.clock, notes=notes)
    is_number = np.isfinite(scaled)
    ns = ns[is_number]
    scaled = scaled[is_number]
    if len(ns) < 2:
        return None
    return counter_series(sensor, ns, scaled, clock=metric.clock, notes=notes)
