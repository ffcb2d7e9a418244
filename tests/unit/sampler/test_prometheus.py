"""Arithmetic of the Prometheus source; the server itself is asked in tests/e2e/sampler."""

from __future__ import annotations

import math

import pytest

from powertui.errors import SensorError, UsageError
from powertui.power_server import ServerSeries
from powertui.sampler.prometheus_api import SeriesSamples
from powertui.sampler.prometheus_metrics import METRICS, scope_of
from powertui.sampler.prometheus_relabeled import Relabeled, joined_series
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


GPU = "DCGM_FI_DEV_POWER_USAGE"


def of_gpu(first_s, *watts, metric=GPU, gpu="0", **work):
    """A series of a GPU, a sample a second."""
    labels = {"__name__": metric, "Hostname": "node3", "gpu": gpu, **work}
    return SeriesSamples(labels, [(first_s + n, value) for n, value in enumerate(watts)])


def test_a_gpu_is_one_sensor_through_the_jobs_that_come_and_go():
    relabeled = Relabeled()
    job, other = of_gpu(2, 300, 301, 302, hpc_job="7"), of_gpu(2, 60, gpu="1", hpc_job="7")
    idle = of_gpu(0, 90, 91)
    assert relabeled.sensors([idle]) == [idle]
    idle.samples.extend([(5, 92), (6, 93)])  # the same series, after the job
    gpu_0, gpu_1 = relabeled.sensors([job, other, idle])
    assert gpu_0.labels == idle.labels
    assert [watts for _, watts in gpu_0.samples] == [90, 91, 300, 301, 302, 92, 93]
    assert gpu_1.samples == [(2, 60)]
    (alone,) = relabeled.sensors([of_gpu(7, 310, hpc_job="8")])
    assert alone.labels == idle.labels  # another job, the same name


def test_what_two_pods_draw_of_one_gpu_at_a_time_stays_apart():
    relabeled = Relabeled()
    pods = [of_gpu(0, 100, 100, 100, pod="a"), of_gpu(0.5, 50, 50, pod="b")]
    assert relabeled.sensors(pods) == pods
    at_once = [of_gpu(0, 100, gpu="1", pod="a"), of_gpu(0, 50, gpu="1", pod="b")]
    assert relabeled.sensors(at_once) == at_once
    alone = [of_gpu(9, 50, pod="b")]
    assert relabeled.sensors(alone) == alone  # it stays the pod's, though it is alone now


def test_a_metric_that_a_person_names_keeps_its_pods():
    series = [of_gpu(0, 5, metric="pod_watts", pod="a"), of_gpu(1, 6, metric="pod_watts", pod="b")]
    assert Relabeled().sensors(series) == series


def test_means_of_steps_are_joined_across_their_gaps():
    labels = {"__name__": GPU, "Hostname": "node3", "gpu": "0"}
    idle = ServerSeries(labels, [10, 20, 30, 40], [90, 91, math.nan, math.nan], is_mean=True)
    job = ServerSeries(
        {**labels, "hpc_job": "7"}, [10, 20, 30, 40], [math.nan, math.nan, math.nan, 300], True
    )
    (series,) = joined_series([idle, job])
    assert series.labels == labels
    assert series.times_s == [10, 20, 30, 40]
    assert series.values[:2] == [90, 91]
    assert math.isnan(series.values[2])
    assert series.values[3] == 300
    assert series.is_mean
    sharing = job._replace(values=[math.nan, 80, 80, 300])
    assert joined_series([idle, sharing]) == [idle, sharing]
