"""The labels of Prometheus' metrics, and what a metric measures by them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from powertui.data.model import Badge, Device, Scope, Sensor
from powertui.data.power import devices, units
from powertui.patterns import late_pattern
from powertui.power_server import HOST_LABELS

_SOURCE = "prometheus"
_OWN_PREFIX = "powertui_"  # of the metrics of `record --exporter`
_LABEL = late_pattern(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_SELECTOR = late_pattern(r"([a-zA-Z_:][a-zA-Z0-9_:]*)?\{(.+)\}")
_MAX_SELECTOR_CHARS = 2000  # of a column's name; chosen, not measured
# Labels that are equal for all channels of an exporter, or name a device in another way.
_SKIP_LABELS = {
    "mode",
    "DCGM_FI_DRIVER_VERSION",
    "modelName",
    "pod",
    "namespace",
    "container",
    "__name__",
    "job",
    "id",
    "UUID",
    "uuid",
    "pci_bus_id",
    "path",
    "device",
    *HOST_LABELS,
}


def selected_labels(name: str) -> dict[str, str]:
    """The labels of a selector (`power_watts{gpu="0"}`), the metric's name among them, or at least
    a host's; none of any other name.
    """
    match = _SELECTOR.fullmatch(name[:_MAX_SELECTOR_CHARS].strip())
    if match is None:
        return {}
    if match[1]:
        labels = {"__name__": match[1]}
    else:
        labels = {}
    labels |= written_labels(match[2])
    return labels if any(labels.get(key) for key in ("__name__", *HOST_LABELS)) else {}


def written_labels(text: str) -> dict[str, str]:
    """The labels between the braces of a metric, without the backslashes that protect quotes."""
    return {key: re.sub(r"\\(.)", r"\1", label) for key, label in _LABEL.findall(text)}


def labeled_sensor(labels: Mapping[str, str], *, is_sure: bool, host: str) -> Sensor:
    """What a metric measures, by its name and its labels."""
    metric = labels.get("__name__", "power")
    named_host = next((labels[key] for key in HOST_LABELS if labels.get(key)), "")
    # Most exporters are named by their address: the port is theirs, not the machine's.
    host_without_port = re.sub(r":\d{1,5}$", "", named_host)
    short = re.sub(r"_(watts?|milliwatts|microwatts|joules_total|joules)$", "", metric)
    rest = " ".join(value for key, value in labels.items() if key not in _SKIP_LABELS)
    name = f"{short} {rest}".strip()
    gpu = labels.get("gpu") or labels.get("minor_number") or labels.get("index")
    if gpu and units.scope_of(metric) is Scope.GPU:
        name = f"GPU {gpu}"
    # Kepler names the packages of a node "kepler_node_package": not the node is meant.
    part = re.sub("^(kepler_)?node_", "", short)
    scope = units.scope_of(f"{part} {rest}")
    if metric.startswith(_OWN_PREFIX):
        name = labels.get("channel", short)
        scope = _own_scope(labels)
    return Sensor(
        name,
        f"{_SOURCE} {short}",
        scope,
        host_without_port or host,
        device=_device(labels) if scope is Scope.GPU else None,
        scale=Badge.MEASURED if is_sure else Badge.ASSUMED,
    )


def _own_scope(labels: Mapping[str, str]) -> Scope:
    """What a channel of our own exporter covers, as it says itself."""
    written = labels.get("scope", "")
    if written in Scope._value2member_map_:
        return Scope(written)
    return Scope.UNKNOWN


def _device(labels: Mapping[str, str]) -> Device | None:
    """The device that an exporter's labels name."""
    device: Device | None = None
    for key in ("gpu", "gpu_id", "minor_number", "index", "device", "UUID", "uuid", "pci_bus_id"):
        if labels.get(key):
            named = devices.device_named(labels[key], labels.get("modelName", ""))
            device = devices.joined_device(device, named)
    return device
