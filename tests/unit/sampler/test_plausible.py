"""What no sensor can say is a gap with its reason, in every recording and from every source."""

from __future__ import annotations

import math
import time

import pytest

from powertui.data.power import registry
from powertui.sampler.plausible import Judge, impossible
from powertui.sampler.recorder import Recorder
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Channel, Options, Reading, none, open_source, reason_of
from tests.bmc.rmcpplus import Bmc
from tests.waiting import until


def judged(*values, channel=None, spacing=1.0, interval=1.0):
    """(watts or None, kind of quality) of readings one after the other. A text is a gap."""
    judge, out = Judge(channel or Channel("power"), interval), []
    for i, watts in enumerate(values):
        gap = isinstance(watts, str)
        made = judge.judge(
            Reading(
                1e9 + i,
                i * spacing,
                None if gap else watts,
                0.0,
                "bmc",
                "power",
                none(watts) if gap else "ok",
            )
        )
        out.append((made.watts, made.quality.partition(":")[0]))
    return out


@pytest.mark.parametrize(
    "watts", [-500.0, -0.001, 1e300, 1_000_001.0, math.nan, math.inf, -math.inf]
)
def test_impossible_values_are_gaps(watts):
    assert judged(watts) == [(None, "none")]
    assert impossible(watts, Channel("power"))


@pytest.mark.parametrize("watts", [0.0, 0.01, 245.0, 1e6])
def test_possible_values_are_left_alone(watts):
    assert judged(watts) == [(watts, "ok")]


def test_the_sensors_own_range_comes_first():
    assert judged(1786.0, channel=Channel("power", most_w=1785.0)) == [(None, "none")]
    assert judged(2e6, channel=Channel("hall", most_w=5e6)) == [(2e6, "ok")]
    assert (
        impossible(1786.0, Channel("power", most_w=1785.0))
        == "1786 W is above the sensor's range of 1785 W"
    )


def test_what_is_switched_on_draws_something():
    assert judged(0.0, channel=Channel("GPU 0", scope="gpu", running=True)) == [(None, "none")]
    assert judged(0.4, channel=Channel("GPU 0", scope="gpu", running=True)) == [(0.4, "ok")]
    assert "not measured" in impossible(0.0, Channel("GPU 0", running=True))


def test_a_zero_between_hundreds_right_after_an_outage_is_suspect():
    assert judged(300.0, 310.0, "away", 0.0, 305.0) == [
        (300.0, "ok"),
        (310.0, "ok"),
        (None, "none"),
        (None, "suspect"),
        (305.0, "ok"),
    ]
    assert judged(300.0, 310.0, "away", 0.0, "away", 0.0, 305.0)[3:6] == [
        (None, "suspect"),
        (None, "none"),
        (None, "suspect"),
    ]
    assert judged(300.0, -500.0, 0.0)[2] == (None, "suspect")


def test_an_outage_may_have_no_rows_of_its_own():
    judge = Judge(Channel("power"))
    for at, watts in ((0.0, 300.0), (1.0, 300.0), (40.0, 0.0)):
        made = judge.judge(Reading(1e9 + at, at, watts, 0.0, "bmc", "power"))
    assert reason_of(made.quality) == "0 W right after an outage (usual: 300 W)"


def test_a_zero_that_stays_is_one():
    values = judged(300.0, "away", *[0.0] * 60)
    assert values[2] == (None, "suspect")
    assert values[-1] == (0.0, "ok")
    assert [kind for _, kind in values].count("suspect") == 30


def test_zeros_that_are_no_sign_of_a_start():
    assert judged(300.0, 0.0) == [(300.0, "ok"), (0.0, "ok")]  # it fell while we looked
    assert judged("away", 0.0) == [(None, "none"), (0.0, "ok")]  # nobody knows what is usual
    assert judged(2.0, "away", 0.0)[2] == (0.0, "ok")  # a rail that may well be off
    assert judged(300.0, 0.0, spacing=60.0, interval=60.0)[1] == (0.0, "ok")


