"""The overview: its first sentence, its verdicts by TensorBoard's thresholds, its joules, and that
no profile makes it fail.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui import demo
from powertui.data import logdir, wire
from powertui.data.asked import COMPAT, Compat
from powertui.data.opened import Opened
from powertui.data.table import Fact, Result
from powertui.data.tools import registry, suggestions
from powertui.data.tools.advice import bound_by_input, of_shares
from powertui.data.tools.breakdown import step_breakdown
from powertui.data.tools.framework import Framework
from powertui.data.tools.registry import Question
from powertui.data.tools.shares import Shares
from powertui.report.writers import WRITERS, as_json, write
from tests.unit.tools.test_suggestions import FIRED

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

_GOLDEN = {
    "custom_loop": "own/custom_loop",
    "gpu_tf_t4": "public/e4040_hd2551",
    "jax_unopt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_48",
}


def _ask(folder: Path, compat: Compat = "corrected") -> Result:
    opened = Opened(next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles))
    return registry.get("overview_page").answer(Question(opened, compat=compat))


def _fact(result: Result, id: str) -> Fact:
    return next(fact for fact in result.facts if fact.id == id)


@pytest.mark.parametrize("golden", sorted(_GOLDEN))
def test_the_verdict_on_input_is_that_of_todays_converter(shared_data: Path, golden: str) -> None:
    pages: Any = json.loads((shared_data / "golden" / golden / "overview_page.json").read_text())
    theirs = next(
        page["p"]["bottleneck"] for page in pages if "bottleneck" in (page.get("p") or {})
    )
    assert _fact(_ask(shared_data / _GOLDEN[golden], "xprof"), "bottleneck").value == theirs


@pytest.mark.parametrize("golden", sorted(_GOLDEN))
def test_the_mean_step_is_that_of_todays_converter(shared_data: Path, golden: str) -> None:
    pages: Any = json.loads((shared_data / "golden" / golden / "overview_page.json").read_text())
    told = next(page["p"] for page in pages if "steptime_ms_average" in (page.get("p") or {}))
    result = _ask(shared_data / _GOLDEN[golden], "xprof")
    for theirs, ours in (
        ("steptime_ms_average", "step_time_s"),
        ("steptime_ms_maximum", "step_time_max_s"),
        ("steptime_ms_minimum", "step_time_min_s"),
        ("steptime_ms_standard_deviation", "step_time_deviation_s"),
    ):
        value = _fact(result, ours).value
        if value is not None:  # of one step there is no deviation; the original says 0
            assert f"{float(value) / 1e9:.1f}" == told[theirs]


def test_the_steps_stand_under_the_converters_ids_and_labels(shared_data: Path) -> None:
    pages: Any = json.loads(
        (shared_data / "golden" / "custom_loop" / "overview_page.json").read_text()
    )
    theirs = next(
        page for page in pages if any(column["id"] == "stepnum" for column in page.get("cols", []))
    )
    ours = as_json.as_dict(_ask(shared_data / "own" / "custom_loop", "xprof"))
    table = next(table for table in ours["tables"] if table["name"] == "steps")
    known = {column["id"]: column for column in table["columns"]}
    for column in theirs["cols"]:
        if column["id"] != "tooltip":
            assert known[column["id"]]["label"] == column["label"]
    assert ours["mode"] == "xprof"
    at = [column["id"] for column in table["columns"]].index("stepTimeMs")
    assert [row[at] for row in table["rows"]] == pytest.approx(
        [row["c"][-1]["v"] for row in theirs["rows"]], abs=2e-6
    )


def test_the_first_sentence_says_what_limits_by_how_much_and_what_to_do(shared_data: Path) -> None:
    limit = _fact(_ask(shared_data / "own" / "custom_loop"), "limit")
    assert re.fullmatch(
        r"Waiting for input takes 96 % of the time \(6\.\d+ s of 7\.\d+ s\)\.", str(limit.value)
    )
    assert limit.why.startswith("Read in parallel and ahead: dataset.map")


def test_joules_of_a_step_of_a_sample_and_what_was_found(shared_data: Path) -> None:
    result = _ask(shared_data / "own" / "two_epochs_with_burst")
    step, sample = _fact(result, "step_joules"), _fact(result, "sample_joules")
    assert _fact(result, "batch_size").value == 256
    assert step.lo is not None and step.hi is not None  # noqa: PT018
    assert step.lo < float(step.value or 0) < step.hi
    assert float(sample.value or 0) == pytest.approx(float(step.value or 0) / 256)
    difference = _fact(result, "epoch_difference_joules")
    assert difference.lo is not None and difference.hi is not None  # noqa: PT018
    assert 40 < difference.lo < float(difference.value or 0) < difference.hi < 205
    assert (
        88e9 < float(_fact(result, "step_time_usual_s").value or 0) < 95e9
    )  # one step of 1.5 s traced
    assert "steps 46" in str(_fact(result, "finding_1").value)
    assert _fact(result, "could_find").value


def test_joules_that_are_not_resolved_say_so_once(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "own" / "two_epochs_with_burst"
    shutil.copytree(source / "logs", tmp_path / "logs")
    rows = (source / "power.csv").read_text().splitlines(keepends=True)
    (tmp_path / "power.csv").write_text("".join(rows[: len(rows) * 2 // 5]))
    why = [fact.why for fact in _ask(tmp_path).facts if "not resolved" in fact.why]
    assert why
    assert [text.count("not resolved") for text in why] == [1] * len(why)


def test_a_profile_of_a_host_alone_tells_its_threads_and_ops(shared_data: Path) -> None:
    result = _ask(shared_data / "own" / "custom_loop")
    threads = result["threads"]
    busy = [threads["busy_share"].value(row) for row in range(len(threads))]
    assert busy == sorted(busy, key=lambda share: -float(share or 0))
    assert all(0 <= float(share or 0) <= 1 for share in busy)
    assert result["top_ops"]["operation"].value(0) == "Iterator::Root::Prefetch::MapAndBatch"


def test_steps_that_are_dispatched_ahead_are_told_with_their_work(shared_data: Path) -> None:
    """Twenty steps of 3.6 ms of which the original sees 0.02 ms each."""
    result = _ask(shared_data / "own" / "jax_cpu" / "plugins" / "profile" / "2026_11_21_00_50_50")
    assert 3.4e9 < float(_fact(result, "step_work_s").value or 0) < 3.9e9
    limit = str(_fact(result, "limit").value)
    assert limit.startswith("Computing on the host takes 97 % of the time (70.3 ms of 72.5 ms).")


@pytest.mark.parametrize(
    "folder",
    [
        "public/kineto_list_format",
        "public/kineto_hta_ns",
        "public/jax_rocm_mi300_conv_legacy",
        "public/jax_rocm_mi300_gemm",
        "public/tf_gpu_multiworker",
        "own/trace_export",
        "public/powerboard_tf22_run195247",
    ],
)
def test_every_profile_has_an_overview_in_every_form(shared_data: Path, folder: str) -> None:
    has_overview_in_every_form(shared_data / folder)


def has_overview_in_every_form(folder: Path) -> None:
    entries = [entry for entry in logdir.scan(str(folder)).runs if entry.profiles]
    assert entries
    for entry in entries:
        opened = Opened(entry)
        for compat in COMPAT:
            result = registry.get("overview_page").answer(Question(opened, compat=compat))
            assert _fact(result, "limit").value
            assert all(write(result, form) for form in WRITERS)


# ── thresholds ───────────────────────────────────────────────────────────────────────────────────


def _shares(**parts: float) -> Shares:
    known = dict.fromkeys(Shares._fields, 0.0)
    return Shares(**{**known, "half": None, **parts})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "bound"),
    [
        ({"input": 0.2}, "host"),
        ({"input": 0.1999}, "both"),
        ({"input": 0.05}, "both"),
        ({"input": 0.0499}, "device"),
        ({"input": 0.01, "other": 0.03}, "both"),
        ({"input": 0.01, "other": 0.0299}, "device"),
    ],
)
def test_the_thresholds_of_input(parts: dict[str, float], bound: str) -> None:
    assert bound_by_input(_shares(**parts))[0] == bound


def test_without_a_step_nothing_is_said_of_the_input() -> None:
    assert bound_by_input(None)[0] == "unknown"


def test_time_that_is_no_other_kind_may_have_been_recorded() -> None:
    """Beside it may stand that calls of the framework take so much, while no operation runs."""
    opened = Opened(logdir.scan(str(demo.folder())).runs[0])
    steps = step_breakdown(opened.profiles[0], COMPAT[0])
    told = of_shares(
        steps, _shares(other=0.152), framework=Framework.TENSORFLOW, asynchronous=False
    )
    (other,) = [one for one in told if one.id == "other"]
    assert other.what == (
        "15.2 % of the steps' time goes into what is no op, input or copy: Python, calls of the "
        "framework, or nothing recorded."
    )


def test_advice_names_a_page_that_there_is() -> None:
    pages = {tool.name for tool in registry.TOOLS} | {"timeline"}
    told = {one.page for signals in FIRED.values() for one in suggestions.matching_advice(signals)}
    assert told <= pages


# ── against what TensorFlow stored ───────────────────────────────────────────────────────────────

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
_STORED = sorted(
    path.relative_to(_SHARED).as_posix()
    for folder in ("e4040_hd2551", "e4040_yg2820", "powerboard_tf22_run195247")
    for path in (_SHARED / "public" / folder).rglob("*.overview_page.pb")
)


@pytest.mark.parametrize("path", _STORED)
def test_top_ops_and_where_they_ran_as_tensorflow_stored_it(path: str) -> None:
    data = np.frombuffer((_SHARED / path).read_bytes(), np.uint8)
    analysis = wire.hop(data, *wire.hop(data, 0, len(data)).payload(3))

    def double(message: Any, field: int) -> float:
        found = message.value[message.number == field]
        return float(found[-1:].view(np.float64)[0]) if len(found) else 0.0

    result = _ask((_SHARED / path).parent, "tf2")
    tops = result["top_ops"]
    theirs = [
        wire.hop(data, lo, hi)
        for lo, hi in zip(*(side.tolist() for side in analysis.ranges(4)), strict=True)
    ]
    for row, op in enumerate(theirs):
        name, kind = (data[slice(*op.payload(field))].tobytes().decode() for field in (1, 2))
        assert (tops["operation"].value(row), tops["category"].value(row)) == (name, kind)
        assert tops["selfTimePercent"].value(row) == pytest.approx(double(op, 3), abs=1e-12)
        assert tops["cumulativeTimePercent"].value(row) == pytest.approx(double(op, 4), abs=1e-12)
        assert (tops["tcEligibility"].value(row), tops["tcUtilization"].value(row)) == (
            bool(op.integer(6)),
            bool(op.integer(7)),
        )
    if path.startswith("public/powerboard"):  # TensorFlow 2.2 stored none of these
        return
    for field, id in (
        (11, "host_tf_op_share"),
        (12, "device_tf_op_share"),
        (14, "host_op_time_eager_share"),
        (15, "device_op_time_eager_share"),
        (10, "device_compute_32bit_share"),
    ):
        ours = next((float(fact.value or 0) for fact in result.facts if fact.id == id), 0.0)
        assert 100 * ours == pytest.approx(double(analysis, field), abs=1e-9), id


# ── what the first sentence must not say ─────────────────────────────────────────────────────────


def test_collectives_of_a_host_without_devices_are_no_computing(shared_data: Path) -> None:
    """PyTorch's gloo, of which the profile shows one replica: 86 % of the time.

    Beside it a few ops of microseconds, of which none is worth a word.
    """
    limit = str(_fact(_ask(shared_data / "public" / "kineto_hta_cpu_only"), "limit").value)
    assert limit.startswith("Communication between replicas (collectives) takes 86 %")
    assert "aten::empty" not in limit


@pytest.mark.parametrize("run", ["control", "test"])
def test_an_exchange_is_no_op_that_computes(shared_data: Path, run: str) -> None:
    (profile,) = (
        path for path in (shared_data / "public" / "kineto_hta_diff").iterdir() if run in path.name
    )
    limit = str(_fact(_ask(profile), "limit").value)
    assert limit.startswith("Computing on the device")
    assert "record_param_comms" not in limit


def test_steps_dispatched_ahead_are_told_by_how_much_computes(shared_data: Path) -> None:
    """Of a window, and by the rules of other tools, the steps alone are judged."""
    folder = shared_data / "own" / "jax_cpu" / "plugins" / "profile" / "2026_11_21_00_50_50"
    limit = str(_fact(_ask(folder, "tf2"), "limit").value)
    assert limit.startswith("Computing on the host takes 74 % of the time")
    assert "a step with its work takes 3.62 ms" in limit


def test_without_a_step_a_profile_of_microseconds_is_too_short(shared_data: Path) -> None:
    result = _ask(shared_data / "public" / "tb_profile_demo")
    assert "too short to show what takes time: 62 µs" in str(_fact(result, "limit").value)
    assert _fact(result, "devices").text() == "the trace names none"


def test_without_a_step_the_busiest_line_is_told(tmp_path: Path) -> None:
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "worker"}}
    ]
    for start_us, length_us in ((0, 100_000), (400_000, 530_000), (999_000, 1_000)):
        event = {"ph": "X", "pid": 1, "tid": 2, "name": "work", "ts": start_us, "dur": length_us}
        events.append(event)
    (tmp_path / "host.trace.json").write_text(json.dumps({"traceEvents": events}))
    assert "works 63 % of the time" in str(_fact(_ask(tmp_path), "limit").value)


def test_a_device_that_does_one_thing_alone_is_told_so(tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    for number in range(6):
        at = number * 100_000
        host, launch = {"ph": "X", "pid": 100, "tid": 100}, {"args": {"correlation": number + 1}}
        events += [
            {
                **host,
                "cat": "user_annotation",
                "name": f"ProfilerStep#{number}",
                "ts": at,
                "dur": 99_000,
            },
            {**host, "cat": "cpu_op", "name": "aten::mm", "ts": at + 100, "dur": 3_000},
            {
                **host,
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "ts": at + 200,
                "dur": 50,
                **launch,
            },
            {
                "ph": "X",
                "pid": 0,
                "tid": 7,
                "cat": "kernel",
                "name": "sgemm",
                "ts": at + 5_000,
                "dur": 88_000,
                **launch,
            },
        ]
    (tmp_path / "host_1.1700000000.pt.trace.json").write_text(
        json.dumps({"schemaVersion": 1, "traceEvents": events})
    )
    assert "The largest op is aten::mm (528 ms in all)." in str(
        _fact(_ask(tmp_path), "limit").value
    )
