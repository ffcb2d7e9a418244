"""Counters that traces record beside their events, and power among them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data import loading
from powertui.data.formats import registry
from powertui.data.formats.json_counters import CounterReadings, split_unit
from powertui.data.logdir import scan
from powertui.data.model import Trace
from powertui.data.opened import Opened
from powertui.data.tools.registry import Question, get

KINETO = Path(__file__).parents[4] / "shared/data/public"


def read(tmp_path: Path, events: list[dict[str, Any]], **beside: Any) -> Trace:
    path = tmp_path / "a.trace.json"
    path.write_text(json.dumps({**beside, "traceEvents": events}))
    return registry.read(path)


def c(name: Any, ts: Any, args: Any, pid: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "C", "name": name, "ts": ts, "pid": pid, "args": args, **more}


def told(trace: Trace) -> dict[tuple[str, str, str], list[tuple[int, float]]]:
    return {
        (one.process, one.name, one.unit): list(
            zip(one.times.tolist(), one.values.tolist(), strict=True)
        )
        for one in trace.counters
    }


def test_each_number_is_a_series(tmp_path: Path) -> None:
    found = told(
        read(
            tmp_path,
            [
                {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "gpu"}},
                c("memory", 2, {"used": 10, "free": 5}),
                c("memory", 1, {"used": 1, "free": 14}),
                c("clock (MHz)", 1.5, {"value": 1200}),
                c("power", 3, {"W": "70.5"}, id=4),
                c("power", 4, {"W": None}, id=4),
            ],
        )
    )
    assert found == {
        ("gpu", "memory used", ""): [(1_000_000, 1), (2_000_000, 10)],
        ("gpu", "memory free", ""): [(1_000_000, 14), (2_000_000, 5)],
        ("gpu", "clock", "MHz"): [(1_500_000, 1200)],
        ("gpu", "power 4 W", ""): [(3_000_000, 70.5)],
    }


def test_what_is_no_number_is_counted_and_left_out(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        [
            c("a", 1, {"value": "x"}),
            c("a", "later", {"value": 1}),
            c("a", 5, {"value": 1e400}),
            c("a", 6, {"value": 2}),
        ],
    )
    assert told(trace) == {("", "a", ""): [(6_000_000, 2)]}
    assert sum(warn.count for warn in trace.warnings) == 3


@pytest.mark.parametrize(
    ("name", "told_as"),
    [
        ("Total Power (W)", ("Total Power", "W")),
        ("util [%]", ("util", "%")),
        ("f(x)", ("f", "x")),
        ("plain", ("plain", "")),
        ("(W)", ("(W)", "")),
    ],
)
def test_units_stand_in_brackets(name: str, told_as: tuple[str, str]) -> None:
    assert split_unit(name) == told_as


def test_series_are_bounded() -> None:
    readings = CounterReadings()
    for number in range(10_050):
        readings.add(c(f"n{number}", 1, {"value": 1}))
    assert (readings.count, readings.left_out) == (10_000, 50)


def test_watts_in_a_trace_are_power_on_its_clock(tmp_path: Path) -> None:
    from powertui.data.energy import account

    events: list[dict[str, Any]] = [
        c("board power (W)", 1e5 * n, {"W": 100 if n < 50 else 150}) for n in range(100)
    ]
    events += [c("fan limit (W)", 1e5 * n, {"W": 5}) for n in range(100)]
    events += [
        {
            "ph": "X",
            "name": "op",
            "pid": 1,
            "tid": 1,
            "ts": 1e5 * n,
            "dur": 9e4,
            "args": {"step_num": n},
        }
        for n in range(99)
    ]
    path = tmp_path / "a.trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    opened = Opened(scan(path).runs[0])
    (series,) = opened.run.power
    assert series.sensor.source == "recorded in the trace"
    found = account.energy_account(opened.profiles[0])
    (placed,) = found.placed
    assert (placed.alignment.offset_s, placed.alignment.lo_s, placed.alignment.hi_s) == (0, 0, 0)
    assert placed.alignment.status == "aligned"


def test_the_tool_holds_each_reading_until_the_next(tmp_path: Path) -> None:
    trace_events = [
        c("a", 0, {"value": 10}),
        c("a", 30, {"value": 20}),
        {"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 0, "dur": 40},
    ]
    path = tmp_path / "a.trace.json"
    path.write_text(json.dumps({"traceEvents": trace_events}))
    opened = Opened(scan(path).runs[0])
    us = 1_000_000
    table = get("counters").answer(Question(opened, 0, 20 * us, 40 * us)).tables[0]
    row = {column.id: column.values[0] for column in table.columns}
    assert (row["readings"], row["least"], row["mean"], row["most"], row["last"]) == (
        1,
        10,
        15,
        20,
        20,
    )


def test_allocated_memory_of_pytorch() -> None:
    """Peaks that were counted by hand."""
    path = KINETO / "kineto_h100_qwen/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
    if not path.exists():
        pytest.skip("the public traces do not lie beside the project")
    found = {one.name: one for one in registry.read(path).counters}
    assert (
        max(one.values.max() for name, one in found.items() if name.startswith("allocated GPU"))
        == 2_088_508_416
    )
    assert (
        max(one.values.max() for name, one in found.items() if name.startswith("reserved GPU"))
        == 2_629_828_608
    )


def test_an_export_read_back_is_the_same_run(tmp_path: Path) -> None:
    from powertui import demo
    from powertui.data import export

    run = loading.load_run(scan(demo.folder()).runs[0])
    lo, hi = run.traces[0].span
    export.write(run, 0, lo, hi + 1, what="perfetto", path=str(tmp_path / "p.json"))
    back = loading.load_run(scan(tmp_path / "p.json").runs[0])
    assert back.traces[0].event_count == run.traces[0].event_count
    ours, theirs = back.traces[0].clock, run.traces[0].clock
    assert (ours.lo_ns, ours.hi_ns, ours.source, ours.detail) == (
        theirs.lo_ns,
        theirs.hi_ns,
        theirs.source,
        theirs.detail,
    )
    for name in ("number", "start", "duration", "epoch", "host", "device", "step"):
        assert np.array_equal(getattr(back.steps[0], name), getattr(run.steps[0], name)), name
    assert back.steps[0].source == run.steps[0].source
    assert back.epochs[0].epochs == run.epochs[0].epochs
    assert back.epochs[0].phases == run.epochs[0].phases
