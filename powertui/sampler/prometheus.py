"""Power of many hosts from a Prometheus server: live, and what it has kept.

    prometheus://server:9090                                  the first power metric that it knows, all hosts
    prometheus://server:9090?instance=a|b                     only these hosts
    prometheus://server:9090?query=node_hwmon_power_average_watt{chip="x"}
    …&tls=1                                                   over HTTPS

Samples are taken raw (a range vector), with the moments at which Prometheus scraped them. Its `query_range` would lay them
on a grid of its own and fill holes for up to five minutes. Each sample is yielded once; a host whose samples stop has no value.
A metric of joules that counts up gives the mean between two samples, at the later one.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from powertui.errors import AuthenticationFailed, NotSupported, PowertuiError, SensorError, UsageError
from powertui.sampler.http import Http, TooLarge, basic, number
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.urls import Address, join_host_port

__all__ = ["METRICS", "PrometheusSource", "SeriesSamples", "chunks", "make"]

# Exporters' names for watts, the most telling first.
METRICS = (
    "ipmi_dcmi_power_consumption_watts",
    "redfish_chassis_power_powercontrol_power_consumed_watts",
    "ipmi_power_watts",
    "omnistat_vendor_power_watts",
    "node_hwmon_power_average_watt",
    "node_hwmon_power_watt",
    "DCGM_FI_DEV_POWER_USAGE",
    "nvidia_smi_power_draw_watts",
    "rocm_average_socket_power_watts",  # Omnistat
    "scaph_host_power_microwatts",  # Scaphandre
    "kepler_node_platform_watts",
    "kepler_node_platform_joules_total",  # Kepler before 0.10 has no watts
    "kepler_node_cpu_watts",
    "kepler_node_package_joules_total",
)
_MICRO = "_microwatts"  # a metric whose name ends so counts in µW
_COUNTER = "_joules_total"  # and one that ends so counts joules
_STILL = "the counter stood still or was set back"
_BEFORE = 3  # spacings: where a counter's value before the first is looked for
MOST_POINTS = 10_000  # of one series in one answer; the server refuses 11,000
_LOOKBACK = 300.0  # s: the first question, to learn how often is scraped
_SPACING = 60.0  # assumed between samples until it is known
_STALE = 3.5  # spacings without a sample
_LARGEST = 4 << 20  # bytes of one answer: 100,000 samples
_PATIENT = 5  # times the timeout, for answers about minutes and hours
_HISTORY = 64 << 20  # bytes of one answer about a long time
_CHANNELS = 10_000
_CLOCKS = 2.0  # s between our clock and the server's that is worth a note


class SeriesSamples(NamedTuple):
    """The samples of one series in a stretch of time."""

    labels: dict[str, str]
    samples: list[tuple[float, float]]  # (Unix s, watts)


def chunks(start: float, end: float, spacing: float) -> Iterator[tuple[float, float]]:
    """(end, length) of range vectors that hold at most MOST_POINTS samples each, oldest first, without overlap."""
    longest = max(spacing * MOST_POINTS, spacing)
    while start < end:
        length = min(longest, end - start)
        start += length
        yield start, length


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


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
            address.host, address.port or 9090, tls=tls, insecure=options.insecure, timeout=self._timeout, largest=_LARGEST
        )
        if options.user:
            self._http.headers["Authorization"] = basic(options.user, options.password)
        self.selector = ""
        self.spacing = _SPACING
        self._known: dict[tuple[tuple[str, str], ...], str] = {}  # labels → channel
        self._last: dict[str, float] = {}  # channel → time of the last sample that was yielded
        self._down = False

    # asking

    def _ask(self, path: str, **parameters: Any) -> Any:
        answer = self._http.request("POST", f"{self._prefix}/api/v1/{path}", form=urlencode(parameters))
        self._date = answer.headers.get("date", "")
        if answer.refused:
            raise SensorError(f"{self.name}: {answer.refused}.", hint="Check that this is a Prometheus server.")
        if answer.status in (401, 403):
            raise AuthenticationFailed(
                f"{self.name} refuses the request (status {answer.status}).", hint="Name a user with --user."
            )
        if answer.status != 200 or not isinstance(answer.body, dict) or answer.body.get("status") != "success":
            said = answer.body.get("error", "") if isinstance(answer.body, dict) else ""
            raise SensorError(
                f"{self.name} answers with status {answer.status}. {str(said)[:300]}".strip(),
                hint="Check that this is a Prometheus server.",
            )
        return answer.body.get("data")

    def _vectors(self, seconds: float, end: float) -> list[SeriesSamples]:
        """A range vector's raw samples."""
        before = _BEFORE * self.spacing if self._counts else 0.0
        data = self._ask("query", query=f"{self.selector}[{max(1, round((seconds + before) * 1000))}ms]", time=f"{end:.3f}")
        found = [_series(entry, end - seconds - before - 1, end + 1, self._unit) for entry in _results(data)]
        return [_means(series, end - seconds - 1) for series in found] if self._counts else found

    @property
    def _counts(self) -> bool:
        return self.selector.partition("{")[0].endswith(_COUNTER)

    @property
    def _unit(self) -> float:
        """Watts of one unit of the metric."""
        return 1e-6 if self.selector.partition("{")[0].endswith(_MICRO) else 1.0

    def _recent(self, seconds: float, end: float, shorter: Sequence[float]) -> list[SeriesSamples]:
        """The same, over a shorter time where so many series have too many samples."""
        for length in (seconds, *(s for s in shorter if s < seconds)):
            try:
                return self._vectors(length, end)
            except TooLarge as error:
                refused = error
        raise refused

    def open(self) -> Info:
        self._http.timeout = _PATIENT * self._timeout
        try:
            self.selector = self._choose()
            found = self._recent(_LOOKBACK, time.time(), (60.0, 15.0))
        except OSError as error:
            self.close()
            raise SensorError(f"{self.name} does not answer: {error}.", hint="Check the address. 9090 is the usual port.") from None
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
            fresh = time.time() - newest <= _STALE * self.spacing
            if channel := self._channel(series.labels):
                self._last[channel] = newest - 1e-3 if fresh else newest
        facts = {"query": self.selector, "scraped every": f"{self.spacing:g} s"}
        notes = self._clock_note()
        return Info("prometheus", str(self._address), "", self.channels, facts, notes)

    def _choose(self) -> str:
        matchers = ""
        if self._address.query.get("instance"):
            pattern = "|".join(f"{part}(:[0-9]+)?" for part in self._address.query["instance"].split("|"))
            matchers = f'{{instance=~"{_escaped(pattern)}"}}'
        query = self._address.query.get("query") or self._address.query.get("match")
        if query:
            if matchers and "{" in query:
                raise UsageError("prometheus: give either instance= or a query with its own {labels}.")
            return query + matchers
        for metric in METRICS:
            if _results(self._ask("query", query=f"count({metric}{matchers})")):
                return metric + matchers
        raise NotSupported(f"{self.name} has no power metric that powertui knows.", hint="Name one: prometheus://…?query=METRIC.")

    def _clock_note(self) -> tuple[str, ...]:
        try:
            off = parsedate_to_datetime(self._date).timestamp() - time.time()
        except (TypeError, ValueError):
            return ()
        if abs(off + 0.5) <= _CLOCKS:
            return ()
        return (
            f"The clock of {self.name} is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} ours; its samples carry its time.",
        )

    # series and channels

    def _learn(self, found: list[SeriesSamples]) -> None:
        gaps = [b[0] - a[0] for s in found for a, b in zip(s.samples, s.samples[1:], strict=False)]
        if gaps:
            self.spacing = max(round(statistics.median(gaps), 3), 0.001)
        shown = {"instance", *(k for s in found for k in s.labels if len({o.labels.get(k) for o in found}) > 1)} - {
            "__name__",
            "job",
        }
        channels = list(self.channels)
        for series in found:
            key = tuple(sorted(series.labels.items()))
            if key in self._known or len(self._known) >= _CHANNELS:
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
            host = series.labels.get("instance", "").rpartition(":")[0] or series.labels.get("instance", "")
            metric = series.labels.get("__name__", "")
            kind = "interval" if self._counts else "sampled"
            scope = _scope(metric, series.labels)
            channels.append(Channel(unique, _clean(host), scope, None, kind, _clean(metric), period_s=self.spacing))
        self.channels = tuple(channels)

    def _channel(self, labels: dict[str, str]) -> str:
        return self._known.get(tuple(sorted(labels.items())), "")

    # live

    def read(self) -> list[Reading]:
        stamp = Stamp.now()
        oldest = min(self._last.values(), default=stamp.t - _LOOKBACK)
        seconds = min(max(stamp.t - oldest, 2 * self.spacing), _LOOKBACK)
        try:
            found = self._recent(seconds, stamp.t, (60.0, 2 * self.spacing))
        except (OSError, SensorError) as error:
            self._down = True
            why = error.message.rstrip(".") if isinstance(error, SensorError) else str(error)
            t, mono, rtt = stamp.middle()
            return [Reading(t, mono, None, rtt, self.name, c.name, none(why)) for c in self.channels]
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
                    quality = OK if value is not None else none(_STILL if self._counts else "not a number")
                    out.append(Reading(moment, stamp.mono - (stamp.t - moment), value, rtt, self.name, channel, quality))
        for channel, last in self._last.items():
            if stamp.t - last > _STALE * self.spacing:
                why = none(f"no new sample for {stamp.t - last:.0f} s")
                out.append(Reading(stamp.t, stamp.mono, None, rtt, self.name, channel, why))
        return out

    # history

    def history(self, start: float, end: float) -> Iterator[SeriesSamples]:
        """The raw samples between two Unix times, in pieces that the server allows; a series comes once per piece."""
        self._http.timeout, self._http.largest = _PATIENT * self._timeout, _HISTORY
        for until, length in chunks(start, end, self.spacing):
            for series in self._vectors(length, until):
                inside = [s for s in series.samples if start <= s[0] < end or s[0] == end == until]
                if inside:
                    yield SeriesSamples(series.labels, inside)

    def overview(self, start: float, end: float, points: int) -> list[SeriesSamples]:
        """Means on a grid of at most so many points: for a first look at a long time."""
        self._http.timeout, self._http.largest = _PATIENT * self._timeout, _HISTORY
        step = max((end - start) / max(1, min(points, MOST_POINTS)), 1.0)
        how, within = ("rate", max(step, _BEFORE * self.spacing)) if self._counts else ("avg_over_time", step)
        query = f"{how}({self.selector}[{round(within * 1000)}ms])"
        data = self._ask("query_range", query=query, start=f"{start:.3f}", end=f"{end:.3f}", step=f"{step:.3f}")
        return [_series(entry, start, end + step, self._unit) for entry in _results(data)]

    def close(self) -> None:
        self._http.close()


