"""What a limit held back is a finding of its own, and none of its power is unexplained; a limit
never reached says nothing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from powertui.data.energy.findings import throttling, trace_findings
from powertui.data.energy.findings.finding import LIMIT, Findings
from powertui.data.model import Mark, PowerCap, PowerOnTrace, PowerSeries, Steps
from powertui.data.power import registry
from powertui.report import run_sources
from tests.synthetic import Burst, Plan
from tests.synthetic.placed import Made, make, sensed, truly_placed

PLAN = Plan(seconds=40, step_s=0.2, epochs=2)
LESS = replace(PLAN, bursts=(Burst(1, 30, 60, -40.0),))
NS, PS = 10**9, 10**12


def recorded(one: Made, seed: int = 0) -> PowerOnTrace:
    return truly_placed(*sensed(one, "nvml-1s", seed))


def told(one: Made, power: PowerOnTrace) -> Findings:
    return trace_findings.findings_in_trace(
        trace_findings.FindingInputs(
            one.trace, one.steps, one.epochs, power, held=throttling.throttled_stretches([power])
        )
    )


def marked(
    power: PowerOnTrace, lo: float, hi: float, name: str = "throttled: GPU 0 (power cap)"
) -> PowerOnTrace:
    """A window from lo to hi s of the trace, as the recorder writes it."""
    begin, end = (round((at * PS - power.offset_ps) / 1000) for at in (lo, hi))
    return replace(power, series=replace(power.series, marks=(Mark(name, begin, end),)))


def stretch(one: Made) -> tuple[float, float]:
    rows = np.flatnonzero(one.steps.epoch == 1)
    return one.steps.start[rows[30]] / PS, one.steps.ends()[rows[59]] / PS


def test_what_a_throttled_device_draws_less_is_not_unexplained() -> None:
    one = make(0, LESS)
    power = recorded(one)
    (before,) = told(one, power).findings
    assert before.delta_watts is not None
    assert before.delta_watts < 0
    lo, hi = stretch(one)
    (found,) = told(one, marked(power, lo, hi)).findings
    assert found.witnesses == (LIMIT,)
    assert found.delta_watts is None
    assert (found.epoch, found.step_lo, found.step_hi) == (1, 30, 59)
    assert found.explained
    assert f"held back for {hi - lo:.1f} s: throttled (GPU 0 (power cap))" in found.text
    (other,) = told(one, marked(power, lo, hi, "profile 2026")).findings
    assert other.witnesses == before.witnesses, "a window of another name holds nobody back"


def test_a_burst_in_a_run_that_is_throttled_all_the_time_is_still_found() -> None:
    one = make(0, replace(PLAN, bursts=(Burst(1, 30, 65, 60.0),)))
    found = told(one, marked(recorded(one), -1.0, one.trace.span[1] / PS + 1)).findings
    assert sorted(one.witnesses[0] for one in found) == [LIMIT, "unexplained"]


def test_what_steps_took_longer_is_told() -> None:
    one = make(0, PLAN)
    lo, hi = stretch(one)
    start, ends = one.steps.start.copy(), one.steps.ends()
    inside = (start >= lo * PS) & (ends <= hi * PS)
    shift = np.cumsum(inside * round(0.1 * PS))
    moved = replace(one.steps, start=start + np.concatenate([[0], shift[:-1]]))
    stretched = (
        throttling.ThrottledStretch(
            round(lo * PS), int(moved.ends()[np.flatnonzero(inside)[-1]]), ("throttled (GPU 0)",)
        ),
    )
    found = trace_findings.findings_in_trace(
        trace_findings.FindingInputs(one.trace, moved, one.epochs, None, held=stretched)
    )
    first = found.findings[0]
    assert first.witnesses[0] == LIMIT
    assert first.delta_seconds == pytest.approx(0.1 * inside.sum(), rel=0.15)
    assert "longer" not in first.text
    assert f"took {first.delta_seconds:+.2f} s against steps that nothing held back" in first.text
    assert all(other.kind != "time" for other in found.findings[1:]), "told once"


def series(watts: list[float], caps: tuple[PowerCap, ...], every: float = 0.25) -> PowerSeries:
    power = recorded(make(0, PLAN)).series
    times = np.round(np.arange(len(watts)) * every * NS).astype(np.int64)
    return replace(power, times=times, watts=np.array(watts), limits=caps, joules=None)


@pytest.mark.parametrize(
    ("watts", "limit", "rows"),
    [
        ([200.0] * 8 + [297.0, 299.0, 302.0, 296.0] * 3 + [200.0] * 8, 300.0, (8, 19)),
        (
            [200.0] * 8 + [297.0, 299.0, 250.0, 296.0] * 3 + [200.0] * 8,
            300.0,
            None,
        ),  # it moves about below it
        ([200.0] * 30, 300.0, None),
        ([297.0] * 30, 400.0, None),
        ([350.0] * 30, 300.0, None),  # another figure than this limit is for
        ([200.0] * 8 + [300.0] * 4 + [200.0] * 8, 300.0, None),  # for less than a second
        ([200.0] * 8 + [300.0] * 10 + [280.0] + [300.0] * 10 + [200.0], 300.0, (8, 28)),
        ([300.0] * 30, float("nan"), None),
    ],
)
def test_power_that_stands_at_its_limit(
    watts: list[float], limit: float, rows: tuple[int, int] | None
) -> None:
    one = series(watts, (PowerCap(0, limit),))
    found = throttling._at_limit(one)
    assert [(run.lo, run.hi) for run in found] == ([rows] if rows else [])


def test_a_limit_counts_from_when_it_was_set() -> None:
    one = series([300.0] * 40, (PowerCap(5 * NS, 300.0), PowerCap(8 * NS, 400.0)))
    (run,) = throttling._at_limit(one)
    assert (run.lo, run.hi, run.watts) == (20, 31, 300.0)


def test_a_limit_that_is_never_reached_changes_nothing() -> None:
    for seed in range(3):
        one = make(seed, PLAN)
        power = recorded(one, seed)
        high = replace(
            power,
            series=replace(
                power.series, limits=(PowerCap(0, 1.2 * float(np.nanmax(power.series.watts))),)
            ),
        )
        assert throttling.throttled_stretches([high]) == ()
        assert told(one, high).findings == told(one, power).findings == ()


def test_the_report_names_the_limit(tmp_path: Path) -> None:
    head = (
        "# powertui recording "
        "1\ntime_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n"
    )
    rows = [f"{1_795_000_000 + n}.000000,{n}.000000,s,c,100,,0.001,ok,,\n" for n in range(20)]
    rows.insert(5, "1795000004.500000,4.500000,s,,250,,,limit,,c\n")
    path = tmp_path / "power.csv"
    path.write_text(head + "".join(rows))
    from powertui.report.facts import power_facts

    facts = power_facts(registry.load(str(path)).series[0])
    assert facts["limit_watts"] == 250.0
    assert ", limit 250 W" in run_sources._channel_line(
        facts | {"belongs_to": None, "belongs_why": ""}
    )


def test_a_step_that_a_limit_touched_is_none_of_those_that_nothing_held_back() -> None:
    start = np.array([0, 10, 20, 30])
    steps = Steps(np.arange(4), start, np.full(4, 10), np.zeros(4, np.int32), [""] * 4, "marks")
    back = (
        throttling.ThrottledStretch(12, 15, ("at its limit",)),
        throttling.ThrottledStretch(29, 31, ("at its limit",)),
    )
    assert throttling._free(back, steps).tolist() == [True, False, False, False]
    assert throttling._free((), steps).tolist() == [True] * 4
