"""Power of many hosts from a Prometheus server.

    prometheus://server:9090                 the first power metric that it knows, all hosts
    prometheus://server:9090?instance=a|b    only these hosts
    prometheus://server:9090?query=node_hwmon_power_average_watt{chip="x"}
    …&tls=1                                  over HTTPS
    …&group=LABEL                            the label that names a machine's rack

Each sample is yielded once, at the moment at which Prometheus scraped it; a host whose samples stop
has no value. A metric of joules that counts up gives the mean between two samples, at the later
one.
"""

from __future__ import annotations

import itertools
import re
import statistics
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from powertui.errors import NotSupported, PowertuiError, SensorError, UsageError
from powertui.power_server import HOST_LABELS
from powertui.sampler.http import TooLarge, number
from powertui.sampler.prometheus_api import SeriesSamples, means, merged, results, samples_of
from powertui.sampler.prometheus_hosts import machine_label
from powertui.sampler.prometheus_metrics import METRICS, counts_joules, scope_of, watts_of_one
from powertui.sampler.prometheus_relabeled import Relabeled
from powertui.sampler.prometheus_server import PrometheusConnection, selector
from powertui.sampler.source import AnswerTime, Channel, Info, Options, Reading, Stamp
from powertui.sampler.urls import Address

__all__ = ["PrometheusSource", "make"]

_NOT_INCREASED = "the counter stood still or was set back"
_LOOKBACK_S = 300.0  # of the first question, which shows how often the server scrapes
_DEFAULT_SPACING_S = 60.0  # assumed between two samples until that is known
_COUNTER_LOOKBACK_SPACINGS = 3  # in which a counter's value before the first one is looked for
_STALE_SPACINGS = 3.5  # without a sample a series has no value: three scrapes may fail
# Where an answer would be larger, only the last minute is asked for, then less.
_SHORT_LOOKBACK_S = 60.0
_SHORTEST_LOOKBACK_S = 15.0
# From so many channels on, a question has its price: 1,000 hosts × 3 series take 60 ms of a core,
# also where none has news (2026-11-28). They are asked once between two scrapes.
_FLEET_CHANNELS = 200
_OPENING_TIMEOUT_FACTOR = 5  # an answer about minutes takes longer than one about seconds
# Labels that sites use for a machine's rack, before that of its part of the hall.
_RACK_LABELS = ("rack", "rack_id", "rack_name", "cabinet", "chassis", "row", "zone", "room")
_MAX_CHANNELS = 10_000  # chosen, far above any cluster that one recording is for
_MIN_TIMEOUT_S = 0.5  # a query is computed before it is answered


