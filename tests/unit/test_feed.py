"""The feeds of the live screen: a recorder of this process, and a recording played again."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from powertui.data.live import Key
from powertui.data.model import Clock, PowerSeries, Scope, Sensor
from powertui.feed import NS, RecorderFeed, ReplayFeed
from powertui.sampler.recorder import Recorder
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import Channel, Info, Reading, Stamp

ZERO = 1_795_224_813 * NS


def series(name: str, watts: list[float], step_s: float = 1.0, host: str = "bmc") -> PowerSeries:
    times = (np.arange(len(watts)) * step_s * NS).astype(np.int64)
    return PowerSeries(
        Sensor(name, "test", Scope.NODE, host), times, np.array(watts), clock=Clock(ZERO, ZERO, "absolute timestamps")
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
    history = feed.board.histories[Key("bmc", "power")]
    assert history.watts.tolist() == [100, 200, 300, 400]
    assert history.times[0] == ZERO
    assert feed.now_ns() == ZERO + 3 * NS, "the clock stops with the recording"
    assert [e.text for e in feed.events()][-1] == "end of the recording"


def test_replay_keeps_gaps_and_adds_nothing_up_across_them() -> None:
    clock = Hand()
    feed = ReplayFeed([series("power", [100, float("nan"), 100, 100])], "log", clock=clock)
    feed.start()
    clock.now += 60
    feed.drain()
    health = feed.healths[Key("bmc", "power")]
    assert health.gaps == 1
    assert health.joules == pytest.approx(100)


def test_replay_of_two_channels_runs_on_one_clock() -> None:
    clock = Hand()
    feed = ReplayFeed([series("a", [1, 2, 3], 2.0, "x"), series("b", [5, 6, 7], 1.0, "y")], "log", clock=clock)
    feed.start()
    clock.now += 2.5
    feed.drain()
    assert [h.now for h in feed.board] == [2, 7]
    assert feed.interval_s == 1.0


class Ramp:
    """A source that counts up: small and real, sampled by the real recorder."""

    name = "ramp"
    min_period = 0.0
    reconnects = 0
    channels = (Channel("power", "box", "node"),)

    def __init__(self) -> None:
        self.asked = 0

    def open(self) -> Info:
        return Info("ramp", "ramp:", "box", self.channels)

    def read(self) -> list[Reading]:
        t, mono, rtt = Stamp.now().middle()
        self.asked += 1
        return [Reading(t, mono, 100.0 + self.asked, rtt, self.name, "power")]

    def close(self) -> None:
        pass


def test_recorder_feed_shows_what_the_file_holds(tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    recorder = Recorder([Ramp()], interval=0.02, file=RecordingFile(path, 0.02))
    feed = RecorderFeed(recorder, "ramp")
    recorder.open()
    feed.start()
    while len(feed.board) == 0 or len(next(iter(feed.board))) < 5:
        time.sleep(0.01)
        feed.drain()
    feed.mark("epoch 1 begins")
    feed.stop("test ended")
    feed.drain()
    history = feed.board.histories[Key("ramp", "power")]
    written = [line.split(",") for line in path.read_text().splitlines() if ",ramp,power," in line]
    assert [float(cells[4]) for cells in written] == history.watts.tolist()
    assert "epoch 1 begins" in path.read_text()
    assert feed.file == path
    assert feed.over
    assert history.scope is Scope.NODE
    assert feed.marks[0].text == "epoch 1 begins"
