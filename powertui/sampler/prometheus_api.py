"""Prometheus' HTTP interface: one question, and the samples of its answer.

Samples are asked for raw (a range vector), with the moments at which Prometheus scraped them. Its
`query_range` would lay them on a grid of its own and fill holes for up to five minutes.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import urlencode

from powertui.errors import AuthenticationFailed, SensorError
from powertui.sampler.http import Http, number

__all__ = ["SeriesSamples", "ask", "escaped", "means", "results", "samples_of"]


_MAX_NUMBER_CHARS = 64  # chosen: a double needs 25


class SeriesSamples(NamedTuple):
    """The samples of one series in a stretch of time."""

    labels: dict[str, str]
    samples: list[tuple[float, float]]  # (Unix s, watts)


def escaped(value: str) -> str:
    """A text as it is written between the quotes of a query."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def ask(http: Http, server: str, path: str, parameters: dict[str, Any]) -> tuple[Any, str]:
    """(the data of the answer, the server's Date). Raises SensorError, OSError."""
    answer = http.request("POST", path, form=urlencode(parameters))
    if answer.refused:
        raise SensorError(
            f"{server}: {answer.refused}.", hint="Check that this is a Prometheus server."
        )
    if answer.status in (401, 403):
        raise AuthenticationFailed(
            f"{server} refuses the request (status {answer.status}).",
            hint="Name a user with --user.",
        )
    if (
        answer.status != 200
        or not isinstance(answer.body, dict)
        or answer.body.get("status") != "success"
    ):
        cause = answer.body.get("error", "") if isinstance(answer.body, dict) else ""
        raise SensorError(
            f"{server} answers with status {answer.status}. {str(cause)[:300]}".strip(),
            hint="Check that this is a Prometheus server.",
        )
    return answer.body.get("data"), answer.headers.get("date", "")


def results(data: Any) -> list[dict[str, Any]]:
    """The series of an answer."""
    entries = data.get("result") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


def samples_of(entry: dict[str, Any], since: float, until: float, unit: float) -> SeriesSamples:
    """The samples of one series in a stretch of time; what is no sample is left out."""
    metric, pairs = entry.get("metric"), entry.get("values")
    labels = {}
    if isinstance(metric, dict):
        labels = {str(name): str(value) for name, value in metric.items()}
    samples = []
    for pair in pairs if isinstance(pairs, list) else ():
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        moment, value = number(pair[0]), pair[1]
        if moment is None or not isinstance(value, (str, int, float)):
            continue
        if since <= moment <= until:
            samples.append((moment, _float(value) * unit))
    return SeriesSamples(labels, samples)


def means(series: SeriesSamples, since: float) -> SeriesSamples:
    """Watts between each two values of a counter (J), at the time of the later one.

    Not a number where the counter stood still or was set back.
    """
    watts = []
    for (t_before, joules_before), (t, joules) in pairwise(series.samples):
        if t > t_before and t > since:
            energy = joules - joules_before if joules > joules_before else math.nan
            watts.append((t, energy / (t - t_before)))
    return series._replace(samples=watts)


def _float(value: str | float) -> float:
    """A value as Prometheus writes it: "NaN" and "+Inf" too. What is no number is NaN."""
    if isinstance(value, str) and len(value) >= _MAX_NUMBER_CHARS:
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan
