"""The power of a run, fetched from a real Prometheus that holds known watts."""

from __future__ import annotations

import json
import math

import pytest

from powertui.data import logdir
from powertui.data.model import NS_PER_S, PS_PER_S
from powertui.data.opened import Opened
from powertui.demo import folder
from powertui.power_server import PowerQuestion
from powertui.sampler import prometheus_fetch
from powertui.sampler.prometheus_fetch import PrometheusPower
from powertui.sampler.source import Options

pytestmark = pytest.mark.e2e
DCMI = "ipmi_dcmi_power_consumption_watts"
DEMO_START_S = 1795224823.636  # of the demo's profile, which is 21.8 s long
START_S = 1_795_000_000.0


def wave(moment: float) -> float:
    """Watts that are known at each moment: 300 W, and 100 W up and down in 200 s."""
    return 300.0 + 100.0 * math.sin(2 * math.pi * moment / 200.0)


def joules(start_s: float, end_s: float) -> float:
    """What `wave` draws between two moments."""
    turn = 2 * math.pi / 200.0
    return 300.0 * (end_s - start_s) + 100.0 / turn * (
        math.cos(turn * start_s) - math.cos(turn * end_s)
    )


def joules_of_demo() -> float:
    """What `wave` draws while the demo's profile lasts."""
    (entry,) = logdir.scan(str(folder())).runs
    trace = Opened(entry).profiles[0].trace
    start_ps, end_ps = trace.span
    zero_s = trace.clock.mid_ns / NS_PER_S
    return joules(zero_s + start_ps / PS_PER_S, zero_s + end_ps / PS_PER_S)


def energy_json(powertui, *words: str) -> dict:
    process = powertui("energy", str(folder()), "--json", *words)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


def fetched(metric_server, *, hosts=(), length_s=3600.0, query=""):
    server = PrometheusPower(metric_server.url + query, Options(timeout=60.0))
    return server.fetch(PowerQuestion(START_S, START_S + length_s, frozenset(hosts)))


def test_joules_of_a_run_are_those_of_its_own_host_within_one_percent(metric_server, powertui):
    begin = math.floor(DEMO_START_S) - 200
    metric_server.fill(
        DCMI,
        [
            (f'instance="{host}:9290"', begin + n + 0.25, factor * wave(begin + n + 0.25))
            for host, factor in (("node2", 3.0), ("vm", 1.0))
            for n in range(420)
        ],
    )
    metric_server.start()
    (run,) = energy_json(powertui, "--power", metric_server.url)["runs"]
    assert [sensor["host"] for sensor in run["sensors"]] == ["vm"]
    energy = run["profile"]
    truth = joules_of_demo()
    assert energy["joules"] == pytest.approx(truth, rel=0.01)
    assert energy["lo"] <= truth <= energy["hi"]


def test_the_clock_of_the_machine_is_compared_with_the_server_s(metric_server, powertui):
    """The server is 3.2 s behind, and a scrape takes 0.05 s: a run that begins and ends with a step
    of power has its joules to a thousandth, and its place is known to a scrape.
    """
    behind_s, took_s = 3.2, 0.05
    (entry,) = logdir.scan(str(folder())).runs
    start_ps, end_ps = Opened(entry).profiles[0].trace.span
    start_s = Opened(entry).profiles[0].trace.clock.mid_ns / NS_PER_S + start_ps / PS_PER_S
    end_s = start_s + (end_ps - start_ps) / PS_PER_S
    power, clocks, durations = [], [], []
    begin = math.floor(start_s) - 250
    for second in range(520):
        asked_s = begin + second + 0.35
        machine_s = asked_s + behind_s + took_s / 2
        watts = 310.0 if start_s <= machine_s <= end_s else 120.0
        power.append(('instance="vm:9290",job="ipmi"', asked_s, watts))
        if second % 15 == 0:
            clocks.append(('instance="vm:9100",job="node"', asked_s, machine_s))
            durations.append(('instance="vm:9100",job="node"', asked_s, took_s))
    durations += [('instance="vm:9290",job="ipmi"', at, took_s) for _, at, _ in durations]
    metric_server.fill(DCMI, power)
    metric_server.fill("node_time_seconds", clocks)
    metric_server.fill("scrape_duration_seconds", durations)
    metric_server.start()
    (run,) = energy_json(powertui, "--power", metric_server.url)["runs"]
    energy = run["profile"]
    truth = 310.0 * (end_s - start_s)
    assert energy["joules"] == pytest.approx(truth, rel=0.002)
    assert energy["lo"] <= truth <= energy["hi"]
    answer = PrometheusPower(metric_server.url, Options(timeout=60.0)).fetch(
        PowerQuestion(start_s, end_s, frozenset({"vm"}))
    )
    (series,) = answer.series
    assert series.clock is not None
    assert series.clock.low_s < behind_s < series.clock.high_s
    assert series.clock.high_s - series.clock.low_s < 3 * took_s


def test_a_clock_of_another_machine_is_not_taken(metric_server):
    moments = [START_S + 5.0 * n for n in range(720)]
    metric_server.fill(DCMI, [('instance="a:1",job="j"', at, 200.0) for at in moments])
    metric_server.fill("node_time_seconds", [('instance="b:2",job="n"', t, t + 9) for t in moments])
    metric_server.fill(
        "scrape_duration_seconds",
        [
            (labels, at, 0.01)
            for labels in ('instance="a:1",job="j"', 'instance="b:2",job="n"')
            for at in moments
        ],
    )
    metric_server.start()
    assert [series.clock for series in fetched(metric_server).series] == [None]


