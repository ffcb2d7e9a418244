"""Trainings of which only epochs are logged: what the numbers of short profiles, long epochs and
pauses make of their power.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import drawn_trainings
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy.findings.finding import Findings
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from powertui.report import energy
from tests.synthetic.long_training import BEGIN, EPOCH_S, EPOCHS, long_training
from tests.synthetic.tfevents import write_scalars

Load = tuple[float, float, float]  # from, to (s after BEGIN), W above the idle machine


def _written(
    folder: Path,
    ends: list[float],
    loads: list[Load],
    records: Sequence[tuple[float, int]] = (),
    pace: float = 1.0,
    hole: tuple[float, float] = (0.0, 0.0),
    graph: float | None = BEGIN,
) -> Training:
    """A training whose epochs ended then, its scalars and its power: means over `pace` in steps of
    1 W.
    """
    rows = [(BEGIN + at, step, "batch_loss", 1.0) for at, step in records]
    rows += [(BEGIN + end, number, "epoch_loss", 1.0) for number, end in enumerate(ends)]
    write_scalars(
        folder / "train" / "events.out.tfevents.1700000000.vm.77.0.v2",
        sorted(rows),
        BEGIN,
        graph=graph,
    )
    rng = np.random.default_rng(5)
    at = np.arange(-20.0, ends[-1] + 20.0, 0.05)
    watts = 150 + rng.normal(0, 1, len(at))
    for lo, hi, more in loads:
        watts[(at >= lo) & (at < hi)] += more
    size = round(pace / 0.05)
    count = len(at) // size
    means = watts[: count * size].reshape(count, size).mean(axis=1)
    ends_at = at[0] + (np.arange(count) + 1) * pace
    lines = [
        f"{BEGIN + end:.2f},{round(mean)}\n"
        for end, mean in zip(ends_at.tolist(), means.tolist(), strict=True)
    ]
    (folder / "power.csv").write_text("time_unix_s,watts\n" + "".join(lines))
    (entry,) = logdir.scan(folder).trainings
    return Training(entry, ReadOptions())


def _found(training: Training) -> tuple[Findings, list[tuple[float, float]]]:
    """What stands out, and from when to when (s after BEGIN)."""
    seen = training.seen_from()
    shift = seen.zero_ns / 1e9 - BEGIN
    found = training_energy(seen).findings
    return found, [
        (one.start_ps / PS_PER_S + shift, one.end_ps / PS_PER_S + shift) for one in found.findings
    ]


@pytest.mark.parametrize("are_read", [False, True], ids=["profiles unread", "profiles read"])
def test_the_step_numbers_of_short_profiles_do_not_hide_a_burst(
    tmp_path: Path, are_read: bool
) -> None:
    folder = long_training(tmp_path)
    rows = [(BEGIN + (number + 1) * EPOCH_S, number, "epoch_loss", 1.0) for number in range(EPOCHS)]
    write_scalars(
        folder / "train" / "events.out.tfevents.1700000000.vm.77.0.v2", rows, BEGIN, graph=BEGIN
    )
    (entry,) = logdir.scan(folder).trainings
    training = Training(entry, ReadOptions())
    if are_read:
        assert all(len(training.opened(run).profiles[0].steps) for run in entry.sessions)
        assert len(training.rate)
    found, at = _found(training)
    assert not found.reason
    assert at
    assert min(lo for lo, _ in at) == pytest.approx(45, abs=2)
    assert max(hi for _, hi in at) == pytest.approx(55, abs=2)


@pytest.mark.parametrize("pace", [0.5, 1.0, 2.0, 3.0])
def test_a_burst_over_the_pause_between_two_epochs_is_found(tmp_path: Path, pace: float) -> None:
    """Where other epochs draw anything between idle and training, only a part of the load shows."""
    starts = np.cumsum([0.0, 9.1, 9.7, 10.2, 10.4, 10.1, 10.7]).tolist()
    loads = [(lo + 2.8, hi - 0.1, 60.0) for lo, hi in pairwise(starts)]
    burst = (35.0, 44.0)
    found, at = _found(_written(tmp_path, starts[1:], [*loads, (*burst, 60.0)], pace=pace))
    assert at, found.could
    assert min(lo for lo, _ in at) == pytest.approx(burst[0], abs=2 + pace)
    assert max(hi for _, hi in at) == pytest.approx(burst[1], abs=2 + pace)
    assert {one.epoch for one in found.findings} <= {3, 4}


def test_every_second_epoch_that_evaluates_for_long_is_no_finding(tmp_path: Path) -> None:
    """Seven epochs of 38 minutes, every second one of which evaluates for ten minutes more, and a
    log with holes.
    """
    assert not drawn_trainings.judge(drawn_trainings.drawn(101), tmp_path).loud_quiet


def test_a_pause_that_the_records_tell_is_no_finding(tmp_path: Path) -> None:
    """Steps of 2 s, a record every ten of them, and 16 s to save: less than twice the usual from
    record to record.
    """
    loads, records, ends, now, done = [], [], [], 0.0, 0
    for epoch in range(4):
        for step in range(100):
            loads.append((now, now + 2.0, 300.0))
            now += 2.0
            done += 1
            if done % 10 == 0:
                records.append((now, done))
            if epoch == 2 and step == 46:
                now += 16.0
        ends.append(now)
    found, at = _found(_written(tmp_path, ends, loads, records))
    assert not found.reason
    assert at == []
    begins = found.apart[0]  # until the first ten steps are done nothing tells how it started
    assert begins[1] - begins[0] == pytest.approx(10, abs=1)
    assert found.could.endswith("% of the time); a smaller one can hide")


@pytest.mark.parametrize("ends", [[19.8, 39.9, 59.2, 77.6, 96.9], [14.8, 25.3, 36.6, 47.1, 57.4]])
def test_a_log_without_a_clock_is_not_laid_one_epoch_late_where_only_ends_of_epochs_are_logged(
    tmp_path: Path, ends: list[float]
) -> None:
    loads = [(0.0, ends[-1], 90.0), (55.0, 60.0, 60.0)]
    _written(tmp_path, ends, loads, pace=0.1, graph=None)
    log = tmp_path / "power.csv"
    header, *lines = log.read_text().splitlines()
    first = float(lines[0].partition(",")[0])
    rows = [line.partition(",") for line in lines]
    relative = [f"{float(time) - first:.2f},{watts}" for time, _, watts in rows]
    log.write_text("\n".join([header.replace("time_unix_s", "elapsed_s"), *relative]) + "\n")

    (entry,) = logdir.scan(tmp_path).trainings
    (channel,) = Training(entry, ReadOptions()).power

    zero = channel.zero
    assert zero is not None
    assert abs(zero.ns / 1e9 - first) < 2.0
    alignment = channel.alignment
    assert alignment.lo_s is not None
    assert alignment.hi_s is not None
    base_s = channel.base_ns / 1e9
    assert base_s + alignment.lo_s <= first <= base_s + alignment.hi_s
    energies = training_energy(Training(entry, ReadOptions()).seen_from()).epochs()
    for window, (begin, end) in zip(energies, pairwise([0.0, *ends]), strict=True):
        true_j = 240 * (end - begin)
        true_j += 60 * max(0.0, min(end, 60.0) - max(begin, 55.0))
        measured = window.energy
        assert measured is not None
        assert measured.lo is not None
        assert measured.hi is not None
        assert measured.lo <= true_j <= measured.hi


def test_a_log_that_nothing_places_says_why_and_what_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [20.0, 40.0, 60.0]
    _written(tmp_path, ends, [])
    log = tmp_path / "power.csv"
    log.write_text(
        "elapsed_s,watts\n" + "".join(f"{number:.1f},{200 + number % 3}\n" for number in range(80))
    )
    energy.tell(
        str(tmp_path), None, ReadOptions(power=(str(log),), find_power=False), Aligning(), "text"
    )
    told = capsys.readouterr().out
    assert "power.csv is not aligned" in told
    assert (
        "a log with wall time, or scalars every few batches (update_freq), would place it" in told
    )


def test_batches_that_took_longer_and_drew_more_are_told_with_their_seconds(tmp_path: Path) -> None:
    """Four epochs of 100 steps of 0.5 s, a record every ten; in the third, steps 30 to 69 take 0.7
    s and 100 W more.
    """
    loads, records, ends, now, done = [], [], [], 0.0, 0
    for epoch in range(4):
        for step in range(100):
            slow = epoch == 2 and 30 <= step < 70
            each = 0.7 if slow else 0.5
            loads.append((now, now + each, 400.0 if slow else 300.0))
            now += each
            done += 1
            if done % 10 == 0:
                records.append((now, done))
        ends.append(now)
        now += 1.0
    found, _ = _found(_written(tmp_path, ends, loads, records))
    (one,) = found.findings
    assert one.epoch == 2
    assert one.delta_seconds == pytest.approx(7.0, abs=1.5), (
        "of those of its batches that lie between two records"
    )
    assert f"{one.delta_seconds:+.2f} s" in one.text


def test_a_burst_in_one_of_few_epochs_with_pauses_is_the_only_finding(tmp_path: Path) -> None:
    """Pauses and the burst were taken for noise, and the training after a pause was a finding."""
    ends = [14.2, 32.7, 53.1]
    loads = [(0.0, 14.2, 60.0), (19.4, 32.7, 60.0), (39.4, 53.1, 60.0), (24.5, 33.0, 48.0)]
    _, at = _found(_written(tmp_path, ends, loads, graph=None))
    assert at == [(pytest.approx(24.5, abs=1.5), pytest.approx(33.0, abs=1.5))]


def test_a_log_that_ends_in_the_first_epoch_it_can_judge_has_nothing_to_compare_it_with(
    tmp_path: Path,
) -> None:
    """The pause before it was the usual level, and its work was a load of 68 W."""
    loads = [(0.0, 19.7, 60.0), (25.0, 43.0, 60.0), (48.0, 68.0, 60.0)]
    _written(tmp_path, [19.7, 43.0, 68.0], loads, graph=None, pace=0.5)
    log = tmp_path / "power.csv"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:98]))  # from 20 s before the training to 28 s after its begin
    (entry,) = logdir.scan(tmp_path).trainings
    found, at = _found(Training(entry, ReadOptions()))
    assert not at
    assert "one epoch of the power log" in found.reason
