"""`record --exporter`, scraped by a real Prometheus."""

from __future__ import annotations

import contextlib
import re
import signal
import urllib.request
from itertools import pairwise

import pytest

from powertui.data.power import registry
from powertui.power_server import PowerQuestion
from powertui.sampler.prometheus_fetch import PrometheusPower
from powertui.sampler.source import Options
from tests.bmc.prometheus import free_port
from tests.waiting import until

pytestmark = pytest.mark.e2e


def test_what_prometheus_scraped_are_the_joules_of_the_recording(
    prometheus, powertui, bmc, tmp_path
):
    port = free_port()
    watts = iter(range(100, 100_000, 7))
    bmc.watts = lambda: next(watts) % 900 + 100
    (tmp_path / "pw").write_text("pw-viewer")
    (tmp_path / "pw").chmod(0o600)
    process = powertui(
        "record", "--source", f"ipmi://viewer@127.0.0.1:{bmc.port}?name=x", "--password-file", "pw",
        "--interval", "0.2", "-o", "power.csv", "--exporter", f":{port}",
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}/metrics"

    def scraped() -> str:
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(url, timeout=20).read().decode()
        return ""

    until(lambda: "powertui_energy_joules_total{" in scraped())
    (prometheus.folder / "prometheus.yml").write_text(
        "scrape_configs: [{job_name: p, scrape_interval: 1s, scrape_timeout: 1s, "
        f"static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
    )
    prometheus.start()
    server = PrometheusPower(prometheus.url, Options(timeout=60.0))
    found = []

    def has_scraped_a_while() -> bool:
        match = re.search(r"joules_total\{.*\} \S+ (\S+)", scraped())
        assert match is not None
        now = float(match[1])
        with contextlib.suppress(Exception):
            found[:] = server.fetch(PowerQuestion(now - 60, now)).series
        return any(len(series.times_s) >= 5 for series in found)

    until(has_scraped_a_while)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    (counter,) = (one for one in found if "joules" in one.labels["__name__"])
    assert [one.labels["__name__"] for one in found] == ["powertui_energy_joules_total"]
    assert counter.labels["scope"] == "node"
    (series,) = registry.load(str(tmp_path / "power.csv")).series
    assert series.clock.lo_ns is not None
    times = [series.clock.mid_ns / 1e9 + ns / 1e9 for ns in series.times]
    begin, end = counter.times_s[0], counter.times_s[-1]
    # As recorded: the trapezoids between the readings at which both counts were taken.
    rows = [
        (t, w)
        for t, w in zip(times, series.watts, strict=True)
        if begin - 0.002 <= t <= end + 0.002
    ]
    recorded = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(rows))
    assert counter.values[-1] - counter.values[0] == pytest.approx(recorded, rel=0.001)
