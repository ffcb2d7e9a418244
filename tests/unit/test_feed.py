"""The feeds of the live screen: a recorder of this process, and a recording played again."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from powertui.data.live import ChannelKey
from powertui.data.model import Clock, Mark, PowerSeries, Scope, Sensor
from powertui.data.power import registry
from powertui.errors import SensorError
from powertui.feed import NS, RecorderFeed, ReplayFeed
from powertui.sampler.process import RecorderProcess
from powertui.sampler.source import Options
from tests.waiting import until

ZERO = 1_795_224_813 * NS


def series(name: str, watts: list[float], step_s: float = 1.0, host: str = "bmc") -> PowerSeries:
    times = (np.arange(len(watts)) * step_s * NS).astype(np.int64)
    return PowerSeries(
        Sensor(name, "test", Scope.NODE, host),
        times,
        np.array(watts),
        clock=Clock(ZERO, ZERO, "absolute timestamps"),
    )


class Hand:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_replay_gives_each_sample_at_its_time_and_once() -> None:
    clock = Hand()
    feed = ReplayFeed([series("power", [100, 200, 300, 400])], "log", speed=10, clock=clock)
    feed.start()
    assert feed.drain() == 1
    clock.now += 0.2
    assert feed.drain() == 2
    assert feed.drain() == 0
    assert not feed.over
    clock.now += 60
    assert feed.drain() == 1
    assert feed.over
    history = feed.board.histories[ChannelKey("bmc", "power")]
    assert history.watts.tolist() == [100, 200, 300, 400]
    assert history.times[0] == ZERO
    assert feed.now_ns() == ZERO + 3 * NS, "the clock stops with the recording"
    assert [e.text for e in feed.events()][-1] == "end of the recording"


def test_replay_shows_what_the_recording_names_when_its_time_has_come() -> None:
    clock = Hand()
    named = (Mark("epoch 0", 1 * NS, 3 * NS), Mark("saved", 2 * NS))
    both = [
        replace(series(name, [100] * 5), marks=named, path="log.csv") for name in ("a", "b")
    ]  # each channel has all marks
    feed = ReplayFeed(both, "log", clock=clock)
    feed.start()
    feed.drain()
    assert feed.marks == []
    clock.now += 1.5
    feed.drain()
    assert feed.marks == [Mark("epoch 0", ZERO + 1 * NS, ZERO + 3 * NS)]
    clock.now += 0.2
    feed.mark("mine")
    clock.now += 60
    feed.drain()
    assert [mark.name for mark in feed.marks] == ["epoch 0", "mine", "saved"]
    assert feed.marks[2].start_ns == ZERO + 2 * NS


def test_replay_keeps_gaps_and_adds_nothing_up_across_them() -> None:
    clock = Hand()
    feed = ReplayFeed([series("power", [100, float("nan"), 100, 100])], "log", clock=clock)
    feed.start()
    clock.now += 60
    feed.drain()
    health = feed.healths[ChannelKey("bmc", "power")]
    assert health.gaps == 1
    assert health.joules == pytest.approx(100)


def test_replay_of_two_channels_runs_on_one_clock() -> None:
    clock = Hand()
    feed = ReplayFeed(
        [series("a", [1, 2, 3], 2.0, "x"), series("b", [5, 6, 7], 1.0, "y")], "log", clock=clock
    )
    feed.start()
    clock.now += 2.5
    feed.drain()
    assert [h.now for h in feed.board] == [2, 7]
    assert feed.interval_s == 1.0


def test_a_recorder_that_dies_before_it_began_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    recorder = RecorderProcess([("hwmon:", Options(root=str(tmp_path)))])
    with pytest.raises(SensorError, match="could not be started"):
        recorder.start()
    assert not recorder.alive


def test_recorder_feed_shows_what_the_file_holds(tmp_path: Path) -> None:
    chip = tmp_path / "root/sys/class/hwmon/hwmon3"
    chip.mkdir(parents=True)
    (chip / "name").write_text("ibmpowernv\n")
    (chip / "power1_input").write_text("245000000\n")
    (chip / "power1_label").write_text("System\n")
    (chip / "power1_cap").write_text("300000000\n")
    path = tmp_path / "power.csv"
    recorder = RecorderProcess(
        [("hwmon:", Options(root=str(tmp_path / "root")))], path=str(path), interval=0.05
    )
    feed = RecorderFeed(recorder, "this machine")
    feed.start()
    try:
        until(lambda: (feed.drain(), [len(history) for history in feed.board] >= [4])[1])
        feed.mark("epoch 1 begins")
    finally:
        feed.stop("test ended")
    feed.drain()
    history = next(iter(feed.board))
    written = [
        line.split(",")
        for line in path.read_text().splitlines()
        if f",{history.key.channel}," in line
    ]
    written = [cells for cells in written if not cells[0].startswith("#")]
    assert len(history) >= 4
    assert [float(cells[4]) for cells in written] == history.watts.tolist()
    assert set(history.watts.tolist()) == {245.0}
    assert "epoch 1 begins" in path.read_text()
    assert feed.file == path
    assert feed.over
    assert feed.marks[0].name == "epoch 1 begins"
    assert feed.healths[history.key].readings == len(history)
    (cap,) = history.limits
    assert cap.watts == 300.0
    assert history.first_ns <= cap.start_ns + NS <= history.last_ns + 2 * NS
    played = ReplayFeed(registry.load(str(path)).series, "again")
    (again,) = played.board.histories.values()
    assert [one.watts for one in again.limits] == [300.0]


def test_a_channel_that_comes_later_has_its_own_scope(tmp_path: Path) -> None:
    """A GPU that a log names only after its first rows were read."""
    log = tmp_path / "gpus.csv"
    log.write_text("timestamp, index, power.draw [W]\n2026/11/30 10:00:00.000, 0, 90.00 W\n")
    feed = RecorderFeed(RecorderProcess([(f"csv:{log}", Options())], interval=0.05), "a log")
    feed.start()
    try:
        until(lambda: bool(feed.recorder.infos))
        for row in range(3):
            with log.open("a") as file:
                file.write(f"2026/11/30 10:00:0{row + 1}.000, 0, 91.00 W\n")
                file.write(f"2026/11/30 10:00:0{row + 1}.000, 1, 300.00 W\n")
        until(lambda: (feed.drain(), len(feed.board) == 2)[1])
    finally:
        feed.stop("test ended")
    assert {history.scope for history in feed.board} == {Scope.GPU}
