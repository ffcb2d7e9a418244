"""What the profiler stored itself: every value of every file, never taken for ours, and held
against ours.
"""

from __future__ import annotations

import gzip
import json
import math
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import powertui
from powertui import cli
from powertui.data import logdir
from powertui.data.logdir import RunEntry
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.recorded.answers import TOOL_OF_FILE, recorded_answer, recorded_files
from powertui.data.tools.registry import Question
from powertui.data.wire import schemas
from powertui.errors import UsageError
from tests.answers import rows, told

RUNS = (
    "tpu_v2_json_tools",
    "tb_profile_demo",
    "e4040_hd2551",
    "e4040_yg2820",
    "powerboard_tf22_run183023_5epochs",
    "powerboard_tf22_run195247",
)


def recorded_runs(shared_data: Path) -> Iterator[RunEntry]:
    for name in RUNS:
        for entry in logdir.scan(shared_data / "public" / name).runs:
            if entry.results:
                yield entry


# ── a decoder of its own: protobuf's wire, and nothing of powertui ───────────────────────────────


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of every field of one message."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            yield tag >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
        else:
            assert tag & 7 == 2
            size = varint()
            yield tag >> 3, data[at : at + size]
            at += size


def messages(data: bytes, *path: int) -> list[dict[int, Any]]:
    """The records at a path of field numbers, each with its fields by number."""
    found = [data]
    for number in path:
        found = [value for part in found for field, value in fields(part) if field == number]
    return [dict(fields(part)) for part in found]


# The columns of each table in the order of its fields' numbers, by suffix of file.
FRAMEWORK = [
    "rank",
    "host_or_device",
    "type",
    "operation",
    "occurrences",
    "total_time",
    "avg_time",
    "total_self_time",
    "avg_self_time",
    "device_total_self_time_percent",
    "device_cumulative_total_self_time_percent",
    "host_total_self_time_percent",
    "Host_cumulative_total_self_time_percent",
    "measured_gflop_rate",
    "measured_memory_bw_recorded",
    "operational_intensity",
    "bound_by",
    "is_eager",
]
STEPS = {
    1: "step_number",
    2: "stepTimeMs",
    3: "otherTimeMs",
    5: "outfeedTimeMs",
    6: "deviceComputeTimeMs",
    7: "deviceToDeviceTimeMs",
    8: "hostComputeTimeMs",
    9: "kernelLaunchTimeMs",
    10: "compileTimeMs",
    11: "hostWaitInputMs",
    12: "hostToDeviceMs",
    13: "deviceCollectivesTimeMs",
}
OPS = {1: "opName", 2: "count", 3: "timeInMs", 5: "selfTimeInMs", 7: "category"}
TOP = {1: "operation", 2: "category", 5: "flopRate", 6: "tcEligibility", 7: "tcUtilization"}
KERNELS = {
    1: "kernel_name",
    2: "registers_per_thread",
    7: "total_duration_us",
    8: "min_duration_us",
    9: "max_duration_us",
    11: "is_op_tensor_core_eligible",
    12: "op_name",
    13: "occurrences",
}
# suffix → (table, path of field numbers, columns by field number)
TABLES: dict[str, list[tuple[str, tuple[int, ...], dict[int, str]]]] = {
    "tensorflow_stats.pb": [
        ("with_idle", (4, 1), dict(enumerate(FRAMEWORK, 1))),
        ("without_idle", (5, 1), dict(enumerate(FRAMEWORK, 1))),
    ],
    "kernel_stats.pb": [("kernels", (1,), KERNELS)],
    "input_pipeline.pb": [("steps", (4, 2), STEPS), ("host_ops", (6,), OPS)],
    "overview_page.pb": [
        ("steps", (2, 4, 2), STEPS),
        ("host_ops", (2, 6), OPS),
        ("top_ops", (3, 4), TOP),
    ],
}


