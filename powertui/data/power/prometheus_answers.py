"""The series that a server of Prometheus, VictoriaMetrics or Graphite answers in JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from powertui.data.model import (
    Clock,
    Floats,
    Int64s,
)
from powertui.data.power import (
    column_times,
    times,
)
from powertui.data.power.notes import Notes
from powertui.data.power.prometheus_metrics import Metric, metric_value
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple


class _Answered(NamedTuple):
    """A series of an answer, by the server's clock."""

    labels: dict[str, str]
    ns: Int64s
    values: Floats


def answered_metrics(source: LogFile, notes: Notes) -> list[Metric]:
    """The series of a query's answer, on one zero."""
    answered: list[_Answered] = []
    for entry in _results(_answer(source, notes)):
        points = _points(entry, notes)
        if not points:
            continue
        pairs = [(metric_value(moment), metric_value(value)) for moment, value in points]
        moments, values = np.array(pairs).T
        column = column_times.from_numbers(moments, "time")
        is_possible = column.ok
        bad_count = len(pairs) - np.count_nonzero(is_possible)
        if bad_count:
            notes.say(f"{bad_count} points have an impossible time")
        if is_possible.any():
            labels = {str(key): str(value) for key, value in entry["metric"].items()}
            series = _Answered(
                labels=labels,
                ns=column.ns[is_possible],
                values=values[is_possible],
            )
            answered.append(series)
    zero = min((int(series.ns.min()) for series in answered), default=0)
    clock = Clock(zero, zero, times.ABSOLUTE, "Prometheus' time stamps")
    metrics = []
    for series in answered:
        since_zero = series.ns - zero
        metrics.append(Metric(series.labels, since_zero, series.values, clock))
    return metrics


def _answer(source: LogFile, notes: Notes) -> Any:
    """The JSON of an answer; of one that was cut off, the series before the cut."""
    try:
        body = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        from powertui.data.power import json_docs

        documents = json_docs.documents(source.text, notes)
        body = [document.value for document in documents if "metric" in document.value]
        if not body:
            raise UnreadableFile(
                source.path,
                f"is not complete JSON ({error})",
                hint="The answer may have been cut off. Fetch it again.",
            ) from None
        notes.say("the answer was cut off; the series before the cut are read")
    if isinstance(body, dict) and body.get("status") == "error":
        raise UnreadableFile(
            source.path,
            f"holds Prometheus' error {str(body.get('error', ''))[:200]!r}",
            hint="24 h at step 1 is too much for one query. Fetch it in parts.",
        )
    return body


def _results(body: Any) -> list[dict[str, Any]]:
    """The series of an answer, however much of what surrounds them was kept."""
    for wrapper in ("data", "result"):
        if isinstance(body, dict):
            body = body.get(wrapper, body)
    items = body if isinstance(body, list) else [body]
    entries = []
    for item in items:
        entry = _series_of_graphite(item)
        if isinstance(entry, dict) and isinstance(entry.get("metric"), dict):
            entries.append(entry)
    return entries


def _series_of_graphite(entry: Any) -> Any:
    """A series of Graphite, `{"target": …, "datapoints": [[value, time], …]}`, in Prometheus' form;
    any other as it is.
    """
    if not isinstance(entry, dict):
        return entry
    datapoints = entry.get("datapoints")
    if not isinstance(datapoints, list):
        return entry
    pairs = []
    for datapoint in datapoints:
        is_gap = isinstance(datapoint, list) and datapoint[:1] == [None]  # Graphite writes null
        if isinstance(datapoint, list) and not is_gap:
            pairs.append(datapoint[::-1])
    name = str(entry.get("target", ""))
    return {"metric": {"__name__": name}, "values": pairs}


def _points(entry: dict[str, Any], notes: Notes) -> list[list[Any]]:
    """The pairs of time and value of one series."""
    pairs: list[Any] = []
    values = entry.get("values")
    stamps_apart = entry.get("timestamps")
    if isinstance(values, list) and isinstance(stamps_apart, list):
        # VictoriaMetrics' export: two lists
        pairs = list(map(list, zip(stamps_apart, values, strict=False)))
    elif isinstance(values, list):
        pairs = values
    elif isinstance(entry.get("value"), list):
        pairs = [entry["value"]]
    good = list(filter(_is_point, pairs))
    bad_count = len(pairs) - len(good)
    if bad_count:
        notes.say(f"{bad_count} points are not pairs of time and value")
    return good


def _is_point(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    moment = metric_value(pair[0])
    return bool(np.isfinite(moment))
