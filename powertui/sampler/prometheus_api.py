"""Prometheus' HTTP interface: one question, and the samples of its answer.

Samples are asked for raw (a range vector), with the moments at which Prometheus scraped them. Its
`query_range` would lay them on a grid of its own and fill holes for up to five minutes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from urllib.parse import urlencode

from powertui.errors import AuthenticationFailed, SensorError
from powertui.sampler.http import Http, number

__all__ = ["SeriesSamples", "ask", "escaped", "means", "results", "samples_of"]


class SeriesSamples(NamedTuple):
    """The samples of one series in a stretch of time."""

    labels: dict[str, str]
    samples: list[tuple[float, float]]  # (Unix s, watts)


def escaped(value: str) -> str:
    """A text as it stands between the quotes of a query."""
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
        said = answer.body.get("error", "") if isinstance(answer.body, dict) else ""
        raise SensorError(
            f"{server} answers with status {answer.status}. {str(said)[:300]}".strip(),
            hint="Check that this is a Prometheus server.",
        )
    return answer.body.get("data"), answer.headers.get("date", "")


def results(data: Any) -> list[dict[str, Any]]:
    """The series of an answer."""
    found = data.get("result") if isinstance(data, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def samples_of(entry: dict[str, Any], since: float, until: float, unit: float) -> SeriesSamples:
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


def means(series: SeriesSamples, since: float) -> SeriesSamples:
    """Watts between each two values of a counter (J), at the later one; not a number where it stood
    still or was set back.
    """
    pairs = zip(series.samples, series.samples[1:], strict=False)
    watts = [
        (t, (joules - j) / (t - s) if joules > j else math.nan)
        for (s, j), (t, joules) in pairs
        if t > s
    ]
    return series._replace(samples=[one for one in watts if one[0] > since])


def _watts(value: str | float) -> float:
    """A value as Prometheus writes it: "NaN" and "+Inf" too. What is no number is NaN."""
    try:
        return float(value) if not isinstance(value, str) or len(value) < 64 else math.nan
    except (ValueError, OverflowError):
        return math.nan