def same(stored: Any, shown: Any, column: str) -> bool:
    """Whether a cell shows what is stored; protobuf leaves zeros and empty texts out."""
    if isinstance(stored, bytes):
        return bool(stored.decode() == (shown or ""))
    if column.endswith("_duration_us"):  # stored in ns
        stored = (stored or 0) / 1000
    if shown is None:
        return stored in (None, 0)
    if isinstance(shown, str):
        return not shown and not stored
    return math.isclose(stored or 0, float(shown), rel_tol=1e-12)


def test_every_row_and_cell_of_the_stored_tables_is_shown(shared_data: Path) -> None:
    cells: Counter[str] = Counter()
    for entry in recorded_runs(shared_data):
        for file in recorded_files(entry):
            data = Path(file.path).read_bytes()
            host = entry_host_index(entry, file.host)
            for name, path, columns in TABLES.get(file.tool, []):
                stored = messages(data, *path)
                result = recorded(entry, host, TOOL_OF_FILE[file.tool])
                table = next((table for table in result.tables if table.id == name), None)
                if table is None:
                    assert not stored
                    continue
                listed = rows(table)
                assert len(listed) >= len(stored)
                for stored_row, row in zip(stored, listed, strict=False):
                    for number, column in columns.items():
                        assert same(stored_row.get(number), row[column], column), (file, column)
                        cells[file.tool] += 1
    assert cells["tensorflow_stats.pb"] == 42_210
    assert cells["kernel_stats.pb"] > 2000
    assert cells["input_pipeline.pb"] > 1000
    assert cells["overview_page.pb"] > 1000


def entry_host_index(entry: RunEntry, host: str) -> int:
    names = sorted({file.host for file in recorded_files(entry)})
    if entry.profiles:
        names = [file.host for file in entry.profiles]
    return names.index(host)


def recorded(entry: RunEntry, host: int, tool: str) -> Result:
    return registry.get(tool).answer(Question(Opened(entry), host, results="recorded"))


# ── nothing is left out ──────────────────────────────────────────────────────────────────────────


