"""Loops without epochs: what their own records explain is no finding, and a load still is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.findings.finding import Finding
from powertui.data.model import PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from tests.synthetic.tfevents import write_scalars

BEGIN = 1_795_000_000.0
IDLE_W = 50.0
WORK_W = 137.0
TURN_S = 44.0  # of a loop that evaluates for nearly half of each turn, and logs at its end
EVALUATION_S = 20.0
EVALUATION_W = 25.0
STEP_S = 0.25  # of a loop that logs every step
SLOW_S = (80.0, 120.0)  # its steps wait for input, and take 1.5 times as long


def _findings(folder: Path, record_s: list[float], watts: np.ndarray) -> list[Finding]:
    """The findings of a loop with these records and true watts, a value for each 0.1 s from 20 s
    before its start on, read as means over a second.
    """
    rows = [(BEGIN + at, number, "loss", 1.0) for number, at in enumerate(record_s)]
    write_scalars(folder / "events.out.tfevents.1795000000.vm.77.0", rows, BEGIN - 2)
    noise = np.random.default_rng(5).normal(0, 3, len(watts))
    means = (watts + noise)[: len(watts) // 10 * 10].reshape(-1, 10).mean(axis=1)
    lines = [f"{BEGIN - 19 + second},{mean:.0f}\n" for second, mean in enumerate(means.tolist())]
    log = folder / "power.csv"
    log.write_text("time_unix_s,watts\n" + "".join(lines))
    (entry,) = logdir.scan(folder).trainings
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    found = training_energy(training.seen_from()).findings
    assert not found.reason
    return list(found.findings)


def _turns(load_w: float) -> tuple[list[float], np.ndarray]:
    """Records and watts of six turns; the fourth with a load of 12 s."""
    end_s = 6 * TURN_S
    at = np.arange(-20.0, end_s + 20.0, 0.1)
    into_turn_s = at % TURN_S
    work_w = np.where(into_turn_s < TURN_S - EVALUATION_S, WORK_W, EVALUATION_W)
    watts = IDLE_W + np.where((at >= 0) & (at < end_s), work_w, 0.0)
    watts += load_w * ((at >= 3 * TURN_S + 6) & (at < 3 * TURN_S + 18))
    return [turn * TURN_S for turn in range(7)], watts


def _slow_phase(dip_w: float, times_as_long: float) -> tuple[list[float], np.ndarray]:
    """Records and watts of a loop that draws less for a while, when its steps take longer."""
    records = [0.0]
    while records[-1] < 200.0:
        is_slow = SLOW_S[0] <= records[-1] < SLOW_S[1]
        records.append(records[-1] + STEP_S * (times_as_long if is_slow else 1.0))
    at = np.arange(-20.0, records[-1] + 20.0, 0.1)
    watts = IDLE_W + WORK_W * ((at >= 0) & (at < records[-1]))
    watts -= dip_w * ((at >= SLOW_S[0]) & (at < SLOW_S[1]))
    return records, watts


def test_what_a_loop_does_in_each_of_its_turns_is_no_load(tmp_path: Path) -> None:
    assert _findings(tmp_path, *_turns(load_w=0.0)) == []


def test_a_load_in_one_turn_of_a_loop_that_logs_seldom_is_found(tmp_path: Path) -> None:
    (load,) = _findings(tmp_path, *_turns(load_w=80.0))
    assert load.delta_watts == pytest.approx(80, abs=8)
    assert (load.end_ps - load.start_ps) / PS_PER_S == pytest.approx(12, abs=2)


def test_steps_that_wait_and_draw_less_are_no_finding(tmp_path: Path) -> None:
    assert _findings(tmp_path, *_slow_phase(dip_w=WORK_W / 3, times_as_long=1.5)) == []


@pytest.mark.parametrize("times_as_long", [1.0, 1.1])
def test_a_dip_that_the_steps_do_not_explain_is_told(tmp_path: Path, times_as_long: float) -> None:
    (dip,) = _findings(tmp_path, *_slow_phase(dip_w=WORK_W / 3, times_as_long=times_as_long))
    assert dip.delta_watts == pytest.approx(-WORK_W / 3, abs=5)
