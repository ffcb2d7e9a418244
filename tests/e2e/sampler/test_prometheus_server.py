"""A real Prometheus: samples that promtool wrote, and live scrapes through Debian's
ipmi-exporter.
"""

from __future__ import annotations

import contextlib
import math
import time

import pytest

from powertui.errors import NotSupported, SensorError
from powertui.sampler.source import Options, open_source, reason_of
from tests.bmc.prometheus import IpmiExporter
from tests.waiting import until

pytestmark = pytest.mark.e2e
METRIC = "ipmi_dcmi_power_consumption_watts"


def opened(prometheus, query="", **options):
    source = open_source(prometheus.url + query, Options(timeout=60.0, **options))
    return source, source.open()


def test_only_some_hosts(prometheus):
    now = time.time()
    prometheus.fill(
        METRIC,
        [
            (f'instance="bmc{h}"', round(now - 60 + n, 3), 100 + h)
            for h in range(12)
            for n in range(50)
        ],
    )
    prometheus.start()
    source, info = opened(prometheus, "?instance=bmc1|bmc7")
    assert [c.host or c.name for c in info.channels] == ["bmc1", "bmc7"]
    source.close()


def test_a_host_whose_samples_stop_has_no_value(prometheus):
    now = time.time()
    prometheus.fill(METRIC, [('instance="a"', round(now - 120 + n, 3), 100) for n in range(60)])
    prometheus.start()
    source, _ = opened(prometheus)
    (reading,) = source.read()
    assert reading.watts is None
    assert "no new sample" in reason_of(reading.quality)
    source.close()


def test_counters_of_joules_are_means_between_two_samples(prometheus):
    """Kepler before 0.10; one host's counter begins again, and then stands still."""
    now = round(time.time()) - 1.0
    steady = [('instance="a:9102"', now - 60 + n, 1000.0 + 250.0 * n) for n in range(60)]
    odd = [
        0.0 if n == 59 else 70.0 if n == 58 else 70.0 if n == 57 else 5000.0 + 40.0 * n
        for n in range(60)
    ]
    metric = "kepler_node_platform_joules_total"
    prometheus.fill(
        metric, steady + [('instance="b:9102"', now - 60 + n, odd[n]) for n in range(60)]
    )
    prometheus.start()
    source, info = opened(prometheus)
    assert info.facts["query"] == metric
    assert {(c.host, c.scope, c.kind, c.period_s, c.most_w) for c in info.channels} == {
        ("a", "node", "interval", 1.0, None),
        ("b", "node", "interval", 1.0, None),
    }
    found = {series.labels["instance"]: dict(series.samples) for series in source._vectors(30, now)}
    assert found["a:9102"] == {now - 30 + n: 250.0 for n in range(30)}
    b = [found["b:9102"][now - 30 + n] for n in range(30)]
    assert b[:27] == [40.0] * 27
    assert all(math.isnan(watts) for watts in b[27:])  # set back, still, set back
    newest = {reading.channel: reading for reading in source.read() if reading.quality == "ok"}
    assert newest["a:9102"].watts == 250.0
    assert "b:9102" not in newest
    source.close()


def test_a_machine_keeps_its_channel_when_a_job_begins_on_it(prometheus):
    now = round(time.time()) - 1.0
    prometheus.fill(
        METRIC,
        [
            (f'instance="a"{work}', now - 60 + n, 100.0 + n)
            for work, part in (("", range(30)), (',hpc_job="7"', range(30, 60)))
            for n in part
        ],
    )
    prometheus.start()
    source, info = opened(prometheus)
    assert [channel.name for channel in info.channels] == ["a"]
    (reading,) = source.read()
    assert (reading.channel, reading.watts) == ("a", 159.0)
    source.close()


def test_no_power_metric_and_a_wrong_query(prometheus):
    prometheus.start()
    with pytest.raises(NotSupported, match="no power metric"):
        opened(prometheus)
    with pytest.raises(SensorError, match="status 400"):
        opened(prometheus, "?query=a%20b%20c")


def test_live_through_the_ipmi_exporter(prometheus, ipmi_sim, tmp_path):
    if reason := IpmiExporter.why_not():
        pytest.skip(reason)
    exporter = IpmiExporter(tmp_path, "admin", "pw-admin").start()
    try:
        prometheus.scrape(
            [f"127.0.0.1:{ipmi_sim.port}"], exporter_port=exporter.port, module="power"
        )
        prometheus.start()
        source = open_source(prometheus.url, Options(timeout=60.0))
        infos = []

        def has_scraped() -> bool:
            with contextlib.suppress(NotSupported):
                infos.append(source.open())
            return bool(infos)

        until(has_scraped)
        assert infos[0].channels[0].scope == "node"
        ipmi_sim.set_dcmi(432)
        values, times = [], []

        def has_new_value() -> bool:
            for reading in source.read():
                values.append(reading.watts)
                times.append(reading.t)
            return 432 in values

        until(has_new_value)
        assert times == sorted(set(times)), "each sample comes once"
        source.close()
    finally:
        exporter.stop()