def leaves(node: Any) -> Iterator[Any]:
    """Every value of a JSON document but texts of layout."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name not in ("cols", "type_url"):
                yield from leaves(value)
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value)
    elif node not in (None, ""):
        yield node


def shown_values(result: Result) -> set[str]:
    """Every value that a result shows, as text; numbers in every unit that files have them in."""
    values: list[Any] = []
    for table in result.tables:
        for row in rows(table):
            values += row.values()
    values += [fact.exported()[0] for fact in result.facts]
    shown = set()
    for value in values:
        if isinstance(value, bool | int | float):
            for factor in (1, 100, 0.01, 1e12, 1e3):
                shown.add(f"{float(value) * factor:.9g}")
        elif value is not None:
            shown.add(str(value).strip())
            shown.update(part.strip() for part in str(value).replace(";", ",").split(","))
            shown.update(
                word for part in str(value).replace(";", ",").split(",") for word in part.split()
            )
    return shown


def test_no_value_of_a_json_result_is_left_out(shared_data: Path) -> None:
    documents = 0
    for entry in recorded_runs(shared_data):
        for file in recorded_files(entry):
            if not file.tool.endswith((".json", ".json.gz")):
                continue
            data = Path(file.path).read_bytes()
            document = json.loads(gzip.decompress(data) if file.tool.endswith("gz") else data)
            host = entry_host_index(entry, file.host)
            page = recorded_answer(Opened(entry), host, TOOL_OF_FILE[file.tool], "A page")
            shown = shown_values(page)
            for leaf in leaves(document):
                words = str(leaf).strip()
                number = words
                if isinstance(leaf, bool | int | float) or words.lstrip("-").isdigit():
                    number = f"{float(leaf):.9g}"
                assert words in shown or number in shown or words in JOINED, (file.path, leaf)
            documents += 1
    assert documents == 9


JOINED = {"byCategory", "byProgram"}  # titles of tables


# ── never as ours ────────────────────────────────────────────────────────────────────────────────


def test_a_run_without_a_profile_shows_recorded_pages_alone(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(shared_data / "public" / "tpu_v2_json_tools")
    for tool in ("overview_page", "input_pipeline_analyzer", "framework_op_stats"):
        assert cli.main(["report", path, "--tool", tool, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["mode"] == "recorded"
        assert answer["title"].endswith(", recorded")
        assert answer["facts"]["recorded"]["label"] == "recorded by the profiler"
        assert all(table["title"].endswith("(recorded)") for table in answer["tables"])
    run = powertui.open(path)[0]
    frame = run.tool("framework_op_stats").frame
    assert len(frame) == 731
    with pytest.raises(UsageError, match="has no profile"):
        run.tool("op_stats")
    assert cli.main(["report", path, "--tool", "kernel_stats"]) == 3


def test_a_run_with_a_profile_shows_ours_unless_it_is_asked(shared_data: Path) -> None:
    for entry in recorded_runs(shared_data):
        if not entry.profiles:
            continue
        for tool in ("framework_op_stats", "input_pipeline_analyzer"):
            result = registry.get(tool).answer(Question(Opened(entry)))
            assert result.mode != "recorded"
            assert not any("recorded" in table.title for table in result.tables)


def test_differences_are_found_cell_by_cell(shared_data: Path) -> None:
    folder = shared_data / "public" / "e4040_hd2551"
    entry = next(run for run in logdir.scan(folder).runs if run.results)
    opened = Opened(entry)

    def agreement(tool: str, compat: Any) -> dict[str, Any]:
        question = Question(opened, compat=compat, results="differences")
        result = registry.get(tool).answer(question)
        assert result.mode == "differences"
        return {fact.id: fact.value for fact in result.facts}

    by_its_rules = agreement("input_pipeline_analyzer", "tf2")
    assert by_its_rules["different"] == 1  # one wait of 32.47 µs, which is 5 ns longer in ours
    corrected = agreement("input_pipeline_analyzer", "corrected")
    assert corrected["different"] == 4  # and the copies, which are no compute
    kernels = agreement("kernel_stats", "tf2")
    assert (kernels["only_recorded"], kernels["only_ours"]) == (0, 1)


# ── files that are odd ───────────────────────────────────────────────────────────────────────────


def written(folder: Path, **files: bytes) -> Path:
    run = folder / "plugins" / "profile" / "one"
    run.mkdir(parents=True)
    for name, data in files.items():
        (run / f"host.{name.replace('__', '.')}").write_bytes(data)
    return folder


def test_a_made_result_is_shown_with_its_secrets_hidden(tmp_path: Path) -> None:
    page = schemas.message("OverviewPage")()
    job = page.run_environment.host_dependent_job_info.add()
    job.command_line = "train.py --api-key=hf_abcdefghijklmnopqrstuvwxyz0123"
    page.recommendation.statement = "Your program is NOT input-bound."
    folder = written(tmp_path, overview_page__pb=page.SerializeToString(), kernel_stats__pb=b"")
    (entry,) = logdir.scan(folder).runs
    result = registry.get("overview_page").answer(Question(Opened(entry)))
    assert [fact.value for fact in result.facts][:2] == [
        "host.overview_page.pb",
        "Your program is NOT input-bound.",
    ]
    text = str([rows(table) for table in result.tables])
    assert "train.py" in text
    assert "hf_abc" not in text
    empty = registry.get("kernel_stats").answer(Question(Opened(entry)))
    assert empty.mode == "recorded"
    assert empty.tables == ()


def _packed(kind: str, **values: Any) -> Any:
    """A detail of the input's analysis as a message of any type holds it."""
    value = schemas.message(kind)(**values)
    any_type = schemas.message("ProtobufAny")
    url = f"type.googleapis.com/tensorflow.profiler.{kind}"
    return any_type(type_url=url, value=value.SerializeToString())


