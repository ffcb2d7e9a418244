"""What a recording shows to those that scrape it."""

from __future__ import annotations

import http.client
import re

import pytest

from powertui.data.power import registry
from powertui.errors import SensorError, UsageError
from powertui.sampler.exporter import Exporter, exporter_address, exposition
from powertui.sampler.health import Health
from powertui.sampler.source import Channel, Reading

SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (\S+)(?: (\d+\.\d{3}))?')


def health(*watts, name="DCMI power", host="node17", kind="sampled", scope="node"):
    channel = Channel(name, host=host, scope=scope, kind=kind)
    made = Health("bmc", channel, 1.0)
    for second, value in enumerate(watts):
        quality = "ok" if value is not None else "none:no answer"
        made.add(
            Reading(
                1_795_000_000.5 + second, 50.0 + second, value, 0.01, "bmc", channel.name, quality
            )
        )
    return made


def samples(text):
    return [SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#")]


def test_joules_are_counters_with_the_moment_up_to_which_they_count():
    lines = exposition([health(100.0, 200.0, 200.0)], "here").splitlines()
    labels = (
        '{host="node17",source="bmc",channel="DCMI power",scope="node",kind="sampled",'
        'resolution="1s"}'
    )
    assert [line for line in lines if not line.startswith("#")] == [
        f"powertui_energy_joules_total{labels} 350.0 1795000002.500",
        f"powertui_covered_seconds_total{labels} 2.0 1795000002.500",
        f"powertui_power_watts{labels} 200.0",
    ]
    assert lines[-1] == "# EOF"


def test_a_channel_without_a_value_has_no_watts_and_keeps_its_joules():
    text = exposition([health(100.0, 100.0, None)], "here")
    assert "powertui_power_watts{" not in text
    assert " 100.0 1795000001.500" in text


def test_nothing_is_shown_as_zero_before_it_was_read():
    assert all(
        not line or line.startswith("#") for line in exposition([health(None)], "x").split("\n")
    )


def test_names_from_elsewhere_stay_in_their_label():
    hostile = 'a"} 1\n# EOF\nevil_total{x="\\'
    (first, *_) = samples(exposition([health(1.0, 1.0, name=hostile)], "here"))
    assert first is not None
    assert first[1] == "powertui_energy_joules_total"


def test_without_a_host_of_its_own_a_channel_is_of_this_machine():
    assert 'host="here"' in exposition([health(1.0, 1.0, host="")], "here")


def test_our_own_reader_knows_the_channel_and_what_it_covers(tmp_path):
    scrapes = []
    for watts in ((100.0, 100.0), (100.0, 100.0, 160.0)):
        text = exposition([health(*watts, scope="gpu", name="GPU 0")], "here")
        scrapes += [line for line in text.splitlines() if "joules_total" in line]
    (tmp_path / "scraped.txt").write_text("\n".join([*scrapes, "# EOF", ""]))
    (series,) = registry.load(str(tmp_path / "scraped.txt")).series
    assert (series.sensor.name, series.sensor.host, series.sensor.scope.value) == (
        "GPU 0",
        "node17",
        "gpu",
    )
    assert series.joules is not None
    assert list(series.joules[1:]) == [130.0]


@pytest.mark.parametrize("text", [":9400", "9400", "127.0.0.1:9400"])
def test_it_listens_on_loopback_unless_told_otherwise(text):
    assert exporter_address(text) == ("127.0.0.1", 9400)


@pytest.mark.parametrize("text", ["", "host", ":0", ":99999", "0.0.0.0:x"])
def test_an_address_that_cannot_be_is_refused(text):
    with pytest.raises(UsageError):
        exporter_address(text)


def test_only_metrics_are_answered_and_a_taken_port_is_said():
    exporter = Exporter(exporter_address("127.0.0.1:1")._replace(port=0), list)
    exporter.start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", exporter.port, timeout=20)
        statuses = []
        for method, path in (("GET", "/metrics"), ("GET", "/../etc/passwd"), ("POST", "/metrics")):
            connection.request(method, path)
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
            connection.close()
        assert statuses == [200, 404, 501]
        with pytest.raises(SensorError, match="The exporter cannot listen on"):
            Exporter(exporter.address, list)
    finally:
        exporter.stop()
