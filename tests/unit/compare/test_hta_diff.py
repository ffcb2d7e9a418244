"""Two traces of one program before and after a change, row by row by the rule of HTA's trace diff: by
name the launches and the summed time on each side, joined; what one side lacks counts as 0.

HTA takes the work that the first step launched. `run.events` and `run.steps` make those rows by the
launch of each event; a comparison holds all of both files, because a window of ours is one of time. HTA counts copies and sets of memory among kernels. Ours follow TraceLens's
rule and leave them to the ops of the devices, whose rows are own time for each step. Its rows of the
host are calls with all that they call: `op_stats` of either run has those, a comparison own time.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import powertui

_FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "public" / "kineto_hta_diff"
_COPIES = ("gpu_memcpy", "gpu_memset")
_STEPS = 6
# Of copies that overlap on one stream the second has less time of its own (docs of the format: 31
# pairs, up to 13 µs).
_OVERLAP_S = 60e-6


@cache
def device_events(name: str) -> list[dict[str, Any]]:
    path = _FOLDER / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip("needs the third-party recordings")
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    return [event for event in events if "stream" in event.get("args", {})]


@cache
def document() -> dict[str, Any]:
    device_events("control")
    return powertui.compare(_FOLDER / "control.json.gz", _FOLDER / "test.json.gz").json


def ours(family: str, unit: str, within: str = "") -> tuple[Counter[str], Counter[str]]:
    """The rows of A and of B by name, those that one side lacks among them."""
    sums: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for row in document()["figures"]:
        if (row["family"], row["unit"]) == (family, unit) and within in ("", row["within"]):
            for side, counted in zip("ab", sums, strict=True):
                counted[row["name"]] += row[side]
    for row in document()["unmatched"]:
        if (row["family"], row["unit"]) == (family, unit) and within in ("", row["within"]):
            sums["ab".index(row["side"])][row["name"]] += row["value"]
    return sums


def test_every_kernel_has_the_launches_and_the_time_of_the_join() -> None:
    launches, seconds = ours("kernels", "launches"), ours("kernels", "s")
    for at, name in enumerate(("control", "test")):
        counted: Counter[str] = Counter()
        microseconds: Counter[str] = Counter()
        for event in device_events(name):
            if event["cat"] not in _COPIES:
                counted[event["name"]] += 1
                microseconds[event["name"]] += event["dur"]
        assert launches[at] == counted
        assert {row: round(value * 1e6) for row, value in seconds[at].items()} == microseconds
    added, gone = launches[1].keys() - launches[0].keys(), launches[0].keys() - launches[1].keys()
    unmatched = {"a": set(), "b": set()}
    for row in document()["unmatched"]:
        if row["family"] == "kernels":
            unmatched[row["side"]].add(row["name"])
    assert added <= unmatched["b"]
    assert gone <= unmatched["a"]


def test_copies_are_ops_of_the_devices() -> None:
    seconds = ours("ops", "s", "device")
    for at, name in enumerate(("control", "test")):
        expected: Counter[str] = Counter()
        for event in device_events(name):
            if event["cat"] in _COPIES:
                expected[event["name"]] += event["dur"] * 1e-6
        for row, whole_s in expected.items():
            own_s = seconds[at][row] * _STEPS
            assert whole_s - _OVERLAP_S <= own_s <= whole_s + 1e-9, row


@cache
def calls(name: str) -> tuple[Counter[str], Counter[str]]:
    """What HTA counts and sums on the host: calls, with all that they call, in microseconds."""
    device_events(name)
    with gzip.open(_FOLDER / f"{name}.json.gz", "rt") as file:
        events = json.load(file)["traceEvents"]
    counted: Counter[str] = Counter()
    microseconds: Counter[str] = Counter()
    for event in events:
        is_call = event.get("cat") in ("cpu_op", "cuda_runtime", "user_annotation")
        if event.get("ph") == "X" and is_call and "stream" not in event.get("args", {}):
            counted[event["name"]] += 1
            microseconds[event["name"]] += event["dur"]
    return counted, microseconds


def test_rows_of_the_host_by_count_and_total_are_those_of_op_stats_of_either_run() -> None:
    joined: dict[str, list[tuple[int, int]]] = {}
    expected: dict[str, list[tuple[int, int]]] = {}
    for side, name in enumerate(("control", "test")):
        counted, microseconds = calls(name)
        run = powertui.open(_FOLDER / f"{name}.json.gz")[0]
        rows = run.tool("op_stats").frame
        host = rows[rows["device"].str.startswith("/host")]
        for row, total in host.groupby("full_name")[["count", "total_s"]].sum().iterrows():
            sums = joined.setdefault(str(row), [(0, 0), (0, 0)])
            sums[side] = (int(total["count"]), round(total["total_s"] * 1e6))
        for row in counted:
            sums = expected.setdefault(row, [(0, 0), (0, 0)])
            sums[side] = (counted[row], microseconds[row])
    assert joined == expected
    assert len(joined) > 232, "what one side lacks is a row, too"


def launched_in_first_step(name: str) -> tuple[Counter[str], Counter[str]]:
    """HTA's rows of the devices: work whose call began within the first `ProfilerStep`."""
    device_events(name)
    with gzip.open(_FOLDER / f"{name}.json.gz", "rt") as file:
        events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    steps = [event for event in events if event["name"].startswith("ProfilerStep")]
    first = min(steps, key=lambda event: event["ts"])
    calls = {
        event["args"]["correlation"]
        for event in events
        if "correlation" in event.get("args", {})
        and "stream" not in event["args"]
        and first["ts"] <= event["ts"] < first["ts"] + first["dur"]
    }
    counted: Counter[str] = Counter()
    microseconds: Counter[str] = Counter()
    for event in device_events(name):
        if event["args"]["correlation"] in calls:
            counted[event["name"]] += 1
            microseconds[event["name"]] += event["dur"]
    return counted, microseconds


@pytest.mark.parametrize("name", ["control", "test"])
def test_rows_of_the_devices_of_one_step_follow_from_the_launches(name: str) -> None:
    counted, microseconds = launched_in_first_step(name)
    run = powertui.open(_FOLDER / f"{name}.json.gz")[0]
    events = run.events(stats=("correlation",))
    is_device = events["process"].str.startswith("/device")
    step = run.steps.iloc[0]
    start_s, end_s = step["start_s"], step["start_s"] + step["host_s"]
    calls = events[~is_device & (events["start_s"] >= start_s) & (events["start_s"] < end_s)]
    launched = events[is_device & events["correlation"].isin(calls["correlation"].dropna())]
    rows = launched.groupby("full_name")["duration_s"].agg(["count", "sum"])
    assert {str(row): int(total) for row, total in rows["count"].items()} == counted
    assert {str(row): round(total * 1e6) for row, total in rows["sum"].items()} == microseconds
    assert len(rows) >= 30, "rows of the devices"
