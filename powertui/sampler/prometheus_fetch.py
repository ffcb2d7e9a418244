"""The power of a run, as a Prometheus server has it.

All samples are asked for as they were scraped (range vectors), a stretch at a time. Only where they
are too many, or the server refuses to load so many, it is asked for means in steps that it bears
(`query_range`); of counters for the values in those steps, with the moments at which they were
scraped. A mean over a step that has less than half of its samples is a gap.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from powertui.errors import NotSupported, SensorError
from powertui.named_tuples import NamedTuple
from powertui.power_server import (
    HOST_LABELS,
    FetchedPower,
    PowerQuestion,
    ServerSeries,
)
from powertui.sampler.http import TooLarge
from powertui.sampler.prometheus_api import (
    SeriesSamples,
    escaped,
    labels_of,
    literal,
    merged,
    results,
    samples_of,
)
from powertui.sampler.prometheus_clocks import with_clocks
from powertui.sampler.prometheus_hosts import chosen_machines, machine_label
from powertui.sampler.prometheus_metrics import COUNTER_OF, METRICS, counts_joules, watts_of_one
from powertui.sampler.prometheus_relabeled import joined_series
from powertui.sampler.prometheus_server import PrometheusConnection, selector
from powertui.sampler.source import Options
from powertui.sampler.urls import Address, parse_url

__all__ = ["PowerFetch", "PrometheusPower"]

# Asked for on both sides of a run: idle power and edges, and clocks that are a little off. It is
# also as long as Prometheus looks back for a value.
_MARGIN_S = 300.0
_TIMEOUT_S = 30.0  # for one answer; a server computes it first
_MAX_RAW_SAMPLES = 1_000_000  # of one run: 25 MB of answers; means are asked for instead of more
_MAX_MEANS = 400_000  # of one run
_CHUNK_SAMPLES = 60_000  # of one answer: 1.5 MB
_MAX_RANGE_POINTS = 10_000  # of one series in one answer: servers refuse more than 11,000
_MIN_CHUNK_S = 1.0
_MAX_SERIES = 10_000  # chosen, far above the machines of any run
_PROBE_S = 300.0  # in which samples are counted where the server cannot count all of them
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
_MIN_STEP_SPACINGS = 2  # a mean over a step is one of so many samples, or it is not worth asking
_MIN_STEP_SHARE = 0.5  # of the samples that a step should have: with fewer it is a gap
_UNPROCESSABLE = "status 422"  # "query processing would load too many samples into memory"


class _Chosen(NamedTuple):
    """The series of one metric that are asked for."""

    query: str
    metric: str
    machines: frozenset[str] | None  # by their label; None: all
    series_count: int
    sample_count: float
    most_samples: float  # of one series

    def is_of_machine(self, labels: Mapping[str, str]) -> bool:
        """Whether a series is one of a machine that was asked for."""
        return self.machines is None or labels.get(machine_label(labels), "") in self.machines


class PrometheusPower:
    """A server that is asked for the power of runs. Implements `PowerServer`."""

    def __init__(self, url: str, options: Options) -> None:
        self._address: Address = parse_url(url)
        self._options = options

    def fetch(self, question: PowerQuestion) -> FetchedPower:
        """The power of a run. Raises PowertuiError in one sentence."""
        with self.connected() as server:
            return PowerFetch(server, question).answer()

    @contextlib.contextmanager
    def connected(self) -> Iterator[PrometheusConnection]:
        """The server, while it is asked."""
        server = PrometheusConnection(self._address, self._options, self._timeout())
        try:
            yield server
        except OSError as error:
            raise server.unreachable(error) from None
        finally:
            server.close()

    def _timeout(self) -> float:
        return max(_TIMEOUT_S, self._options.timeout)


class PowerFetch:
    """One question on its way to the server."""

    def __init__(
        self,
        server: PrometheusConnection,
        question: PowerQuestion,
        matchers: tuple[str, ...] = (),
    ) -> None:
        self._server, self._question = server, question
        self._matchers = (*server.matchers(), *matchers)
        server.ask("query", patient=True, query="1")  # its clock, and whether it lets us in
        self.ahead_s = server.ahead_s
        early_s = min(0.0, self.ahead_s)
        late_s = max(0.0, self.ahead_s)
        # Whole seconds: what is written into a question is what is meant.
        self.start_s = math.floor(question.start_s - _MARGIN_S + early_s)
        self.end_s = math.ceil(question.end_s + _MARGIN_S + late_s)
        self.machine_count = 0

    @property
    def _length_s(self) -> int:
        return self.end_s - self.start_s

    def answer(self) -> FetchedPower:
        """Everything that was asked for."""
        chosen = [part for part in self._choose() if part.sample_count]
        if not chosen:
            raise NotSupported(
                f"{self._server.name} has no power of that time: {self._asked_words()}.",
                hint="Check how long it keeps samples, or name a metric: "
                "prometheus://…?query=METRIC.",
            )
        spacing_s = min(self._length_s / max(part.most_samples, 1.0) for part in chosen)
        step_s = self._step_s(chosen, spacing_s)
        found: list[ServerSeries] = []
        for part in chosen:
            if step_s is None:
                found += self._raw(part)
            elif counts_joules(part.metric):
                found += self._stepped_counters(part, step_s)
            else:
                found += self._means(part, step_s, self._length_s / max(part.most_samples, 1.0))
        gaps = [b - a for series in found for a, b in pairwise(series.times_s)]
        if step_s is None and gaps:
            spacing_s = statistics.median(gaps)
        found = joined_series([series for series in found if len(series.times_s)])
        compared = with_clocks(self._server, found, self.start_s, self.end_s)
        return FetchedPower(
            series=tuple(compared),
            start_s=self.start_s,
            end_s=self.end_s,
            machine_count=self.machine_count,
            spacing_s=spacing_s,
            step_s=step_s,
            ahead_s=self.ahead_s,
        )

    def _asked_words(self) -> str:
        if named := self._server.named_selector():
            return named
        return "it was asked for the metrics that powertui knows"

    # which series

    def _choose(self) -> Iterator[_Chosen]:
        """The metrics of power, and of which machines."""
        named = self._server.named_selector()
        matchers = self._matchers
        if named:
            selectors = [named]
        else:
            selectors = [selector(metric, matchers) for metric in METRICS]
        listed = self._server.ask_whole(
            "series",
            **{
                "match[]": selectors,
                "start": f"{self.start_s:.3f}",
                "end": f"{self.end_s:.3f}",
            },
        )
        if isinstance(listed, list):
            all_labels = [labels_of(entry) for entry in listed if isinstance(entry, dict)]
        else:
            all_labels = []
        if len(all_labels) > _MAX_SERIES:
            raise SensorError(
                f"{self._server.name} has {len(all_labels)} series of power then.",
                hint="Name some hosts: prometheus://…?instance=a|b.",
            )
        machines = {labels.get(machine_label(labels), "") for labels in all_labels}
        self.machine_count = len(machines)
        is_asked_by_name = bool(named or matchers)
        wanted = chosen_machines(
            machines, self._question.hosts, self._server.name, keep_all=is_asked_by_name
        )
        by_metric: dict[str, list[dict[str, str]]] = {}
        for labels in all_labels:
            if wanted is None or labels.get(machine_label(labels), "") in wanted:
                by_metric.setdefault(labels.get("__name__", ""), []).append(labels)
        for metric, series in by_metric.items():
            if COUNTER_OF.get(metric) in by_metric:
                continue
            query = named or selector(metric, [*matchers, *_machine_matchers(series, wanted)])
            yield self._counted(query, metric, wanted, len(series))

    def _counted(
        self,
        query: str,
        metric: str,
        machines: frozenset[str] | None,
        series_count: int,
    ) -> _Chosen:
        """With the number of its samples, as the server counts them."""
        share = 1.0
        try:
            counts = self._counts(query, self._length_s)
        except SensorError as error:
            if _UNPROCESSABLE not in error.message:
                raise
            counts = self._counts(query, _PROBE_S)
            share = _PROBE_S / self._length_s
        return _Chosen(
            query=query,
            metric=metric,
            machines=machines,
            series_count=series_count,
            sample_count=sum(counts) / share,
            most_samples=max(counts, default=0.0) / share,
        )

    def _counts(self, query: str, length_s: float) -> list[float]:
        """How many samples each series has in the end of the time."""
        asked = f"count_over_time({query}[{round(length_s * 1000)}ms])"
        data = self._server.ask_whole("query", query=asked, time=f"{self.end_s:.3f}")
        counts = []
        for entry in results(data):
            pair = entry.get("value")
            as_range = {"values": [pair]}
            for _, count in samples_of(as_range, -math.inf, math.inf, 1.0).samples:
                counts.append(count)
        return [count for count in counts if count > 0]

    def _step_s(self, chosen: Sequence[_Chosen], spacing_s: float) -> float | None:
        """The step of means; None where all samples can be had."""
        if sum(part.sample_count for part in chosen) <= _MAX_RAW_SAMPLES:
            return None
        series_count = sum(part.series_count for part in chosen)
        least_s = self._length_s * series_count / _MAX_MEANS
        least_s = max(least_s, _MIN_STEP_SPACINGS * spacing_s)
        return float(next((step for step in _STEPS_S if step >= least_s), math.ceil(least_s)))

    # their samples

    def _raw(self, part: _Chosen) -> list[ServerSeries]:
        """All samples, a stretch at a time."""
        chunk_s = float(self._length_s)
        if part.sample_count > _CHUNK_SAMPLES:
            chunk_s = max(_MIN_CHUNK_S, chunk_s * _CHUNK_SAMPLES / part.sample_count)
        gathered = _Gathered(part)
        start_s = float(self.start_s)
        while start_s < self.end_s:
            # A stretch holds the samples after its start, up to its end.
            end_s = min(round(start_s + chunk_s, 3), self.end_s)
            asked = f"{part.query}[{max(1, round((end_s - start_s) * 1000))}ms]"
            try:
                data = self._server.ask_whole("query", query=asked, time=f"{end_s:.3f}")
            except TooLarge:
                if chunk_s <= _MIN_CHUNK_S:
                    raise
                chunk_s /= 2
                continue
            gathered.add(results(data), start_s, end_s)
            start_s = end_s
        return gathered.series()

    def _stepped(self, query: str, part: _Chosen, step_s: float) -> dict[_Key, SeriesSamples]:
        """The values of a query in steps, in as many answers as the server's limit asks for."""
        points = min(_MAX_RANGE_POINTS, max(1, _CHUNK_SAMPLES // max(part.series_count, 1)))
        gathered = _Gathered(part)
        number = 0
        count = math.floor(self._length_s / step_s)
        while number < count:
            last = min(number + points, count) - 1
            first_s = self.start_s + (number + 1) * step_s
            last_s = self.start_s + (last + 1) * step_s
            data = self._server.ask_whole(
                "query_range",
                query=query,
                start=f"{first_s:.3f}",
                end=f"{last_s:.3f}",
                step=f"{step_s:g}",
            )
            gathered.add(results(data), first_s - step_s / 2, last_s + step_s / 2)
            number = last + 1
        return gathered.by_key

    def _means(self, part: _Chosen, step_s: float, spacing_s: float) -> Iterator[ServerSeries]:
        """Mean watts of each step, with gaps where too few samples are."""
        unit = watts_of_one(part.metric)
        # Without the sample that ends the step before: some versions count both ends.
        window = f"{part.query}[{round(step_s * 1000) - 1}ms]"
        means = self._stepped(f"avg_over_time({window})", part, step_s)
        counts = self._stepped(f"count_over_time({window})", part, step_s)
        least = _MIN_STEP_SHARE * step_s / spacing_s
        step_count = math.floor(self._length_s / step_s)
        ends_s = [self.start_s + (n + 1) * step_s for n in range(step_count)]
        for key, series in sorted(means.items(), key=_by_labels):
            mean_at = _by_millisecond(series.samples)
            count_at = {}
            if key in counts:
                count_at = _by_millisecond(counts[key].samples)
            values = []
            for end_s in ends_s:
                moment = round(end_s, 3)
                watts = math.nan
                if count_at.get(moment, 0.0) >= least:
                    watts = mean_at.get(moment, math.nan) * unit
                values.append(watts)
            labels = {"__name__": part.metric, **series.labels}
            yield ServerSeries(labels, list(ends_s), values, is_mean=True)

    def _stepped_counters(self, part: _Chosen, step_s: float) -> Iterator[ServerSeries]:
        """The values of counters in steps, each at the moment at which it was scraped."""
        unit = watts_of_one(part.metric)
        values = self._stepped(part.query, part, step_s)
        moments = self._stepped(f"timestamp({part.query})", part, step_s)
        for key, series in sorted(values.items(), key=_by_labels):
            if key in moments:
                scraped = dict(moments[key].samples)
            else:
                scraped = {}
            by_moment: dict[float, float] = {}
            for moment, value in series.samples:
                at = scraped.get(moment, math.nan)
                if math.isfinite(at):
                    by_moment[at] = value * unit
            labels = {"__name__": part.metric, **series.labels}
            yield ServerSeries(labels, list(by_moment), list(by_moment.values()))


_Key = tuple[tuple[str, str], ...]


class _Gathered:
    """The samples of one metric, as they come answer by answer."""

    def __init__(self, part: _Chosen) -> None:
        self._part = part
        self.by_key: dict[_Key, SeriesSamples] = {}

    def add(self, entries: Sequence[Mapping[str, object]], since: float, until: float) -> None:
        """The samples of one answer."""
        part_samples = merged(samples_of(dict(entry), since, until, 1.0) for entry in entries)
        for series in part_samples:
            if not self._part.is_of_machine(series.labels):
                continue
            # Functions drop the metric's name.
            key = tuple(sorted(item for item in series.labels.items() if item[0] != "__name__"))
            known = self.by_key.get(key)
            if known is None:
                self.by_key[key] = series
                continue
            if known.samples:
                last = known.samples[-1][0]
            else:
                last = -math.inf
            known.samples.extend(sample for sample in series.samples if sample[0] > last)

    def series(self) -> list[ServerSeries]:
        """All of it, in the unit of a watt or a joule."""
        unit = watts_of_one(self._part.metric)
        found = []
        # Servers name them in any order: VictoriaMetrics in another one each time.
        for _, series in sorted(self.by_key.items(), key=_by_labels):
            labels = {"__name__": self._part.metric, **series.labels}
            times_s = [moment for moment, _ in series.samples]
            found.append(ServerSeries(labels, times_s, [v * unit for _, v in series.samples]))
        return found


def _by_labels(item: tuple[_Key, SeriesSamples]) -> _Key:
    return item[0]


def _by_millisecond(samples: Iterable[tuple[float, float]]) -> dict[float, float]:
    """Values by their moment in s: a server writes three digits."""
    return {round(moment, 3): value for moment, value in samples}


def _machine_matchers(
    series: Sequence[Mapping[str, str]],
    wanted: frozenset[str] | None,
) -> list[str]:
    """What picks the series of some machines, where one label names all of them."""
    labels = {machine_label(one) for one in series}
    if wanted is None or len(labels) != 1:
        return []
    (label,) = labels
    if label not in HOST_LABELS:
        return []
    names = sorted({one[label] for one in series})
    pattern = "|".join(literal(name) for name in names)
    return [f'{label}=~"{escaped(pattern)}"']