def _results(data: Any) -> list[dict[str, Any]]:
    found = data.get("result") if isinstance(data, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _series(entry: dict[str, Any], since: float, until: float, unit: float) -> SeriesSamples:
    """What is no sample, and what lies outside of the time that was asked for, is left out."""
    metric, values = entry.get("metric"), entry.get("values")
    labels = {str(k): str(v) for k, v in metric.items()} if isinstance(metric, dict) else {}
    samples = []
    for pair in values if isinstance(values, list) else ():
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        moment, watts = number(pair[0]), pair[1]
        if moment is not None and since <= moment <= until and isinstance(watts, (str, int, float)):
            samples.append((moment, _watts(watts) * unit))
    return SeriesSamples(labels, samples)


def _means(series: SeriesSamples, since: float) -> SeriesSamples:
    """Watts between each two values of a counter (J), at the later one; not a number where it stood still or was set back."""
    pairs = zip(series.samples, series.samples[1:], strict=False)
    means = [(t, (joules - j) / (t - s) if joules > j else math.nan) for (s, j), (t, joules) in pairs if t > s]
    return series._replace(samples=[one for one in means if one[0] > since])


def _scope(metric: str, labels: dict[str, str]) -> str:
    """What part of a machine a metric is about, as far as its name says."""
    if any(word in metric for word in ("dcmi", "consumed", "omnistat_vendor_power", "kepler_node_platform")):
        return "unknown" if "mode" in labels else "node"  # Kepler before 0.10 tells idle and dynamic apart
    if any(word in metric for word in ("DCGM", "nvidia", "rocm", "vendor_accel")):
        return "gpu"
    if metric.startswith("kepler_node_"):  # what a package holds is told beside it
        zone = labels.get("zone", "package" if "package" in metric else "")
        return zone if zone in ("package", "dram") else "rail"
    return "unknown"


def _watts(value: str | float) -> float:
    """A value as Prometheus writes it: "NaN" and "+Inf" too. What is no number is NaN."""
    try:
        return float(value) if not isinstance(value, str) or len(value) < 64 else math.nan
    except (ValueError, OverflowError):
        return math.nan


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:120]


def make(address: Address, options: Options) -> PrometheusSource:
    if not address.host:
        raise UsageError("prometheus: needs a server.", hint="Write prometheus://server:9090.")
    return PrometheusSource(address, options)
