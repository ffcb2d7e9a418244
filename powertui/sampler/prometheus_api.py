"""Prometheus' HTTP interface: one question, and the samples of its answer.

Samples are asked for raw (a range vector), with the moments at which Prometheus scraped them. Its
`query_range` would lay them on a grid of its own and fill holes for up to five minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode, urlsplit

from powertui.errors import AuthenticationFailed, SensorError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.sampler.http import Http, number
from powertui.sampler.urls import join_host_port

__all__ = [
    "Busy",
    "Parameters",
    "QueryAnswer",
    "SeriesSamples",
    "ask",
    "clock_ahead",
    "escaped",
    "labels_of",
    "literal",
    "means",
    "merged",
    "results",
    "samples_of",
]

Parameters = Mapping[str, str | Sequence[str]]

_MAX_NUMBER_CHARS = 64  # chosen: a double needs 25
_MAX_LABEL_CHARS = 4096  # chosen: no exporter has longer ones
_MAX_CAUSE_CHARS = 300  # of a server's own words in a message
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_CLOCK_TOLERANCE_S = 2.0  # between our clock and the server's: less is not worth a note


class SeriesSamples(NamedTuple):
    """The samples of one series in a stretch of time."""

    labels: dict[str, str]
    samples: list[tuple[float, float]]  # (Unix s, watts)


def escaped(value: str) -> str:
    """A text as it is written between the quotes of a query."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def literal(text: str) -> str:
    """A text as a pattern of RE2 that fits only itself."""
    return "".join(c if c.isalnum() or c in "_-:" else f"\\{c}" for c in text)


class QueryAnswer(NamedTuple):
    """What came back for one question."""

    data: Any
    date: str  # the server's clock, as it writes it
    missing: str = ""  # why it says itself that its answer is not whole


class Busy(SensorError):
    """The server has no time for this question now."""

    def __init__(self, message: str, wait_s: float) -> None:
        super().__init__(message, hint="Ask again later, or for less.")
        self.wait_s = wait_s  # what it asks to wait, or what is usual


# Asked of every server, for those that would rather answer with a part (Thanos, VictoriaMetrics),
# or with a series for each of two servers that scrape the same exporter (Thanos).
_WHOLE_ANSWERS = {"partial_response": "false", "deny_partial_response": "1", "dedup": "true"}
_BUSY = {
    429: "got too many requests and refuses more for now (status 429)",
    503: "is starting or overloaded and refuses requests for now (status 503)",
}
_TOO_MUCH = (400, 422)  # of points or samples: Prometheus' own limits
_ELSEWHERE = (301, 302, 303, 307, 308)
_USUAL_WAIT_S = 1.0
_MAX_WAIT_S = 10.0


def ask(http: Http, server: str, path: str, parameters: Parameters) -> QueryAnswer:
    """One question. Raises SensorError (Busy, AuthenticationFailed), OSError."""
    form = urlencode({**parameters, **_WHOLE_ANSWERS}, doseq=True)
    reply = http.request("POST", path, form=form)
    if reply.status in _BUSY:
        wait_s = number(reply.headers.get("retry-after"))
        if wait_s is None:
            wait_s = _USUAL_WAIT_S
        else:
            wait_s = min(max(wait_s, 0.0), _MAX_WAIT_S)
        raise Busy(f"{server} {_BUSY[reply.status]}.", wait_s)
    if reply.status in (401, 403):  # a proxy before the server answers with a page
        raise AuthenticationFailed(
            f"{server} refuses the request (status {reply.status}).",
            hint="Name a user: --user with --source, prometheus://USER@server with --power.",
        )
    if reply.status in _ELSEWHERE and (target := _server_in(reply.headers.get("location", ""))):
        # A login is sent to no server that nobody named.
        raise SensorError(
            f"{server} sends requests on to {target} (status {reply.status}).",
            hint="Name that address if it is the server; a login page has to be passed first.",
        )
    if reply.refused:
        page = "html" in reply.headers.get("content-type", "").lower()
        what = "a web page, not an answer of Prometheus" if page else reply.refused
        raise SensorError(
            f"{server}: {what} (status {reply.status}).",
            hint="Check that this is a Prometheus server, and no proxy asks for a login first.",
        )
    if isinstance(reply.body, dict):
        body = reply.body
    else:
        body = {}
    if reply.status != 200 or body.get("status") != "success":
        cause = plain(str(body.get("error", "")), _MAX_CAUSE_CHARS)
        if cause and reply.status in _TOO_MUCH:
            raise SensorError(
                f"{server} refuses the question (status {reply.status}): {cause.rstrip('.')}.",
                hint="Ask for less: name some hosts, prometheus://…?instance=a|b.",
            )
        if reply.status == 200 and not cause:
            cause = "Its answer is empty." if reply.body is None else "It is not Prometheus' API."
        raise SensorError(
            f"{server} answers with status {reply.status}. {cause}".strip(),
            hint="Check that this is a Prometheus server.",
        )
    return QueryAnswer(body.get("data"), reply.headers.get("date", ""), _missing(body))


