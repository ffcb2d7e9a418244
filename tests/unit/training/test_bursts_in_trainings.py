"""Foreign loads in trainings of which only the epochs are logged: over their borders, beside a
pause, in the first epoch; and the quiet ones.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import powertui
from benchmarks import burst_answers
from benchmarks.burst_answers import Cell
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.findings.finding_texts import where
from powertui.data.energy.findings.residual_noise import calm, residual_noise
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from tests.synthetic.tfevents import write_scalars

BEGIN = 1_795_000_000.0
ENDS = (10.0, 30.0, 40.0, 50.0, 60.0)  # the second epoch pauses for 10 s
PAUSE = (17.0, 27.0)
LOAD = (43.0, 57.0)  # over the border of the last two epochs


def _found(
    folder: Path, sensor: str, watts: float = 60.0, log_end: float = ENDS[-1] + 12.0
) -> list[Finding]:
    """The findings of that training, with a load of so many watts."""
    rows = [(BEGIN + end, number, "epoch_loss", 1.0) for number, end in enumerate(ENDS)]
    write_scalars(
        folder / "train" / "events.out.tfevents.1795000000.vm.77.0.v2", rows, BEGIN, graph=BEGIN
    )
    rng = np.random.default_rng(11)
    at = np.arange(-12.0, log_end, 0.01)
    power = 150.0 + 60.0 * ((at >= 0) & (at < ENDS[-1]) & ~((at >= PAUSE[0]) & (at < PAUSE[1])))
    power += watts * ((at >= LOAD[0]) & (at < LOAD[1])) + rng.normal(0, 5, len(at))
    window, quantum = {"3 s, 7 W": (3.0, 7.0), "1 s": (1.0, 1.0), "0.1 s": (0.1, 0.1)}[sensor]
    size = round(window / 0.01)
    means = power[: len(power) // size * size].reshape(-1, size).mean(axis=1)
    # It is asked more often than it changes, as BMCs are.
    asked = np.arange(at[0] + window, at[-1], min(0.3, window))
    shown = (np.round(means / quantum) * quantum)[((asked - at[0]) / window + 1e-6).astype(int) - 1]
    ends = asked
    lines = (f"{BEGIN + end:.2f},{w:.1f}\n" for end, w in zip(ends.tolist(), shown, strict=True))
    (folder / "power.csv").write_text("time_unix_s,watts\n" + "".join(lines))
    (entry,) = logdir.scan(folder).trainings
    seen = Training(entry, ReadOptions()).seen_from()
    shift = round((seen.zero_ns / 1e9 - BEGIN) * PS_PER_S)
    found = training_energy(seen).findings
    assert not found.reason
    assert len(found.findings) < 2 or watts, found.findings
    for one in found.findings:
        if one.kind == "power":
            assert one.start_ps + shift == pytest.approx(LOAD[0] * PS_PER_S, abs=3 * PS_PER_S)
            assert one.end_ps + shift == pytest.approx(
                min(LOAD[1], log_end) * PS_PER_S, abs=3 * PS_PER_S
            )
    return [one for one in found.findings if one.kind == "power"]


@pytest.mark.parametrize("sensor", ["3 s, 7 W", "1 s", "0.1 s"])
def test_a_load_over_the_border_of_two_epochs_is_one_finding_though_one_epoch_paused(
    tmp_path: Path, sensor: str
) -> None:
    (one,) = _found(tmp_path, sensor)
    assert one.epochs == (3, 4)
    assert one.text.startswith("from epoch 3, ")
    assert ", to epoch 4, " in one.text
    assert where(one) == one.crossing
    in_epoch = replace(one, crossing="", epoch=1, step_lo=None, step_hi=None, share=(0.11, 0.33))
    assert where(in_epoch) == "epoch 1, 11 % to 33 % of it"
    assert one.text.startswith(f"{one.crossing}: ")
    assert one.lo_watts is not None
    assert one.hi_watts is not None
    assert one.lo_watts < 60 < one.hi_watts
    assert one.cut == (False, False)


def test_a_load_in_which_the_log_of_a_training_ends_says_so(tmp_path: Path) -> None:
    (one,) = _found(tmp_path, "1 s", log_end=54.0)
    assert one.cut == (False, True)


@pytest.mark.parametrize("sensor", ["3 s, 7 W", "1 s", "0.1 s"])
def test_the_pause_of_one_epoch_is_no_load_in_the_others(tmp_path: Path, sensor: str) -> None:
    assert _found(tmp_path, sensor, watts=0.0) == []


@pytest.mark.parametrize(
    ("log", "first", "last"),
    [("power.csv", 3, 4), ("missed_1s_60W_15s.csv", 4, 4), ("missed_1s_60W_5s.csv", 2, 2)],
)
def test_the_loads_of_a_recorded_training_are_found(
    shared_data: Path, log: str, first: int, last: int
) -> None:
    folder = shared_data / "own" / "long_training_2"
    if not folder.exists():
        pytest.skip("not recorded here")
    (entry,) = logdir.scan(folder / "logs").trainings
    options = ReadOptions(power=(str(folder / log),), find_power=False)
    found = training_energy(Training(entry, options).seen_from()).findings
    (one,) = (one for one in found.findings if one.kind == "power")
    assert (one.epochs[0], one.epochs[-1]) == (first, last)
    assert one.delta_watts == pytest.approx(60, abs=5)


def test_the_first_sentence_of_a_load_over_two_epochs_names_both(shared_data: Path) -> None:
    folder = shared_data / "own" / "long_training"
    if not folder.exists():
        pytest.skip("not recorded here")
    runs = powertui.open(folder, power=folder / "power.csv")
    sentences = [run.conclusions["sentence"].iloc[0] for run in runs]
    for sentence in sentences:
        figures = re.match(
            r"From epoch (3), batch (\d+) ± (\d+), to epoch (4), batch (\d+)", sentence
        )
        assert figures is not None, sentence
        # It began at batch 120 of epoch 3, and was over at batch 68 of epoch 4.
        assert abs(int(figures[2]) - 120) <= int(figures[3])


def test_what_a_matched_filter_sees_is_found_and_quiet_logs_have_no_finding(tmp_path: Path) -> None:
    """Fresh trainings: the bars are those of `make bench TOPICS=energy`, with room for the few."""
    cell = Cell()
    for seed in range(300, 309):
        for sensor in ("mean 1 s, 1 W", "mean 3 s, 7 W"):
            burst_answers.judge(seed, sensor, cell, tmp_path / f"{seed} {sensor}")
    assert cell.quiet_false == 0, cell.lines
    assert cell.due_found >= 0.85 * cell.due >= 5, cell.lines
    assert cell.promised_found >= 0.75 * cell.promised, cell.lines
    assert cell.split == 0


def test_noise_is_learned_without_the_loads_however_many_readings_these_fill() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 2, 300)
    values[40:100] += 60
    values[200:250] -= 50
    kept = calm(values, 0.3)
    assert len(kept) == 190
    assert residual_noise(kept, 0.3).single == pytest.approx(2, rel=0.15)


def test_few_readings_that_happen_to_be_alike_do_not_show_that_there_is_no_noise() -> None:
    assert residual_noise(np.zeros(3), 0.29, usual_w=200.0).single > 1.0
    assert residual_noise(np.zeros(3000), 0.29, usual_w=200.0).single == pytest.approx(
        0.29, rel=0.05
    )
