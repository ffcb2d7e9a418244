"""When a training ran steps and when it did neither, by what was logged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import drawn_trainings
from powertui.data import logdir
from powertui.data.model import NS_PER_S as NS
from powertui.data.training import stretches
from powertui.data.training.stretches import PAUSE
from powertui.data.training.training import Training
from tests.synthetic.tfevents import write_scalars


@pytest.mark.parametrize("epochs", [1, 2, 4])
def test_a_pause_at_the_end_of_the_last_epoch_is_one_as_at_the_end_of_the_others(
    tmp_path: Path, epochs: int
) -> None:
    step_s, pause_s, begin = 0.18, 3.0, 1_700_000_000.0
    rows = []
    for epoch in range(epochs):
        at = begin + epoch * (100 * step_s + pause_s)
        rows += [
            (at + step * step_s, epoch * 100 + step, "batch_loss", 1.0 / step)
            for step in range(10, 101, 10)
        ]
        rows.append((at + 100 * step_s + pause_s, epoch, "epoch_loss", 1.0 / (1 + epoch)))
    write_scalars(tmp_path / "train" / "events.out.tfevents.1700000000.vm.77.0.v2", rows, begin)
    (entry,) = logdir.scan(tmp_path).trainings
    start, end = Training(entry).stretches.spans(PAUSE)
    assert len(start) == epochs
    assert (end - start) / 1e9 == pytest.approx([pause_s] * epochs, abs=0.3)


def test_how_many_last_steps_an_epoch_had_places_their_end_to_a_tenth_of_their_time() -> None:
    """Four seconds of steps, half of them before the bound that the epoch's scalars tell, then a
    pause.
    """
    rest = stretches._Rest(2.0 * NS, 0.0)
    rows = stretches._split(0, 20 * NS, 4.0 * NS, 12 * NS, None, rest)
    (pause,) = [row for row in rows if row[:2] == (2 * NS, 12 * NS)]
    assert pause[3] - stretches.LOGGED_NS == pytest.approx(0.4 * NS)


def test_one_pause_that_draws_more_than_the_others_is_no_finding(tmp_path: Path) -> None:
    """A checkpoint of 13 s among pauses of a second between epochs: nobody knows its level
    beforehand, nor where between two records it lies.
    """
    found = drawn_trainings.judge(drawn_trainings.drawn(11082), tmp_path)
    assert not found.loud_quiet, found.lines
    assert found.windows == 9
    assert found.inside >= 8, found.lines  # intervals hold 95 of 100


def test_last_steps_that_no_record_counts_leave_their_end_open(tmp_path: Path) -> None:
    """Steps of 0.2 s, a record every 10 of them, and 107 or 100 in the only epoch: its last record
    is the same.
    """
    step_s, begin = 0.2, 1_700_000_000.0
    rows = [(begin + step * step_s, step, "batch_loss", 1.0 / step) for step in range(10, 101, 10)]
    rows.append((begin + 107 * step_s + 3.0, 0, "epoch_loss", 1.0))
    write_scalars(tmp_path / "train" / "events.out.tfevents.1700000000.vm.77.0.v2", rows, begin)
    (entry,) = logdir.scan(tmp_path).trainings
    moments, half = Training(entry).stretches.edges()
    steps_end = int((begin + 107 * step_s) * NS)
    nearest = int(np.argmin(np.abs(moments[1:-1] - steps_end))) + 1
    assert abs(int(moments[nearest]) - steps_end) <= int(half[nearest])