def test_the_page_says_which_resolution_it_got_and_what_that_resolves(metric_server, powertui):
    begin = math.floor(DEMO_START_S) - 200
    metric_server.fill(DCMI, [('instance="vm:9290"', begin + 5.0 * n, 246.0) for n in range(84)])
    metric_server.start()
    process = powertui("energy", str(folder()), "--power", metric_server.url)
    out, err = process.communicate(timeout=120)
    assert not err
    assert (
        "read as all samples of 1 of 1 machines, one every 5 s; windows of 10 s and more can be "
        "resolved at best" in " ".join(out.split())
    )


def test_a_fleet_in_which_nobody_is_called_like_the_run_is_refused_with_a_way_on(
    metric_server, powertui
):
    begin = math.floor(DEMO_START_S) - 20
    metric_server.fill(
        DCMI, [(f'instance="n{h:02}:9290"', begin + n, 246.0) for h in range(12) for n in range(60)]
    )
    metric_server.start()
    process = powertui("energy", str(folder()), "--power", metric_server.url)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3
    assert not out
    assert "has power of 12 machines" in err
    assert "--power-host MACHINE=HOST" in err
    named = energy_json(powertui, "--power", metric_server.url, "--power-host", "n07=vm")
    assert [sensor["host"] for sensor in named["runs"][0]["sensors"]] == ["n07"]


def test_samples_in_several_answers_are_those_of_one(metric_server, monkeypatch):
    metric_server.fill(
        DCMI,
        [
            (f'instance="{h}"', START_S + 5.0 * n, wave(START_S + 5.0 * n))
            for h in "ab"
            for n in range(720)
        ],
    )
    metric_server.start()
    whole = fetched(metric_server)
    monkeypatch.setattr(prometheus_fetch, "_CHUNK_SAMPLES", 100)
    parts = fetched(metric_server)
    assert parts.series == whole.series
    assert [len(series.times_s) for series in whole.series] == [720, 720]
    assert (whole.spacing_s, whole.step_s, whole.machine_count) == (5.0, None, 2)


def test_what_is_too_much_comes_as_means_in_steps_with_the_same_joules(metric_server, monkeypatch):
    """More points than a server answers at once, and a hole that stays one."""
    metric_server.fill(
        DCMI,
        [
            ('instance="a"', START_S + n, wave(START_S + n))
            for n in range(-200, 25_000)
            if not 9_000 <= n < 9_600
        ],
    )
    metric_server.start()
    monkeypatch.setattr(prometheus_fetch, "_MAX_RAW_SAMPLES", 10_000)
    monkeypatch.setattr(prometheus_fetch, "_MIN_STEP_SPACINGS", 1)
    answer = fetched(metric_server, length_s=24_000.0)
    assert answer.step_s == 2.0
    (series,) = answer.series
    assert series.is_mean
    assert len(series.values) == 12_300
    inside = [
        (t, w)
        for t, w in zip(series.times_s, series.values, strict=True)
        if START_S < t <= START_S + 8_000
    ]
    sum_j = sum(w * 2.0 for _, w in inside)
    assert sum_j == pytest.approx(joules(inside[0][0] - 2.0, inside[-1][0]), rel=0.002)
    hole = [
        w
        for t, w in zip(series.times_s, series.values, strict=True)
        if START_S + 9_010 < t < START_S + 9_590
    ]
    assert len(hole) > 280
    assert all(math.isnan(w) for w in hole)


def test_steps_of_a_counter_keep_all_of_its_joules(metric_server, monkeypatch):
    metric = "kepler_node_platform_joules_total"
    samples = [
        ('instance="a"', START_S + 3.0 * n, 1000.0 + joules(START_S, START_S + 3.0 * n))
        for n in range(-30, 4_000)
    ]
    metric_server.fill(metric, samples)
    metric_server.start()
    monkeypatch.setattr(prometheus_fetch, "_MAX_RAW_SAMPLES", 1_000)
    answer = fetched(metric_server, length_s=11_000.0)
    assert answer.step_s == 10.0
    (series,) = answer.series
    truth = {moment: value for _, moment, value in samples}
    assert len(series.times_s) > 1_100
    assert all(
        truth[t] == pytest.approx(value, rel=1e-12)
        for t, value in zip(series.times_s, series.values, strict=True)
    )


def test_only_the_machines_of_the_run_are_asked_for(metric_server):
    metric_server.fill(
        DCMI,
        [
            (f'instance="bmc-node{h:02}.mgmt:9290"', START_S + 10.0 * n, 100.0 + h)
            for h in range(20)
            for n in range(60)
        ],
    )
    metric_server.start()
    answer = fetched(metric_server, hosts={"node07.cluster.example"}, length_s=600.0)
    assert [series.labels["instance"] for series in answer.series] == ["bmc-node07.mgmt:9290"]
    assert set(answer.series[0].values) == {107.0}
    assert answer.machine_count == 20


def test_a_job_that_begins_in_the_run_does_not_end_the_power_of_its_machine(
    metric_server, powertui
):
    """A job's label makes another series of the same sensor, in the middle of the profile."""
    begin = math.floor(DEMO_START_S) - 200
    moments = [begin + n + 0.25 for n in range(420)]
    metric_server.fill(
        DCMI,
        [
            (f'instance="vm:9290"{work}', moment, wave(moment))
            for work, part in (("", moments[:210]), (',hpc_job="7"', moments[210:]))
            for moment in part
        ],
    )
    metric_server.start()
    (run,) = energy_json(powertui, "--power", metric_server.url)["runs"]
    (sensor,) = run["sensors"]
    assert sensor["host"] == "vm"
    energy = run["profile"]
    assert energy["coverage"] == pytest.approx(1)
    assert energy["lo"] <= joules_of_demo() <= energy["hi"]
