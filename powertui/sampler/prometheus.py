"""Power of many hosts from a Prometheus server.

    prometheus://server:9090                 the first power metric that it knows, all hosts
    prometheus://server:9090?instance=a|b    only these hosts
    prometheus://server:9090?query=node_hwmon_power_average_watt{chip="x"}
    …&tls=1                                  over HTTPS

Each sample is yielded once, at the moment at which Prometheus scraped it; a host whose samples stop
has no value. A metric of joules that counts up gives the mean between two samples, at the later
one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from powertui.errors import NotSupported, PowertuiError, SensorError, UsageError
from powertui.sampler import prometheus_api
from powertui.sampler.http import Http, TooLarge, basic, number
from powertui.sampler.prometheus_api import SeriesSamples, escaped, means, results, samples_of
from powertui.sampler.prometheus_metrics import METRICS, counts_joules, scope_of, watts_of_one
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.urls import Address, join_host_port

__all__ = ["PrometheusSource", "make"]

_NOT_INCREASED = "the counter stood still or was set back"
_COUNTER_LOOKBACK_SPACINGS = 3  # spacings: where a counter's value before the first is looked for
_LOOKBACK_S = 300.0  # s: the first question, to learn how often is scraped
_DEFAULT_SPACING_S = 60.0  # assumed between samples until it is known
_STALE_SPACINGS = 3.5  # spacings without a sample
_MAX_ANSWER_BYTES = 4 << 20  # bytes of one answer: 100,000 samples
_OPENING_TIMEOUT_FACTOR = 5  # times the timeout, for answers about minutes
_MAX_CHANNELS = 10_000
_CLOCK_OFFSET_S = 2.0  # s between our clock and the server's that is worth a note


class PrometheusSource:
    min_period = 0.2

    def __init__(self, address: Address, options: Options) -> None:
        self._options, self._address = options, address
        self.name = join_host_port(address.host, address.port)
        self.channels: tuple[Channel, ...] = ()
        self.reconnects = 0
        tls = address.query.get("tls") == "1"
        self._prefix = address.path.rstrip("/")
        self._timeout = max(options.timeout, 0.5)
        self._http = Http(
            address.host,
            address.port or 9090,
            tls=tls,
            insecure=options.insecure,
            timeout=self._timeout,
            largest=_MAX_ANSWER_BYTES,
        )
        if options.user:
            self._http.headers["Authorization"] = basic(options.user, options.password)
        self.selector = ""
        self._counts, self._unit = False, 1.0  # joules; watts of one unit of the metric
        self.spacing = _DEFAULT_SPACING_S
        self._known: dict[tuple[tuple[str, str], ...], str] = {}  # labels → channel
        self._last: dict[str, float] = {}  # channel → time of the last sample that was yielded
        self._down = False

    # asking

    def _ask(self, path: str, **parameters: Any) -> Any:
        data, self._date = prometheus_api.ask(
            self._http, self.name, f"{self._prefix}/api/v1/{path}", parameters
        )
        return data

    def _vectors(self, seconds: float, end: float) -> list[SeriesSamples]:
        """A range vector's raw samples."""
        before = _COUNTER_LOOKBACK_SPACINGS * self.spacing if self._counts else 0.0
        data = self._ask(
            "query",
            query=f"{self.selector}[{max(1, round((seconds + before) * 1000))}ms]",
            time=f"{end:.3f}",
        )
        found = [
            samples_of(entry, end - seconds - before - 1, end + 1, self._unit)
            for entry in results(data)
        ]
        return [means(series, end - seconds - 1) for series in found] if self._counts else found

    def _recent(self, seconds: float, end: float, shorter: Sequence[float]) -> list[SeriesSamples]:
        """The same, over a shorter time where so many series have too many samples."""
        for length in (seconds, *(s for s in shorter if s < seconds)):
            try:
                return self._vectors(length, end)
            except TooLarge as error:
                refused = error
        raise refused

    def open(self) -> Info:
        self._http.timeout = _OPENING_TIMEOUT_FACTOR * self._timeout
        try:
            self.selector = self._choose()
            self._counts, self._unit = counts_joules(self.selector), watts_of_one(self.selector)
            found = self._recent(_LOOKBACK_S, time.time(), (60.0, 15.0))
        except OSError as error:
            self.close()
            raise SensorError(
                f"{self.name} does not answer: {error}.",
                hint="Check the address. 9090 is the usual port.",
            ) from None
        except PowertuiError:
            self.close()
            raise
        if not found:
            self.close()
            raise NotSupported(
                f"{self.name} has no sample of {self.selector} in the last five minutes.",
                hint="Check that the exporter is running.",
            )
        self._http.timeout = self._timeout
        self._learn(found)
        for series in found:  # the newest sample, if it is fresh, and then what comes
            newest = series.samples[-1][0] if series.samples else 0.0
            fresh = time.time() - newest <= _STALE_SPACINGS * self.spacing
            if channel := self._channel(series.labels):
                self._last[channel] = newest - 1e-3 if fresh else newest
        facts = {"query": self.selector, "scraped every": f"{self.spacing:g} s"}
        notes = self._clock_note()
        return Info("prometheus", str(self._address), "", self.channels, facts, notes)

    def _choose(self) -> str:
        matchers = ""
        if self._address.query.get("instance"):
            pattern = "|".join(
                f"{part}(:[0-9]+)?" for part in self._address.query["instance"].split("|")
            )
            matchers = f'{{instance=~"{escaped(pattern)}"}}'
        query = self._address.query.get("query") or self._address.query.get("match")
        if query:
            if matchers and "{" in query:
                raise UsageError(
                    "prometheus: give either instance= or a query with its own {labels}."
                )
            return query + matchers
        for metric in METRICS:
            if results(self._ask("query", query=f"count({metric}{matchers})")):
                return metric + matchers
        raise NotSupported(
            f"{self.name} has no power metric that powertui knows.",
            hint="Name one: prometheus://…?query=METRIC.",
        )

    def _clock_note(self) -> tuple[str, ...]:
        try:
            off = parsedate_to_datetime(self._date).timestamp() - time.time()
        except (TypeError, ValueError):
            return ()
        if abs(off + 0.5) <= _CLOCK_OFFSET_S:
            return ()
        return (
            (
                f"The clock of {self.name} is {abs(off):.0f} s "
                f"{'ahead of' if off > 0 else 'behind'} ours; its samples carry its time."
            ),
        )

    # series and channels

    def _learn(self, found: list[SeriesSamples]) -> None:
        gaps = [b[0] - a[0] for s in found for a, b in zip(s.samples, s.samples[1:], strict=False)]
        if gaps:
            self.spacing = max(round(statistics.median(gaps), 3), 0.001)
        shown = {
            "instance",
            *(k for s in found for k in s.labels if len({o.labels.get(k) for o in found}) > 1),
        } - {
            "__name__",
            "job",
        }
        channels = list(self.channels)
        for series in found:
            key = tuple(sorted(series.labels.items()))
            if key in self._known or len(self._known) >= _MAX_CHANNELS:
                continue
            parts = [series.labels.get("instance", "")] + [
                v for k, v in sorted(series.labels.items()) if k in shown and k != "instance"
            ]
            name = _clean(" ".join(p for p in parts if p)) or f"series {len(self._known) + 1}"
            taken = set(self._known.values())
            unique, number_ = name, 2
            while unique in taken:
                unique, number_ = f"{name} #{number_}", number_ + 1
            self._known[key] = unique
            host = series.labels.get("instance", "").rpartition(":")[0] or series.labels.get(
                "instance", ""
            )
            metric = series.labels.get("__name__", "")
            kind = "interval" if self._counts else "sampled"
            scope = scope_of(metric, series.labels)
            channels.append(
                Channel(
                    unique, _clean(host), scope, None, kind, _clean(metric), period_s=self.spacing
                )
            )
        self.channels = tuple(channels)

    def _channel(self, labels: dict[str, str]) -> str:
        return self._known.get(tuple(sorted(labels.items())), "")

    # live

    def read(self) -> list[Reading]:
        stamp = Stamp.now()
        oldest = min(self._last.values(), default=stamp.t - _LOOKBACK_S)
        seconds = min(max(stamp.t - oldest, 2 * self.spacing), _LOOKBACK_S)
        try:
            found = self._recent(seconds, stamp.t, (60.0, 2 * self.spacing))
        except (OSError, SensorError) as error:
            self._down = True
            why = error.message.rstrip(".") if isinstance(error, SensorError) else str(error)
            t, mono, rtt = stamp.middle()
            return [
                Reading(t, mono, None, rtt, self.name, c.name, none(why)) for c in self.channels
            ]
        if self._down:
            self._down = False
            self.reconnects += 1
        self._learn(found)
        _, _, rtt = stamp.middle()
        out: list[Reading] = []
        for series in found:
            channel = self._channel(series.labels)
            for moment, watts in series.samples if channel else ():
                if moment > self._last.get(channel, 0.0):
                    self._last[channel] = moment
                    value = number(watts)
                    quality = (
                        OK
                        if value is not None
                        else none(_NOT_INCREASED if self._counts else "not a number")
                    )
                    out.append(
                        Reading(
                            moment,
                            stamp.mono - (stamp.t - moment),
                            value,
                            rtt,
                            self.name,
                            channel,
                            quality,
                        )
                    )
        for channel, last in self._last.items():
            if stamp.t - last > _STALE_SPACINGS * self.spacing:
                why = none(f"no new sample for {stamp.t - last:.0f} s")
                out.append(Reading(stamp.t, stamp.mono, None, rtt, self.name, channel, why))
        return out

    def close(self) -> None:
        self._http.close()


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:120]


def make(address: Address, options: Options) -> PrometheusSource:
    if not address.host:
        raise UsageError("prometheus: needs a server.", hint="Write prometheus://server:9090.")
    return PrometheusSource(address, options)
