"""Which metrics of which exporters are power: their names, units, and what part of a machine each
is about.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COUNTER_OF", "METRICS", "counts_joules", "scope_of", "watts_of_one"]

# Exporters' names for watts, the most telling first.
METRICS = (
    "powertui_power_watts",  # our own exporter (exporter.py)
    "powertui_energy_joules_total",
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
# Watts that are left out where the same exporter counts joules: those lose nothing between scrapes.
COUNTER_OF = {"powertui_power_watts": "powertui_energy_joules_total"}
_OWN_PREFIX = "powertui_"
_MICROWATTS_SUFFIX = "_microwatts"  # a metric whose name ends so counts in µW
_JOULES_SUFFIX = "_joules_total"  # a metric whose name ends so counts joules
_NODE_WORDS = ("dcmi", "consumed", "omnistat_vendor_power", "kepler_node_platform")
_GPU_WORDS = ("DCGM", "nvidia", "rocm", "vendor_accel")


def _name(selector: str) -> str:
    return selector.partition("{")[0]


def counts_joules(selector: str) -> bool:
    """Whether a metric (with or without its {labels}) is a counter of energy."""
    return _name(selector).endswith(_JOULES_SUFFIX)


def watts_of_one(selector: str) -> float:
    """Watts (or J) of one unit of a metric."""
    return 1e-6 if _name(selector).endswith(_MICROWATTS_SUFFIX) else 1.0


def scope_of(metric: str, labels: Mapping[str, str]) -> str:
    """What part of a machine a metric is about, as far as its name says."""
    if metric.startswith(_OWN_PREFIX):
        return labels.get("scope", "unknown")
    if any(word in metric for word in _NODE_WORDS):
        # Kepler before 0.10 has idle and dynamic power as two series of one node.
        return "unknown" if "mode" in labels else "node"
    if any(word in metric for word in _GPU_WORDS):
        return "gpu"
    if metric.startswith("kepler_node_"):  # what a package includes is a series beside it
        zone = labels.get("zone", "package" if "package" in metric else "")
        return zone if zone in ("package", "dram") else "rail"
    return "unknown"