def _server_in(location: str) -> str:
    """The server that an address names, without login, path and question; "" for none."""
    try:
        parts = urlsplit(location)
        if not parts.hostname or parts.scheme not in ("http", "https"):
            return ""
        return plain(
            f"{parts.scheme}://{join_host_port(parts.hostname, parts.port)}", _MAX_CAUSE_CHARS
        )
    except ValueError:
        return ""


def _missing(body: dict[str, Any]) -> str:
    """Why an answer is not whole, in the server's words; "" of one that is."""
    warnings = body.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        if isinstance(warning, str) and not warning.startswith("PromQL"):  # of the question
            return plain(warning, _MAX_CAUSE_CHARS)
    if body.get("isPartial") is True:
        return "some of its stores did not answer"
    return ""


def results(data: Any) -> list[dict[str, Any]]:
    """The series of an answer. One whose labels cannot be read is nobody's, and left out."""
    if isinstance(data, dict):
        entries = data.get("result")
    else:
        entries = None
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict) and _has_labels(entry)]


def _has_labels(entry: dict[str, Any]) -> bool:
    metric = entry.get("metric")
    if not isinstance(metric, dict):
        return False
    return all(
        isinstance(value, str) and len(value) <= _MAX_LABEL_CHARS for value in metric.values()
    )


def labels_of(metric: Any) -> dict[str, str]:
    """The labels of a series; what is no text is no label."""
    if not isinstance(metric, dict):
        return {}
    return {name: value for name, value in metric.items() if isinstance(value, str)}


def samples_of(entry: dict[str, Any], since: float, until: float, unit: float) -> SeriesSamples:
    """The samples of one series in a stretch of time, by time; what is no sample is left out.

    A moment with two different values has none: nobody knows which is right.
    """
    pairs = entry.get("values")
    by_moment: dict[float, float] = {}
    last, is_sorted = -math.inf, True
    for pair in pairs if isinstance(pairs, list) else ():
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        moment = _moment(pair[0])
        value = _sample_value(pair[1])
        if moment is None or not since <= moment <= until:
            continue
        value *= unit
        if moment in by_moment and by_moment[moment] != value:
            value = math.nan
        by_moment[moment] = value
        is_sorted = is_sorted and moment >= last
        last = moment
    samples = list(by_moment.items())
    return SeriesSamples(labels_of(entry.get("metric")), samples if is_sorted else sorted(samples))


def _moment(value: Any) -> float | None:
    """Unix seconds as Prometheus writes them: a JSON number."""
    if isinstance(value, (int, float)):
        return number(value)
    return None


def _sample_value(value: Any) -> float:
    """A value as Prometheus writes it, a number in quotes: NaN of anything else.

    Python would take "1_000", "\u0661" and true for numbers as well.
    """
    if not isinstance(value, str) or len(value) > _MAX_NUMBER_CHARS:
        return math.nan
    if not _NUMBER.fullmatch(value):
        return math.nan
    result = float(value)
    return result if math.isfinite(result) else math.nan


def merged(all_series: Iterable[SeriesSamples]) -> list[SeriesSamples]:
    """One series for each set of labels. Where two of one set differ, neither is believed."""
    by_labels: dict[tuple[tuple[str, str], ...], SeriesSamples] = {}
    for series in all_series:
        key = tuple(sorted(series.labels.items()))
        known = by_labels.get(key)
        if known is not None:
            values = dict(known.samples)
            for moment, value in series.samples:
                if values.get(moment, value) == value:
                    values[moment] = value
                else:
                    values[moment] = math.nan
            series = series._replace(samples=sorted(values.items()))
        by_labels[key] = series
    return list(by_labels.values())


def means(series: SeriesSamples, since: float) -> SeriesSamples:
    """Watts between each two values of a counter (J), at the time of the later one.

    Not a number where the counter stood still or was set back.
    """
    watts = []
    for (t_before, joules_before), (t, joules) in pairwise(series.samples):
        if t > t_before and t > since:
            if joules > joules_before:
                energy = joules - joules_before
            else:
                energy = math.nan
            watts.append((t, energy / (t - t_before)))
    return series._replace(samples=watts)


def clock_ahead(date: str, asked_s: float, answered_s: float) -> float:
    """How far a server's clock is ahead of ours (s), by the Date of its answer.

    0 where the two may agree, and where it writes none.
    """
    try:
        theirs = parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return 0.0
    # The Date is cut to seconds, and was written at some moment between question and answer.
    least = theirs - answered_s
    most = theirs + 1.0 - asked_s
    if least <= _CLOCK_TOLERANCE_S and most >= -_CLOCK_TOLERANCE_S:
        return 0.0
    return (least + most) / 2