class PrometheusSource:
    min_period = 0.2

    def __init__(self, address: Address, options: Options) -> None:
        self._address = address
        self.channels: tuple[Channel, ...] = ()
        self.reconnects = 0
        self._timeout = max(options.timeout, _MIN_TIMEOUT_S)
        self._server = PrometheusConnection(address, options, self._timeout)
        self.name = self._server.name
        self.selector = ""
        self._counts = False  # the metric counts joules
        self._unit = 1.0  # watts, or joules, of one unit of the metric
        self.spacing = _DEFAULT_SPACING_S
        self._series_count = 0.0  # as the server counts them; 0 until it was asked
        self._channel_names: dict[tuple[tuple[str, str], ...], str] = {}  # by labels
        self._used_names: set[str] = set()
        named_group = address.query.get("group")
        self._group_labels = (named_group,) if named_group else _RACK_LABELS
        self._last: dict[str, float] = {}  # channel → time of the last sample that was yielded
        self._down = False
        self._relabeled = Relabeled()

    # asking

    def _vectors(self, seconds: float, end: float) -> list[SeriesSamples]:
        """A range vector's raw samples."""
        before = _COUNTER_LOOKBACK_SPACINGS * self.spacing if self._counts else 0.0
        range_ms = max(1, round((seconds + before) * 1000))
        data = self._server.ask("query", query=f"{self.selector}[{range_ms}ms]", time=f"{end:.3f}")
        # A second more on both sides: the server's clock is not ours.
        since = end - seconds - 1
        until = end + 1
        all_series = self._relabeled.sensors(
            merged(samples_of(entry, since - before, until, self._unit) for entry in results(data))
        )
        if not self._counts:
            return all_series
        return [means(series, since) for series in all_series]

    def _recent(self, seconds: float, end: float, shorter: Sequence[float]) -> list[SeriesSamples]:
        """The same, over a shorter time where so many series have too many samples."""
        for length in (seconds, *(s for s in shorter if s < seconds)):
            try:
                return self._vectors(length, end)
            except TooLarge as error:
                refused = error
        raise refused

    def open(self) -> Info:
        self._server.http.timeout = _OPENING_TIMEOUT_FACTOR * self._timeout
        try:
            self.selector = self._choose()
            self._counts, self._unit = counts_joules(self.selector), watts_of_one(self.selector)
            recent = self._first_samples()
        except OSError as error:
            self.close()
            raise self._server.unreachable(error) from None
        except PowertuiError:
            self.close()
            raise
        if not recent:
            self.close()
            raise NotSupported(
                f"{self.name} has no sample of {self.selector} in the last five minutes.",
                hint="Check that the exporter is running.",
            )
        self._server.http.timeout = self._timeout
        self._learn(recent)
        if len(self.channels) > _FLEET_CHANNELS:
            # Each question costs the labels of all series, also where none of them has news.
            self.min_period = max(self.min_period, self.spacing)
        for series in recent:
            if series.samples:
                newest = series.samples[-1][0]
            else:
                newest = 0.0
            if self._server_time(time.time()) - newest <= _STALE_SPACINGS * self.spacing:
                newest -= 1e-3  # a fresh sample is the first to be yielded
            if channel := self._channel(series.labels):
                self._last[channel] = newest
        facts = {"query": self.selector, "scraped every": f"{self.spacing:g} s"}
        address = str(self._address)
        return Info(
            source="prometheus",
            url=address,
            host="",
            channels=self.channels,
            facts=facts,
            notes=self._notes(),
        )

    def _first_samples(self) -> list[SeriesSamples]:
        """What shows the channels, and how often they are scraped."""
        now = self._server_time(time.time())
        shorter = (_SHORT_LOOKBACK_S, _SHORTEST_LOOKBACK_S)
        if self._series_count > _FLEET_CHANNELS:  # five minutes of so many are too much anyway
            recent = self._recent(_SHORT_LOOKBACK_S, now, shorter)
            if any(series.samples for series in recent):
                return recent
        return self._recent(_LOOKBACK_S, now, shorter)

    def _server_time(self, our_time: float) -> float:
        """What the server's clock shows at a moment of ours."""
        return our_time + self._server.ahead_s

    def _choose(self) -> str:
        if named := self._server.named_selector():
            return named
        for metric in METRICS:
            chosen = selector(metric, self._server.matchers())
            counted = results(self._server.ask("query", query=f"count({chosen})"))
            if counted:
                self._series_count = _count_in(counted[0])
                return chosen
        raise NotSupported(
            f"{self.name} has no power metric that powertui knows.",
            hint="Name one: prometheus://…?query=METRIC.",
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if ahead_s := self._server.ahead_s:
            direction = "ahead of" if ahead_s > 0 else "behind"
            notes.append(
                f"The clock of {self.name} is {abs(ahead_s):.0f} s {direction} ours; the times of "
                "its samples are corrected by that."
            )
        if self._server.missing:
            notes.append(
                f"{self.name} reports an incomplete answer: {self._server.missing}. "
                "Hosts may be missing."
            )
        return tuple(notes)

    # series and channels

    def _learn(self, all_series: list[SeriesSamples]) -> None:
        """Take the spacing of the samples, and a channel for each series that is new."""
        gaps: list[float] = []
        for series in all_series:
            gaps += [after[0] - before[0] for before, after in pairwise(series.samples)]
        if gaps:
            self.spacing = max(round(statistics.median(gaps), 3), 0.001)
        shown = _labels_that_differ(all_series) - {"__name__", "job", "instance", *HOST_LABELS}
        shown -= set(self._group_labels)  # a machine has one rack
        channels = list(self.channels)
        for series in all_series:
            key = tuple(sorted(series.labels.items()))
            if key in self._channel_names or len(self._channel_names) >= _MAX_CHANNELS:
                continue
            name = self._unique_name(series.labels, shown)
            self._channel_names[key] = name
            channels.append(self._new_channel(name, series.labels))
        self.channels = tuple(channels)

    def _unique_name(self, labels: dict[str, str], shown: set[str]) -> str:
        parts = [labels.get(machine_label(labels), "")]
        parts += [value for label, value in sorted(labels.items()) if label in shown]
        name = _clean(" ".join(filter(None, parts)))
        if not name:
            name = f"series {len(self._channel_names) + 1}"
        unique = name
        copies = itertools.count(2)
        while unique in self._used_names:
            unique = f"{name} #{next(copies)}"
        self._used_names.add(unique)
        return unique

    def _new_channel(self, name: str, labels: dict[str, str]) -> Channel:
        machine = labels.get(machine_label(labels), "")
        metric = labels.get("__name__", "")
        return Channel(
            name=name,
            host=_clean(re.sub(r":[0-9]{1,5}$", "", machine)),
            scope=scope_of(metric, labels),
            kind="interval" if self._counts else "sampled",
            note=_clean(metric),
            period_s=self.spacing,
            group=_clean(next((labels[name] for name in self._group_labels if name in labels), "")),
        )

    def _channel(self, labels: dict[str, str]) -> str:
        return self._channel_names.get(tuple(sorted(labels.items())), "")

    # live

    def read(self) -> list[Reading]:
        stamp = Stamp.now()
        now = self._server_time(stamp.t)
        oldest = min(self._last.values(), default=now - _LOOKBACK_S)
        seconds = min(max(now - oldest, 2 * self.spacing), _LOOKBACK_S)
        try:
            recent = self._recent(seconds, now, (_SHORT_LOOKBACK_S, 2 * self.spacing))
        except (OSError, SensorError) as error:
            self._down = True
            if isinstance(error, SensorError):
                why = error.message.rstrip(".")
            else:
                why = str(error)
            answered = stamp.middle()
            return [answered.gap(self.name, channel.name, why) for channel in self.channels]
        if self._down:
            self._down = False
            self.reconnects += 1
        self._learn(recent)
        rtt = stamp.middle().rtt
        readings: list[Reading] = []
        for series in recent:
            readings += self._new_readings(series, stamp, rtt)
        asked = AnswerTime(stamp.t, stamp.mono, rtt)
        for channel_name, last in self._last.items():
            age = now - last
            if age > _STALE_SPACINGS * self.spacing:
                readings.append(
                    asked.gap(self.name, channel_name, f"no new sample for {age:.0f} s")
                )
        return readings

    def _new_readings(self, series: SeriesSamples, stamp: Stamp, rtt: float) -> list[Reading]:
        """The samples that were not yielded before, each at the moment of its scrape."""
        channel = self._channel(series.labels)
        if not channel:
            return []
        readings = []
        for moment, sample in series.samples:
            if moment <= self._last.get(channel, 0.0):
                continue
            self._last[channel] = moment
            our_moment = moment - self._server.ahead_s
            scraped = AnswerTime(our_moment, stamp.mono - (stamp.t - our_moment), rtt)
            watts = number(sample)
            if watts is None:
                why = _NOT_INCREASED if self._counts else "not a number"
                readings.append(scraped.gap(self.name, channel, why))
            else:
                readings.append(scraped.reading(self.name, channel, watts))
        return readings

    def close(self) -> None:
        self._server.close()


def _count_in(entry: dict[str, Any]) -> float:
    """The number that a query for a count gave; 0 where it is none."""
    pair = entry.get("value")
    if not isinstance(pair, list) or len(pair) != 2:
        return 0.0
    return number(pair[1]) or 0.0


def _labels_that_differ(all_series: list[SeriesSamples]) -> set[str]:
    """The labels by which one series is told from another."""
    labels = {label for series in all_series for label in series.labels}
    return {
        label for label in labels if len({series.labels.get(label) for series in all_series}) > 1
    }


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:120]


def make(address: Address, options: Options) -> PrometheusSource:
    if not address.host:
        raise UsageError("prometheus: needs a server.", hint="Write prometheus://server:9090.")
    return PrometheusSource(address, options)
