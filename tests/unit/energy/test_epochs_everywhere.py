"""A stretch that is unlike the other epochs must be so wherever the log may lie, not at its
likeliest place alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import powertui
from powertui.data.energy import placing
from powertui.data.energy.findings import epoch_differences
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.model import (
    PS_PER_S,
    Epochs,
    LogPlace,
    PowerOnTrace,
    PowerSeries,
    Scope,
    Sensor,
    Steps,
)


def unlike(start: float, watts: float) -> epoch_differences.Unlike:
    end = start + 2.0
    box = Box(
        start,
        end,
        (start, start),
        (end, end),
        watts,
        watts - 1,
        watts + 1,
        2 * watts,
        2 * watts - 1,
        2 * watts + 1,
        1e-9,
    )
    return epoch_differences.Unlike(0, box)


def placed(*places: LogPlace) -> PowerOnTrace:
    series = PowerSeries(
        Sensor("watts", "csv", Scope.NODE), np.arange(40) * 1_000_000_000, np.full(40, 200.0)
    )
    return placing.on_trace(
        series, 0, -PS_PER_S, 0, "ambiguous" if places else "aligned", "test", places
    )


@pytest.mark.parametrize(
    ("weights", "there", "stays"),
    [
        ((0.5, 0.5), {-1.0: [unlike(9.0, 50.0)]}, True),  # the same of the log, a second earlier
        ((0.5, 0.5), {-1.0: []}, False),
        ((0.5, 0.5), {-1.0: [unlike(9.0, -50.0)]}, False),
        ((0.5, 0.5), {-1.0: [unlike(10.9, 50.0)]}, False),  # another part of the log
        ((0.95, 0.05), {-1.0: []}, True),  # hardly likely
        ((0.99, 0.01), {}, True),
    ],
    ids=[
        "there too",
        "not there",
        "less there",
        "elsewhere in the log",
        "an unlikely place",
        "a place not worth a look",
    ],
)
def test_what_stands_out_at_the_likeliest_place_alone_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
    weights: tuple[float, float],
    there: dict[float, list[epoch_differences.Unlike]],
    stays: bool,
) -> None:
    mine = unlike(10.0, 50.0)
    asked: list[float] = []

    def power(_folded: Any, one: Any) -> list[epoch_differences.Unlike]:
        at = one.offset_ps / PS_PER_S
        asked.append(at)
        return [mine] if at == 0.0 else there[at]

    monkeypatch.setattr(epoch_differences, "power", power)
    monkeypatch.setattr(epoch_differences.folding, "fold", lambda *_: object())
    log = placed(LogPlace(0, weights[0], 0), LogPlace(-PS_PER_S, weights[1], 0))
    kept = epoch_differences.at_nearly_all_places([mine], Steps.none(), Epochs(), log)
    assert kept == ([mine] if stays else [])
    assert asked == ([0.0, -1.0] if weights[1] >= 0.02 else [])


def test_one_place_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_differences, "power", lambda *_: pytest.fail("that is known already"))
    mine = unlike(10.0, 50.0)
    assert epoch_differences.at_nearly_all_places([mine], Steps.none(), Epochs(), placed()) == [
        mine
    ]


def test_a_log_of_a_clock_that_is_off_tells_of_its_burst_alone(
    shared_data: Path, tmp_path: Path
) -> None:
    """At the place of its clock the pause between the epochs lies over the second one's first
    steps.
    """
    folder = shared_data / "own" / "two_epochs_with_burst"
    head, *rows = (folder / "power.csv").read_text().splitlines()
    late = [f"{float(at) + 0.7:.6f},{watts}" for at, watts in (row.split(",") for row in rows)]
    (tmp_path / "power.csv").write_text("\n".join([head, *late]) + "\n")
    run = powertui.open(folder / "logs", power=tmp_path / "power.csv")[0]
    told = run.findings
    assert [round(one) for one in told["delta_watts"]] == [59]
