"""The unit of the AIU's power sum, by an `aiu-smi` log beside the trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import powertui
from powertui.data.asked import Aligning
from powertui.data.energy import account, aiu_scale, devices, op_energy, profiled_gpus
from powertui.data.energy.aiu_scale import SumScale
from powertui.data.energy.op_energy import ASSUMED
from powertui.data.model import Badge
from powertui.data.opened import Opened
from tests.unit import aiu_traces

ZERO_S = 1_790_000_000


def opened(
    folder: Path,
    scale: float = 1.53,
    *,
    cards: int = 1,
    seconds: float = 12.0,
    noise_w: float = 0.2,
) -> Opened:
    made = list(aiu_traces.ops(seconds, cards))
    aiu_traces.write_flex(folder / "raw.json", made, ZERO_S * 1_000_000)
    aiu_traces.write_log(folder / "aiu-smi.txt", made, ZERO_S, scale, noise_w)
    run = powertui.open(folder, tz="UTC")[0]
    return run.opened


def scale_of(run: Opened) -> SumScale | None:
    return op_energy.own_scale(run.profiles[0], Aligning())


@pytest.mark.parametrize(("truth", "cards"), [(1.53, 1), (0.8, 1), (1.53, 2)])
def test_the_scale_is_found_within_its_interval(tmp_path: Path, truth: float, cards: int) -> None:
    scale = scale_of(opened(tmp_path, truth, cards=cards))
    assert scale is not None
    assert scale.lo < truth < scale.hi
    assert scale.half < 0.03 * truth
    assert scale.log == "aiu-smi.txt"
    assert scale.readings >= 11 * cards


def test_joules_and_their_badge_follow_the_scale(tmp_path: Path) -> None:
    run = opened(tmp_path)
    scale = scale_of(run)
    assert scale is not None
    counted = account.energy_account(run.profiles[0])
    own = next(channel for channel in counted.placed if channel.power.series.path.endswith("json"))
    sensor = own.power.series.sensor
    assert sensor.scale is Badge.ESTIMATED
    assert sensor.gain is not None
    assert sensor.gain.value == pytest.approx(scale.half / scale.factor)
    assert scale.sentence() in own.alignment.evidence
    energy = counted.energy(0, 10 * 10**12)
    assert energy is not None
    assert energy.badge is Badge.ESTIMATED
    made = [
        op for op in aiu_traces.ops(12.0) if op.cycles[2] - 4_200_000_000 < 10 * aiu_traces.RATE
    ]
    drawn = sum(op.watts * (op.cycles[2] - op.cycles[0]) for op in made) / aiu_traces.RATE
    assert energy.joules == pytest.approx(drawn * scale.factor, rel=2e-3)


def test_the_op_table_says_what_its_joules_stand_on(tmp_path: Path) -> None:
    beside = opened(tmp_path)
    scale = scale_of(beside)
    assert scale is not None
    from powertui.data.tools.registry import Question

    assert op_energy.answer(Question(beside)).notes == (
        f"Energy is by the AIU's power sum; {scale.sentence()}.",
    )
    (tmp_path / "aiu-smi.txt").unlink()
    alone = powertui.open(tmp_path, tz="UTC")[0].opened
    assert op_energy.answer(Question(alone)).notes == (ASSUMED,)


def test_a_sensor_that_does_not_follow_settles_nothing(tmp_path: Path) -> None:
    assert scale_of(opened(tmp_path, noise_w=30.0)) is None


def test_a_few_readings_settle_nothing(tmp_path: Path) -> None:
    assert scale_of(opened(tmp_path, seconds=4.5)) is None


@pytest.mark.parametrize("shift_s", [-1, 1])
def test_a_clock_that_is_seconds_off_is_found_by_the_sum_itself(
    tmp_path: Path, shift_s: int
) -> None:
    made = list(aiu_traces.ops(12.0))
    aiu_traces.write_flex(tmp_path / "raw.json", made, ZERO_S * 1_000_000)
    log = tmp_path / "aiu-smi.txt"
    aiu_traces.write_log(log, made, ZERO_S, 1.53)
    run = powertui.open(tmp_path, tz="UTC")[0].opened
    placed = account.placed_as_read(run.profiles[0], Aligning())
    moved = []
    for channel in placed:
        power = channel.power
        if power.series.path == str(log):
            late_ps = shift_s * 10**12
            power = replace(
                power,
                times=power.times + late_ps,
                offset_ps=power.offset_ps + late_ps,
                offset_lo_ps=power.offset_ps + late_ps - 2 * 10**12,
                offset_hi_ps=power.offset_ps + late_ps + 2 * 10**12,
                status="ambiguous",
            )
        moved.append(replace(channel, power=power))
    scale = aiu_scale.found_scale(moved)
    assert scale is not None
    assert scale.lo < 1.53 < scale.hi
    assert scale.half < 0.03 * 1.53


def test_a_log_that_a_person_gave_to_the_host_does_not_displace_the_sum(tmp_path: Path) -> None:
    run = opened(tmp_path)
    power = [placed.power for placed in account.placed_as_read(run.profiles[0], Aligning())]
    given = [row for row, each in enumerate(power) if each.series.path.endswith("aiu-smi.txt")]
    own = devices.pairs(run.run.traces[0], power)
    assert [power[pair.channel or 0].series.sensor.name for pair in own] == ["AIU 0 power sum"]
    assert profiled_gpus.other_gpus(run.run.traces, power, lambda: own, given) == frozenset()
