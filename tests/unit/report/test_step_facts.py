"""What the report tells of steps: three times, each device, the next best marker."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from powertui.data.model import Epochs, Marker, Steps, StepsOn
from powertui.report import frames, step_facts
from tests.synthetic import traces

MS = 10**9


def steps() -> Steps:
    """Two steps on two devices; nothing tells of the second one's work."""
    column = np.array([10 * MS, 40 * MS], np.int64)
    on = tuple(
        StepsOn(
            f"/device:GPU:{n}",
            "device",
            np.array([0]),
            column[:1],
            np.array([(8 + n) * MS]),
            np.array([5 * MS]),
        )
        for n in (0, 1)
    )
    markers = (
        Marker(
            "events named train with a step_num",
            "^train$",
            2,
            0.9,
            "covers 100 % of the devices' work",
        ),
        Marker(
            "events named it's_data with a step_num",
            "^it's_data$",
            2,
            0.4,
            "covers 3 % of the devices' work",
        ),
    )
    return Steps(
        np.array([7, -1]),
        column,
        np.array([9 * MS, MS]),
        np.array([-1, -1], np.int32),
        ["train 7", "\x1b[31mtrain"],
        markers[0].name,
        host=np.array([MS, MS]),
        device=np.array([6 * MS, -1]),
        step=np.array([9 * MS, MS]),
        device_by="launch",
        confidence="sure: the program numbers its steps",
        on=on,
        markers=markers,
        notes=("One \x1b[1mnote.",),
    )


def test_what_is_unknown_is_null_and_never_zero() -> None:
    facts = json.loads(
        json.dumps(step_facts.step_facts(traces.training().traces[0], steps(), Epochs()))
    )
    first, second = facts["rows"]
    assert [first[key] for key in ("number", "host_s", "device_s", "step_s")] == [
        7,
        0.001,
        0.006,
        0.009,
    ]
    assert [second[key] for key in ("number", "host_s", "device_s", "step_s")] == [
        None,
        0.001,
        None,
        0.001,
    ]
    assert facts["device_s"]["median_s"] == 0.006
    assert facts["device_by"] == "launch"
    assert [(one["name"], one["step_s"]["median_s"]) for one in facts["on"]] == [
        ("/device:GPU:0", 0.008),
        ("/device:GPU:1", 0.009),
    ]
    assert [one["chosen"] for one in facts["markers"]] == [True, False]


def test_the_text_tells_the_three_times_each_device_and_the_next_best_marker() -> None:
    lines = step_facts.lines(step_facts.step_facts(traces.training().traces[0], steps(), Epochs()))
    assert "medians: host 1 ms, any device 6 ms (by launch), step 5 ms" in lines
    assert "on each device: /device:GPU:0 8 ms, /device:GPU:1 9 ms" in lines
    assert "sure: the program numbers its steps" in lines
    (other,) = (line for line in lines if line.startswith("next best"))
    assert other.endswith(
        "(score 0.40 against 0.90); to choose it: --step-marker '^it'\\''s_data$'"
    )
    assert not any("\x1b" in line for line in lines)


def test_the_median_that_check_counts_is_named_where_it_is_another_one() -> None:
    lines = step_facts.lines(step_facts.step_facts(traces.training().traces[0], steps(), Epochs()))
    assert (
        "start to start, as pages and sentences count: median 30 ms, 30 ms to 30 ms; with the last "
        "step, as compare and check count, median 15.5 ms"
    ) in lines


def test_a_frame_has_the_three_times_in_seconds() -> None:
    frame = frames.steps(steps(), Epochs())
    assert frame["step_s"].tolist() == [0.009, 0.001]
    assert frame["host_s"].tolist() == [0.001, 0.001]
    assert frame["device_s"].isna().tolist() == [False, True]


def test_the_second_table_of_the_tool_has_a_row_for_each_device(tmp_path: Path) -> None:
    from powertui.data.logdir import scan
    from powertui.data.opened import Opened
    from powertui.data.tools import steps as tool
    from powertui.data.tools.registry import Question
    from tests.synthetic.read_traces import host
    from tests.synthetic.xplane import encode
    from tests.unit.run.test_step_times import event, gpu

    kernels = [
        [event("gemm", 20 * i + 3, 4 + n, correlation_id=10 * n + i) for i in range(4)]
        for n in (0, 1)
    ]
    marks = [event("train", 20 * i, 15, step_num=i, _r=1) for i in range(4)]
    calls = [
        event("cuLaunchKernel", 20 * i + 1, 0.1, correlation_id=10 * n + i)
        for i in range(4)
        for n in (0, 1)
    ]
    place = tmp_path / "plugins" / "profile" / "2026_11_21_12_00_00"
    place.mkdir(parents=True)
    (place / "vm.xplane.pb").write_bytes(
        encode([host(marks, calls), gpu(0, kernels[0]), gpu(1, kernels[1])])
    )
    (entry,) = scan(str(tmp_path)).runs
    answer = tool.answer(Question(Opened(entry)))
    each = answer.tables[1]
    assert [each["name"].text(row) for row in range(len(each))] == [
        "/device:GPU:0",
        "/device:GPU:1",
    ]
    assert [each["device_s"].value(row) for row in range(len(each))] == [4 * MS, 5 * MS]
