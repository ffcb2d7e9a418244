"""Steps that are shorter than the time between two readings of moments: joules that hold the truth,
or none.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.asked import Aligning
from powertui.data.energy.account import energy_account
from powertui.data.energy.measured_energy import Energy
from powertui.data.opened import Opened

BASE_S = 1_700_000_000
AROUND_S = 120
IDLE_W, PAUSE_W, WORK_W = 70.0, 120.0, 400.0
RUN_S = 60.0


def energy_of(
    folder: Path, step_s: float, wander: float, every_s: float, seed: int, window_s: float = 0.0
) -> tuple[Energy, float]:
    """What a run of such steps drew by a log, and in truth. A device works for three fifths of each
    step; a reading is of a moment, or the mean of a window.
    """
    chance = random.Random(seed)
    begin_s, works = 0.0, []
    while begin_s < RUN_S:
        length_s = step_s * math.exp(chance.gauss(0, wander))
        works.append((begin_s, begin_s + 0.6 * length_s))
        begin_s += length_s
    end_s = works[-1][1]
    events: list[dict[str, object]] = [
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
    ]
    for number, (lo_s, hi_s) in enumerate(works):
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": "gemm_f32",
                "pid": 0,
                "tid": 7,
                "ts": round(lo_s * 1e6, 3),
                "dur": round((hi_s - lo_s) * 1e6, 3),
                "args": {"device": 0, "stream": 7, "correlation": number + 1},
            }
        )
    document = {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
        "baseTimeNanoseconds": BASE_S * 10**9,
        "traceEvents": events,
    }
    (folder / "node0_100.1700000000000000000.pt.trace.json").write_text(json.dumps(document))

    def joules(until_s: float) -> float:
        inside_s = min(max(until_s, 0.0), end_s)
        worked_s = sum(max(0.0, min(hi_s, inside_s) - lo_s) for lo_s, hi_s in works)
        outside_s = until_s - inside_s
        return IDLE_W * outside_s + PAUSE_W * inside_s + (WORK_W - PAUSE_W) * worked_s

    phase_s = chance.uniform(0, every_s)
    width_s = window_s or 1e-6
    lines = ["unix_time,power_w"]
    for number in range(int((RUN_S + 2 * AROUND_S) / every_s)):
        at_s = phase_s - AROUND_S + number * every_s
        watts = (joules(at_s) - joules(at_s - width_s)) / width_s
        lines.append(f"{BASE_S + at_s:.6f},{watts + chance.gauss(0, 0.5):.1f}")
    (folder / "power.csv").write_text("\n".join(lines) + "\n")
    (entry,) = logdir.scan(str(folder)).runs
    profile = Opened(entry).profiles[0]
    energy = energy_account(profile, Aligning("clock")).energy(*profile.trace.span)
    assert energy is not None
    return energy, joules(end_s)


@pytest.mark.parametrize(("step_s", "every_s"), [(0.25, 1.0), (0.05, 1.0), (0.5, 2.0), (1.0, 5.0)])
def test_readings_of_the_same_part_of_each_step_give_no_joules_and_say_what_would(
    tmp_path: Path, step_s: float, every_s: float
) -> None:
    energy, _ = energy_of(tmp_path, step_s, 0.0, every_s, seed=1)
    assert energy.joules is None
    assert "readings meet the same part of it each time" in energy.reason
    assert "A counter of joules, a sensor of means" in energy.reason


@pytest.mark.parametrize(
    ("step_s", "wander", "every_s"), [(0.3, 0.02, 1.0), (0.7, 0.05, 2.0), (0.9, 0.1, 1.0)]
)
def test_readings_of_different_parts_hold_the_truth_in_their_interval(
    tmp_path: Path, step_s: float, wander: float, every_s: float
) -> None:
    held = 0
    for seed in range(8):
        energy, truth = energy_of(tmp_path, step_s, wander, every_s, seed)
        assert energy.lo is not None
        assert energy.hi is not None
        held += energy.lo <= truth <= energy.hi
    assert held >= 7


def test_means_over_the_time_between_two_readings_lose_nothing(tmp_path: Path) -> None:
    energy, truth = energy_of(tmp_path, 0.25, 0.0, 1.0, seed=3, window_s=1.0)
    assert energy.joules == pytest.approx(truth, rel=0.02)
