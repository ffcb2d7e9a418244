"""Which of several logs leads: the one that meets the trace, lies surest, covers it, measures most,
resolves best.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import powertui
from benchmarks.power_world import SENSORS, Fault, make, plan, record, write, write_log
from powertui.data.energy import account, main_log, trace_account
from powertui.data.energy.log_alignment import Alignment, Placed
from powertui.data.model import PS_PER_S, Badge, Epochs, Figure, PowerOnTrace, Scope, Steps
from tests.synthetic import traces

S = PS_PER_S
SPAN = (0, 60 * S)
CLOCKED = Alignment(0.0, 0.0, 0.0, "aligned", "wall clocks of both", ())


def log(
    name: str,
    lo: int = -5,
    hi: int = 65,
    *,
    every_s: float = 1.0,
    scope: Scope = Scope.UNKNOWN,
    status: str = "aligned",
    source: str = "wall clocks of both",
    open_s: int = 20,
):
    """A log on the trace; `open_s` is the interval of its place where that is ambiguous."""
    at = np.arange(lo * S, hi * S, round(every_s * S), dtype=np.int64)
    power = traces.power(at, [200.0 + i % 3 for i in range(len(at))])
    sensor = replace(
        power.series.sensor, name="watts", scope=scope, refresh_s=Figure(every_s, Badge.MEASURED)
    )
    return replace(
        power,
        status=status,
        offset_lo_ps=-open_s * S // 2 if status == "ambiguous" else power.offset_lo_ps,
        offset_hi_ps=open_s * S // 2 if status == "ambiguous" else power.offset_hi_ps,
        source=source,
        series=replace(power.series, sensor=sensor, path=f"/logs/{name}.csv"),
    )


def first(*power: PowerOnTrace) -> str:
    return Path(main_log.logs(power, SPAN)[0].path).stem


@pytest.mark.parametrize(
    ("better", "worse", "because"),
    [
        (log("a", status="ambiguous"), log("b", 100, 200), "does not overlap"),
        (log("a", scope=Scope.GPU), log("b", scope=Scope.NODE, status="ambiguous"), "more certain"),
        (
            log("a", scope=Scope.NODE, status="ambiguous", open_s=4),
            log("b", scope=Scope.GPU),
            "more of the machine",
        ),
        (log("a"), log("b", status="ambiguous", open_s=4), "more certain"),
        (log("a", every_s=3.0), log("b", 0, 20), "covers 100 %"),
        (
            log("a"),
            log("b", scope=Scope.NODE, source="by signal"),
            "aligned by its power alone",
        ),
        (log("a", source="by signal"), log("b", 0, 20), "covers 100 %"),
        (log("a", every_s=3.0, scope=Scope.NODE), log("b", scope=Scope.GPU), "more of the machine"),
        (log("a", 10, 40), log("b", 30, 50), "covers 48 %"),
        (log("a", every_s=0.1), log("b", every_s=1.0), "resolves 0.1 s"),
    ],
)
def test_the_better_log_leads_in_any_order(better, worse, because: str) -> None:
    assert first(better, worse) == "a"
    assert first(worse, better) == "a"
    words = main_log.why([worse, better], SPAN)
    assert words.startswith("a.csv is the main log, not b.csv: ")
    assert because in words
    found = energy_account([worse, better])
    assert [found.placed[i].power.series.path for i in found.counted] == ["/logs/a.csv"]
    assert found.drawn[0].series.path == "/logs/a.csv"
    assert words in found.text


def energy_account(power) -> trace_account.Account:
    trace = traces.trace({("/host:CPU", "a"): [(0, 60 * S, "train")]})
    return account.of_placed(trace, Steps.none(), Epochs(), [Placed(one, CLOCKED) for one in power])


def test_one_log_needs_no_words() -> None:
    assert main_log.why([log("a")], SPAN) == ""
    assert energy_account([log("a")]).text == "watts alone"


def test_a_log_of_another_time_alone_is_still_told_of() -> None:
    found = energy_account([log("a", 100, 200)])
    assert found.apart == "a.csv begins 40 seconds after this profile."


def test_parts_of_a_machine_from_two_logs_are_still_added_up() -> None:
    gpu, package = log("a", scope=Scope.GPU), log("b", scope=Scope.PACKAGE)
    assert len(energy_account([gpu, package]).counted) == 2


def test_channels_of_equal_logs_stay_as_they_were() -> None:
    one = log("a")
    assert main_log.order([one, one, log("b")], SPAN) == [0, 1, 2]


def test_the_worse_of_two_real_logs_does_not_lead(tmp_path: Path) -> None:
    """A slow meter that ends in the middle, named first, beside a good one."""
    world = make(plan(3, quiet=True))
    logs = write(world, tmp_path)
    bad = write_log(
        record(world, SENSORS["mean 3 s, 7 W"], 1, Fault(cut=20.0)), tmp_path / "bad.csv", "wall"
    )
    good = write_log(record(world, SENSORS["mean 0.5 s, 1 W"], 1), tmp_path / "good.csv", "wall")
    view = powertui.open(logs, power=[bad, good])[0]
    found = account.energy_account(view.opened.profiles[0])
    assert Path(found.drawn[0].series.path).name == "good.csv"
    assert [Path(found.placed[i].power.series.path).name for i in found.counted] == ["good.csv"]
    assert "good.csv is the main log, not bad.csv" in found.text
    assert view.energy().joules.notna().all()
