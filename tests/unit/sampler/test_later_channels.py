"""Channels that a source finds only after it was opened."""

from __future__ import annotations

from powertui.data.power import registry
from powertui.sampler.recorder import Recorder
from powertui.sampler.recording_file import RecordingFile
from powertui.sampler.source import OK, Channel, Info, Reading, Stamp
from tests.waiting import until


class GrowingSource:
    """Has one GPU more each time it is asked."""

    name = "s"
    min_period = 0.0
    reconnects = 0

    def __init__(self) -> None:
        self.channels: tuple[Channel, ...] = ()

    def open(self) -> Info:
        return Info("nvidia-smi", "test:", "", self.channels)

    def read(self) -> list[Reading]:
        number = len(self.channels)
        channel = Channel(f"GPU {number}", scope="gpu", index=number)
        self.channels = (*self.channels, channel)
        t, mono, rtt = Stamp.now().middle()
        return [Reading(t, mono, 100.0, rtt, self.name, channel.name, OK)]

    def close(self) -> None:
        pass


def test_a_channel_that_comes_later_is_described_before_its_first_row(tmp_path) -> None:
    """A log of GPUs may be empty when its recording begins; what its rows say is not lost."""
    path = tmp_path / "p.csv"
    file = RecordingFile(path, 0.05)
    source = GrowingSource()
    recorder = Recorder([source], interval=0.05, file=file)
    recorder.open()
    recorder.start()
    until(lambda: len(source.channels) >= 3)
    recorder.stop()
    lines = path.read_text().splitlines()
    for number in (0, 1, 2):
        described = next(i for i, line in enumerate(lines) if f'"name": "GPU {number}"' in line)
        row = next(i for i, line in enumerate(lines) if f",s,GPU {number}," in line)
        assert lines[described].startswith("# source: ")
        assert described < row
    assert len(path.read_bytes()) < 3_000  # each is described once
    log = registry.load(str(path))
    assert [series.sensor.device.index for series in log.series[:3]] == [0, 1, 2]
