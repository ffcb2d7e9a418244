"""Arithmetic of the Prometheus source; the server itself is asked in tests/e2e/sampler."""

from __future__ import annotations

import pytest

from powertui.errors import SensorError, UsageError
from powertui.sampler.prometheus_metrics import METRICS, scope_of
from powertui.sampler.source import Options, open_source


def test_a_query_with_its_own_labels_and_instances_is_wrong_usage():
    source = open_source('prometheus://127.0.0.1:9?query=x{a="b"}&instance=c')
    with pytest.raises((UsageError, SensorError)):
        source.open()


def test_no_server():
    with pytest.raises(SensorError, match="does not answer: the connection is refused"):
        open_source("prometheus://127.0.0.1:9", Options(timeout=0.5)).open()


def test_what_the_known_metrics_are_about():
    scopes = {metric: scope_of(metric, {"instance": "a"}) for metric in METRICS}
    assert [metric for metric, scope in scopes.items() if scope == "node"] == [
        "ipmi_dcmi_power_consumption_watts",
        "redfish_chassis_power_powercontrol_power_consumed_watts",
        "omnistat_vendor_power_watts",
        "kepler_node_platform_watts",
        "kepler_node_platform_joules_total",
    ]
    assert [metric for metric, scope in scopes.items() if scope == "gpu"] == [
        "DCGM_FI_DEV_POWER_USAGE",
        "nvidia_smi_power_draw_watts",
        "rocm_average_socket_power_watts",
    ]
    zones = {
        zone: scope_of("kepler_node_cpu_watts", {"zone": zone})
        for zone in ("package", "dram", "core", "uncore")
    }
    assert zones == {"package": "package", "dram": "dram", "core": "rail", "uncore": "rail"}
    assert scope_of("kepler_node_platform_joules_total", {"mode": "idle"}) == "unknown"
