"""What the columns of a table are called, where its header does not say it plainly.

MLflow keeps a file for each metric, `metrics/system/gpu_0_power_usage_watts`, with rows of
milliseconds, value and step. TensorBoard saves a scalar as `Wall time,Step,Value` under any name.
collectd writes `epoch,value` into `power-total-2026-11-20`. Grafana calls a series without an alias
by its selector, `power_watts{gpu="0"}`. `nvidia-smi stats` writes rows of a GPU, what was read,
microseconds and the reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from powertui.data.power import table, units
from powertui.patterns import late_pattern

_MLFLOW_ROW = late_pattern(r"\d{13} -?[\d.]{1,20}(?:[eE][-+]?\d{1,3})? \d{1,9}")
_NVIDIA_STATS_ROW = late_pattern(
    r"\d{1,3}, {0,3}(?:pwrDraw|temp|[a-z]{1,4}Util|[a-z]{1,5}Clk|viol[A-Z][a-z]+|xidEvent) {0,3}, "
    r"{0,3}\d{13,16}, {0,3}-?[\d.]{1,20}"
)
_COLLECTD_HEADER = ("epoch", "value")
_TENSORBOARD_HEADER = ("wall time", "step", "value")
_JSON = late_pattern(r"\s*(?:\{\s*\"|\[\s*[\[{])")
_MEMBER = late_pattern(r'"([^"\\]{1,60})"\s*:')
_COLLECTD_NAME = late_pattern(r"(power(?:-.{1,80}?)?)-\d{4}-\d\d-\d\d")


def table_layout(head: str, path: str) -> table.Shape | None:
    """How a table is laid out; a file of one metric has the metric's name."""
    layout = table.shape(head)
    if layout is None:
        return None
    lines = head.split("\n", layout.first + 1)
    first_row = ""
    if len(lines) > layout.first:
        first_row = lines[layout.first].strip()
    return _named_by_file(layout, first_row, path)


def _named_by_file(layout: table.Shape, first_row: str, path: str) -> table.Shape:
    name = Path(path).name
    if layout.names == _COLLECTD_HEADER:
        collectd = _COLLECTD_NAME.fullmatch(name)
        if collectd is None:
            return layout
        # collectd's type `power` is in watts.
        return replace(layout, names=("epoch", f"{collectd[1]} [W]"))
    lowered = tuple(map(str.lower, layout.names))
    if lowered == _TENSORBOARD_HEADER:
        metric, _, _ = name.partition(".csv")
        names = (*layout.names[:2], metric)
        return _with_metric(layout, names, metric) or layout
    if layout.named:
        return layout
    if _NVIDIA_STATS_ROW.fullmatch(first_row):
        names = ("gpu", "metric", "timestamp", "value")
        return replace(layout, names=names, named=True)
    if _MLFLOW_ROW.fullmatch(first_row):
        named = replace(layout, named=True)
        return _with_metric(named, ("timestamp", name, "step"), name) or layout
    return layout


def _with_metric(
    layout: table.Shape,
    names: tuple[str, ...],
    metric: str,
) -> table.Shape | None:
    """The layout with these names, one of which is its file's, where that means power."""
    has_unit = units.unit_of_name(metric) is not None
    if has_unit or units.means_power(metric):
        return replace(layout, names=names)
    return None


def with_metric_names(
    layout: table.Shape,
) -> tuple[table.Shape, dict[int, Mapping[str, str]]]:
    """The layout with the metric's name where a selector names a column, and the selectors' labels
    by column.
    """
    labels: dict[int, Mapping[str, str]] = {}
    if not any("{" in name for name in layout.names):
        return layout, labels
    from powertui.data.power import prometheus_labels

    names = list(layout.names)
    for column, name in enumerate(layout.names):
        selected = prometheus_labels.selected_labels(name)
        if selected:
            labels[column] = selected
            names[column] = selected.get("__name__", name)
    return replace(layout, names=tuple(names)), labels


def json_members(head: str) -> list[str] | None:
    """The members that the beginning of JSON names, each once; None of what is no JSON."""
    if not _JSON.match(head):
        return None
    members = _MEMBER.findall(head)
    return list(dict.fromkeys(members))