def test_a_counter_that_leaps_is_not_counted():
    judge = Judge(Channel("package-0", kind="interval"))
    made = [
        judge.judge(Reading(1e9 + at, at, 200.0, 0.0, "rapl", "package-0", "ok", joules)).joules
        for at, joules in (
            (0.0, 0.0),
            (1.0, 200.0),
            (2.0, 1e300),
            (3.0, math.nan),
            (4.0, 600.0),
            (5.0, 800.0),
        )
    ]
    assert made == [0.0, 200.0, None, None, 600.0, 800.0]


def test_a_counter_may_move_by_twice_the_most_that_its_sensor_can_say():
    judge = Judge(Channel("package-0", kind="interval", most_w=300.0))
    made = [
        judge.judge(Reading(1e9 + at, at, 200.0, 0.0, "rapl", "package-0", "ok", joules)).joules
        for at, joules in ((0.0, 0.0), (1.0, 600.0), (2.0, 1201.0))
    ]
    assert made == [0.0, 600.0, None]


def test_a_recording_of_impossible_values(tmp_path):
    log, out = tmp_path / "log.csv", tmp_path / "out.csv"
    log.write_text("time,watts\n")
    recorder = Recorder([open_source(f"csv:{log}")], interval=0.05, file=RecordingFile(out, 0.05))
    got = []
    recorder.subscribe(got.extend)
    recorder.open()
    recorder.start()
    now = time.time()
    with log.open("a") as file:
        file.write(
            "".join(
                f"{now + i * 0.01:.3f},{w}\n" for i, w in enumerate((200, -500, 1e300, 200, 200))
            )
        )
    until(lambda: len(got) == 5)
    recorder.stop()
    assert [r.watts for r in got] == [200, None, None, 200, 200]
    text = out.read_text()
    assert "-500 W is less than zero" in text
    assert "1e+300 W is more than any machine draws" in text
    health = recorder.health()[0][1]
    assert (health.maximum, health.gaps) == (200, 2)
    assert any("-500 W is less than zero" in e.text for e in recorder.events)


@pytest.mark.parametrize("rows", [1, 40_000])
def test_a_bmc_that_says_zero_while_it_starts_costs_no_energy(tmp_path, ipmi, rows):
    """In the file, in the sums made while recording, and for whoever reads the file."""
    out = tmp_path / "out.csv"
    with Bmc() as bmc:
        bmc.machine.watts = 300
        recorder = Recorder([ipmi(bmc.port)], interval=0.05, file=RecordingFile(out, 0.05))
        got = []
        recorder.subscribe(got.extend)
        recorder.open()
        recorder.start()
        until(lambda: len(got) > 5)
        bmc.stop()
        bmc.machine.watts = 0
        until(lambda: got[-1].watts is None)
        bmc.start()
        until(lambda: any(r.quality.startswith("suspect") for r in got))
        bmc.machine.watts = 300
        until(lambda: got[-1].watts == 300)
        recorder.stop()
    assert {r.watts for r in got} == {300, None}
    assert recorder.health()[0][1].minimum == 300
    text = out.read_text()
    assert ",suspect,0 W right after an outage" in text
    again = [line for line in text.splitlines(keepends=True) if ",suspect," in line][-1]
    zero = again.split(",")
    zero[4] = "0"  # as another writer might leave the value in its place
    lines = text.splitlines(keepends=True)
    out.write_text("".join(lines[:-1]) + ",".join(zero) * rows)
    log = registry.load(str(out))
    watts = log.series[0].watts
    assert {w for w in watts if not math.isnan(w)} == {300.0}
    assert any("right after an outage" in str(warning) for warning in log.warnings)


def test_our_own_recording_followed_keeps_its_marks(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(
        "# powertui recording "
        "1\ntime_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n"
    )
    source = open_source(f"csv:{path}", Options())
    source.open()
    with path.open("a") as file:
        file.write("1700000000.5,1,bmc,power,0,,0,suspect,0 W right after an outage,\n")
    (reading,) = source.read()
    assert (reading.watts, reading.quality) == (None, "suspect:0 W right after an outage")
    source.close()
