"""Watts and joules from the running sum in traces of IBM's AIU."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import powertui
from powertui.data.formats import registry
from powertui.data.model import Badge, ProcessKind, Trace
from tests.unit import aiu_traces
from tests.unit.aiu_traces import Op


def joules_of(path: Path) -> dict[tuple[str, str], tuple[float, int]]:
    """(joules, calls) of each op of a run, by device and name."""
    frame = powertui.open(path)[0].tool("op_stats").frame
    known = frame[frame.energy_j.notna()]
    return {
        (row.device, row.full_name): (row.energy_j, row.energy_calls) for row in known.itertuples()
    }


def expected(made: list[Op], suffix: str = "") -> dict[tuple[str, str], tuple[float, int]]:
    """The same by the truth: a card's first op has no reading before it."""
    joules: dict[tuple[str, str], list[float]] = defaultdict(list)
    seen: set[int] = set()
    for op in made:
        if op.card in seen:
            joules[f"/device:AIU:{op.card}", op.name + suffix].append(op.joules)
        seen.add(op.card)
    return {key: (sum(values), len(values)) for key, values in joules.items()}


def assert_equal(
    found: dict[tuple[str, str], tuple[float, int]], truth: dict[tuple[str, str], tuple[float, int]]
) -> None:
    assert found.keys() == truth.keys()
    for key, (joules, calls) in truth.items():
        assert found[key][0] == pytest.approx(joules, rel=1e-9), key
        assert found[key][1] == calls, key


@pytest.mark.parametrize("cards", [1, 3])
def test_joules_of_raw_traces_are_the_known_ones_across_wraps(tmp_path: Path, cards: int) -> None:
    made = list(aiu_traces.ops(9.0, cards))  # cycles wrap each 7.7 s, the sum each 15 ms
    assert made[-1].cycles[2] > 2 * 2**32
    assert made[-1].total > 100 * 2**32
    aiu_traces.write_flex(tmp_path / "raw.json", made)
    assert_equal(joules_of(tmp_path / "raw.json"), expected(made, " Cmpt Exec"))


@pytest.mark.parametrize("by_torch", [False, True])
def test_the_kineto_dialects_hold_the_same(tmp_path: Path, by_torch: bool) -> None:
    made = list(aiu_traces.ops(0.3, 2))
    aiu_traces.write_kineto(tmp_path / "w.pt.trace.json", made, by_torch=by_torch)
    assert_equal(joules_of(tmp_path / "w.pt.trace.json"), expected(made))


def plain_recount(path: Path) -> dict[tuple[int, str], float]:
    """Joules of each op's calls from the file's own numbers, without any of our code.

    Of ops that begin after the reading before them: then one stretch holds them.
    """
    begun: dict[Any, float] = {}
    runs: dict[int, list[tuple[int, int, int, str, float]]] = defaultdict(list)
    for event in json.loads(path.read_text()):
        if event["ph"] == "B":
            begun[event["pid"], event["name"]] = event["ts"]
            continue
        attr = event["attr"]
        start, end, total = (int(attr[key], 0) for key in ("TS3", "TS4", "Power"))
        duration = event["ts"] - begun[event["pid"], event["name"]]
        runs[event["pid"]].append((end, start, total, event["name"], duration))
    joules: dict[tuple[int, str], float] = defaultdict(float)
    for card, of_card in runs.items():
        readings = sorted({(end, total) for end, _, total, _, _ in of_card})
        for end, start, _, name, duration in of_card:
            row = [at for at, _ in readings].index(end)
            if not row or start < readings[row - 1][0]:
                continue
            rise = (readings[row][1] - readings[row - 1][1]) % 2**32
            watts = rise / (end - readings[row - 1][0]) * 12 / 512
            joules[card, name] += watts * round(duration * 1000) / 1e9
    return joules


def test_the_public_trace_is_recounted_to_a_billionth(shared_data: Path) -> None:
    path = shared_data / "public/ibm_aiu/sample_flex_3062_job_4.json"
    found = joules_of(path)
    truth = plain_recount(path)
    assert len(truth) == 15
    for (card, name), joules in truth.items():
        assert found[f"/device:AIU:{card}", name][0] == pytest.approx(joules, rel=1e-9), name
    pool = found["/device:AIU:0", "max_pool2d_with_indices Cmpt Exec"][0]
    assert f"{pool * 1000:.2f} mJ" == "2.23 mJ"


def test_watts_of_the_public_trace_are_those_of_the_rule(shared_data: Path) -> None:
    trace = registry.read(shared_data / "public/ibm_aiu/sample_flex_3062_job_4.json")
    (counter,) = trace.counters
    assert (counter.unit, counter.process, counter.scale) == ("W", "/device:AIU:0", Badge.ASSUMED)
    assert counter.counted is not None
    watts = counter.counted.value
    assert [f"{watts.min():.1f}", f"{watts.max():.1f}"] == ["10.8", "13.0"]


def lines(trace: Trace) -> list[tuple[str, list[tuple[str, bool]]]]:
    return [
        (process.name, [(track.name, track.derived) for track in process.tracks])
        for process in trace.processes
    ]