def test_details_of_a_tpu_are_rows_and_columns(tmp_path: Path) -> None:
    """Those of an unknown type are at least named."""
    analysis = schemas.message("InputPipelineAnalysisResult")(hardware_type="TPU")
    for step in range(3):
        detail = _packed(
            "PerTpuStepDetails",
            step_number=step + 7,
            tc_infeed_time_ms=1.5 * step,
            max_infeed_time_core_name="TPU 3",
        )
        analysis.step_details.append(detail)
    summary = schemas.message("StepSummary")(average=2.25)
    cores = schemas.message("SparseCoreStepSummary")(sc_idle_ms_summary=summary)
    breakdown = _packed("TpuStepTimeBreakdown", sparse_core_step_summary=cores)
    analysis.step_time_breakdown.CopyFrom(breakdown)
    why = _packed("TpuBottleneckAnalysis", tc_idle_percent=12.5, input_classification="device")
    analysis.recommendation.bottleneck_analysis.CopyFrom(why)
    folder = written(tmp_path, input_pipeline__pb=analysis.SerializeToString())
    (entry,) = logdir.scan(folder).runs
    result = registry.get("input_pipeline_analyzer").answer(Question(Opened(entry)))
    (steps,) = (table for table in result.tables if table.id == "steps")
    shown = list(rows(steps))
    assert [row["step_number"] for row in shown] == [7, 8, 9]
    assert [row["tc_infeed_time_ms"] for row in shown] == [0.0, 1.5, 3.0]
    assert [row["max_infeed_time_core_name"] for row in shown] == ["TPU 3"] * 3
    text = str([rows(table) for table in result.tables]) + str(result.facts)
    for value in ("2.25", "0.125", "device"):
        assert value in text


def test_figures_that_came_later_are_shown_where_a_file_holds_them(tmp_path: Path) -> None:
    """A file without them may be older than they are: it says nothing of them, and not 0."""
    page = schemas.message("OverviewPage")()
    page.analysis.fw_max_hbm_pl1_power_watts = 212.5
    part = page.run_environment.power_metrics.power_component_metrics.add()
    part.component_name, part.avg_power = "HBM", 187.25
    folder = written(tmp_path, overview_page__pb=page.SerializeToString())
    (entry,) = logdir.scan(folder).runs
    result = registry.get("overview_page").answer(Question(Opened(entry)))
    text = str([rows(table) for table in result.tables]) + str(result.facts)
    for value in ("fw_max_hbm_pl1_power_watts", "212.5", "HBM", "187.25"):
        assert value in text
    assert "fw_max_hbm_pl2_power_watts" not in text


def test_damaged_results_are_one_sentence_and_hide_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(
        tmp_path,
        overview_page__pb=b"\x12\xff\xff\xff",
        memory_viewer__json=b'{"hloModule": [',
        pod_viewer__json=b"[" * 100_000,
        op_profile__json=b'{"byCategory": {"name": "all", "metrics": {"time": 1}, "children": []}}',
    )
    assert cli.main(["report", str(folder), "--tool", "recorded_results", "--json"]) == 0
    files = told(json.loads(capsys.readouterr().out), "files")
    assert [row["rows"] for row in files] == [0, 1, 0, 0]
    assert all(row["problem"] for row in files if not row["rows"])
    assert cli.main(["report", str(folder), "--tool", "overview_page"]) == 3
    assert "is no overview page" in capsys.readouterr().err


def test_a_tool_that_no_result_was_stored_of_says_what_was_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path, kernel_stats__pb=b"")
    assert cli.main(["report", str(folder), "--tool", "tf_data"]) == 3
    assert capsys.readouterr().err == (
        f"powertui: {folder}: has no profile, and the profiler stored no result of "
        "tf_data_bottleneck_analysis\n"
        f"  What it stored: powertui report {folder} --tool recorded_results\n"
    )


def test_what_is_beside_the_trees_of_an_op_profile_is_shown_too(tmp_path: Path) -> None:
    tree = '{"name": "all", "metrics": {"time": 1}, "children": []}'
    content = f'{{"byCategory": {tree}, "deviceType": "CPU_ONLY", "byProgram": {tree}}}'
    folder = written(tmp_path, op_profile__json=content.encode())
    (entry,) = logdir.scan(folder).runs
    result = registry.get("op_profile").answer(Question(Opened(entry)))
    assert [table.id for table in result.tables] == ["byCategory", "byProgram"]
    assert [fact.text() for fact in result.facts][1:] == ["CPU_ONLY"]
