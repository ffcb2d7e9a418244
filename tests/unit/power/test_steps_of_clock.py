"""A log's clock that was set while it ran, told by how its rows follow one another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data.power import registry, steps_of_clock

S = 1_000_000_000


def polls(seed: int, poll: float, rows: int = 400, missed: float = 0.01) -> np.ndarray:
    """Asked every `poll`, late by a little each time and now and then by half of it; some polls get
    no answer.
    """
    rng = np.random.default_rng(seed)
    late = rng.exponential(0.02 * poll, rows) + (rng.random(rows) < 0.01) * rng.uniform(
        0, 0.5 * poll, rows
    )
    at = np.arange(rows) * poll + np.minimum(late, 0.9 * poll)
    return np.round(at[rng.random(rows) >= missed] * S).astype(np.int64)


@pytest.mark.parametrize("poll", [0.04, 0.1, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("step", [0.4, -0.4, -2.3, 1.7])
def test_a_step_is_found_with_its_length(poll: float, step: float) -> None:
    if abs(step / poll - round(step / poll)) < 0.15 and abs(step) < 2.5 * poll:
        pytest.skip("as long as a poll or two that got no answer")
    found = []
    for seed in range(20):
        ns = polls(seed, poll)
        ns[len(ns) // 2 :] += round(step * S)
        joined = steps_of_clock.join_rows(ns)
        found.append(len(joined.steps_ns) == 1 and abs(joined.steps_ns[0] / S - step) < 0.1)
        if step < 0 and found[-1]:
            assert (np.diff(joined.ns) > 0).all()
            assert joined.early_ns <= 0 <= joined.late_ns
            assert joined.late_ns - joined.early_ns == pytest.approx(-step * S, abs=0.1 * S)
    assert np.mean(found) >= 0.8


@pytest.mark.parametrize("poll", [0.04, 0.25, 1.0, 10.0])
def test_polls_that_come_late_or_never_are_no_step(poll: float) -> None:
    assert not any(
        steps_of_clock.join_rows(polls(seed, poll, missed=0.02)).steps_ns for seed in range(60)
    )


def test_pauses_again_and_again_are_pauses() -> None:
    ns = polls(1, 0.2)
    ns = ns + np.arange(len(ns)) // 11 * (11 * S // 10)
    assert not steps_of_clock.join_rows(ns).steps_ns


@pytest.mark.parametrize("pauses", [2, 3])
def test_a_few_pauses_of_one_length_are_pauses(pauses: int) -> None:
    ns = polls(1, 0.1)
    long = ns + np.minimum(np.arange(len(ns)) // 100, pauses) * (13 * S // 10)
    assert not steps_of_clock.join_rows(long).steps_ns
    long[100:] -= 8 * S // 10  # of two lengths, one may be a clock that was set
    assert len(steps_of_clock.join_rows(long).steps_ns) == pauses


def test_a_pause_that_another_clock_knows_is_one() -> None:
    ns = polls(1, 0.1)
    ns[200:] += 4 * S // 10
    assert steps_of_clock.join_rows(ns).steps_ns
    assert not steps_of_clock.join_rows(ns, paused=True).steps_ns


@pytest.mark.parametrize("step", [0.4, -0.4])
def test_a_counter_tells_a_step_from_a_pause(tmp_path: Path, step: float) -> None:
    """What was counted since the row before is that of a usual distance; in a pause it is that of
    the whole pause.
    """
    ns = polls(3, 0.1, missed=0.0)
    joules = 250.0 * ns / S
    later = ns.copy()
    later[200:] += round(step * S)
    rows = "".join(
        f"{1_795_000_000 + at / S:.6f},{e:.6f}\n"
        for at, e in zip(later.tolist(), joules.tolist(), strict=True)
    )
    path = tmp_path / "counter.csv"
    path.write_text("time_unix_s,energy_j\n" + rows)
    (one,) = registry.load(str(path)).series
    assert (np.diff(one.times) > 0).all()
    assert one.times[-1] - one.times[0] == pytest.approx(ns[-1] - ns[0], abs=0.02 * S)
    assert one.watts[1:] == pytest.approx(250, rel=0.25)
    assert one.parted_s == 0

    asleep = ns.copy()
    asleep[200:] += S // 2
    joules = 250.0 * asleep / S
    assert not steps_of_clock.join_rows(asleep, joules=np.diff(joules, prepend=np.nan)).steps_ns


def test_rows_that_may_have_paused_may_lie_elsewhere(tmp_path: Path) -> None:
    ns = polls(4, 0.1)
    ns[200:] += 4 * S // 10
    (one,) = registry.load(str(written(tmp_path, ns))).series
    assert one.parted_s == pytest.approx(0.4, abs=0.05)


def test_a_buffer_that_was_written_twice_and_two_logs_in_one_file_are_no_steps() -> None:
    ns = polls(2, 0.5, missed=0.0)
    assert not steps_of_clock.join_rows(np.concatenate([ns[:100], ns[60:]])).steps_ns
    assert not steps_of_clock.join_rows(np.concatenate([ns + 10_000 * S, ns])).steps_ns
    swapped = ns.copy()
    swapped[[100, 101]] = swapped[[101, 100]]
    assert not steps_of_clock.join_rows(swapped).steps_ns


def written(folder: Path, ns: np.ndarray, stamp: str = "unix") -> Path:
    rows = []
    for i, at in enumerate(ns.tolist()):
        if stamp == "unix":
            rows.append(f"{1_795_000_000 + at / S:.6f},{200 + i % 7}")
        else:
            when = np.datetime64("2026-10-25T02:40:00") + np.timedelta64(at // 1000, "us")
            rows.append(f"{str(when).replace('T', ' ')},{200 + i % 7}")
    path = folder / "power.csv"
    path.write_text(
        ("time_unix_s" if stamp == "unix" else "time") + ",watts\n" + "\n".join(rows) + "\n"
    )
    return path


def test_the_log_says_so_and_its_place_holds_both_clocks(tmp_path: Path) -> None:
    ns = polls(4, 0.25)
    ns[300:] -= 4 * S // 10
    log = registry.load(str(written(tmp_path, ns)))
    said = [str(warning) for warning in log.warnings]
    assert any("the clock of the log was set while it ran (-0.4 s)" in words for words in said), (
        said
    )
    clock = log.series[0].clock
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    assert clock.hi_ns - clock.lo_ns == pytest.approx(0.4 * S, abs=0.05 * S)
    assert (np.diff(log.series[0].times) > 0).all()


def test_the_hour_that_local_time_repeats(tmp_path: Path) -> None:
    ns = polls(5, 5.0, rows=480)
    back = ns >= 1200 * S
    ns[back] -= 3600 * S
    log = registry.load(str(written(tmp_path, ns, "local")))
    assert any("repeat an hour" in str(warning) for warning in log.warnings)
    times = log.series[0].times
    assert (np.diff(times) > 0).all()
    assert (times[-1] - times[0]) / S == pytest.approx(480 * 5, abs=30)