def test_ranks_are_devices_with_a_line_for_each_kind_of_work(shared_data: Path) -> None:
    trace = registry.read(shared_data / "public/ibm_aiu/allreduce_tp4.json")
    kinds = [("Cmpt Prep", True), ("Cmpt Exec", False), ("DmaI", False), ("DmaO", False)]
    assert lines(trace) == [(f"/device:AIU:{rank}", kinds) for rank in range(4)]
    assert {process.kind for process in trace.processes} == {ProcessKind.DEVICE}


def test_collectives_are_told_by_group_and_bytes(shared_data: Path) -> None:
    run = powertui.open(shared_data / "public/ibm_aiu/allreduce_tp4.json")[0]
    frame = run.tool("collectives").frame
    columns = ["collective", "group", "message_bytes", "count"]
    assert frame[columns].fillna(0).values.tolist() == [
        ["AllReduce receive", "AllReduce_all_reduce_4", 524288, 6],
        ["AllReduce send", "AllReduce_all_reduce_4", 524288, 4],
        ["AllReduce send", "AllReduce_all_reduce_4", 0, 4],
    ]


def test_what_holds_no_registers_ran_on_the_host(tmp_path: Path) -> None:
    made = list(aiu_traces.ops(0.02))
    path = tmp_path / "raw.json"
    aiu_traces.write_flex(path, made)
    events = json.loads(path.read_text())
    zero = aiu_traces.UPTIME_US
    events.append(
        {"name": "Flex RoundTrip", "ph": "X", "pid": 0, "tid": 7, "ts": zero, "dur": 100.0}
    )
    path.write_text(json.dumps(events))
    assert lines(registry.read(path)) == [
        ("/device:AIU:0", [("Cmpt Exec", False)]),
        ("/host:CPU rank 0", [("thread 7", False)]),
    ]


def test_a_damaged_reading_is_left_out_and_counted(tmp_path: Path) -> None:
    made = list(aiu_traces.ops(0.05))
    made[5] = made[5]._replace(total=made[5].total - 900_000_000)
    aiu_traces.write_flex(tmp_path / "raw.json", made)
    trace = registry.read(tmp_path / "raw.json")
    assert [(warning.cause, warning.count) for warning in trace.warnings] == [
        ("readings of the power sum that imply more than 75 W were left out", 1)
    ]
    (counter,) = trace.counters
    assert counter.counted is not None
    assert len(counter.counted.value) == len(made) - 2
    assert np.ptp(counter.counted.value) < 3  # the op before it and the next one are one stretch


def test_a_damaged_last_reading_is_left_out_and_counted(tmp_path: Path) -> None:
    made = list(aiu_traces.ops(0.05))
    made[-1] = made[-1]._replace(total=made[-1].total - 900_000_000)
    aiu_traces.write_flex(tmp_path / "raw.json", made)
    trace = registry.read(tmp_path / "raw.json")
    assert [(warning.cause, warning.count) for warning in trace.warnings] == [
        ("readings of the power sum that imply more than 75 W were left out", 1)
    ]
    (counter,) = trace.counters
    assert counter.counted is not None
    assert len(counter.counted.value) == len(made) - 2


def test_a_pause_in_which_the_sum_may_have_wrapped_is_told_by_the_usual_power(
    tmp_path: Path,
) -> None:
    # Without these ops there are 9 ms between two readings, in which up to 75 W would wrap it
    # three times.
    made = list(aiu_traces.ops(0.05))
    kept = [op for row, op in enumerate(made) if not 10 <= row < 18]
    aiu_traces.write_flex(tmp_path / "raw.json", kept)
    trace = registry.read(tmp_path / "raw.json")
    assert [warning.cause for warning in trace.warnings] == [
        "stretches in which the power sum may have wrapped: the likeliest power was taken"
    ]
    (counter,) = trace.counters
    assert counter.counted is not None
    before, after = made[9].cycles[2], made[18].cycles[2]
    expected_w = (made[18].total - made[9].total) / (after - before) / aiu_traces.PER_WATT
    assert counter.counted.value[9] == pytest.approx(expected_w, rel=1e-9)


def test_a_pause_of_seconds_has_no_power(tmp_path: Path) -> None:
    made = list(aiu_traces.ops(3.0))
    late = len(made) - 10
    kept = [op for row, op in enumerate(made) if row < 10 or row >= late]
    aiu_traces.write_flex(tmp_path / "raw.json", kept)
    trace = registry.read(tmp_path / "raw.json")
    assert [warning.cause for warning in trace.warnings] == [
        "stretches without power: the sum may have wrapped several times"
    ]
    (counter,) = trace.counters
    assert counter.counted is not None
    assert len(counter.counted.value) == len(kept) - 2


@pytest.mark.parametrize(
    "attr",
    [
        {"Power": "x", "TS3": "1", "TS4": "2"},
        {"Power": "0x", "TS3": "-1", "TS4": "9" * 40},
        {"Power": [1], "TS3": {}, "TS4": None},
        {"Power": 1.5, "TS4": 2},
        {},
    ],
)
def test_registers_that_are_no_numbers_make_no_power(tmp_path: Path, attr: dict[str, Any]) -> None:
    marks = {"Power": "0", "TS4": "0"}
    events = [
        {"name": "op Cmpt Exec", "ph": "X", "pid": 0, "tid": 1, "ts": ts, "dur": 5, "attr": values}
        for ts, values in ((1, marks), (10, attr), (20, attr))
    ]
    path = tmp_path / "raw.json"
    path.write_text(json.dumps(events))
    assert registry.read(path).counters == ()
