"""powertui's answers about one profile, in the shape of the converter's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from powertui.data import hlo, hlo_memory, logdir
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.report.writers import as_json
from scripts.parity.tables import MIN_BUFFER_BYTES, TOOLS, Row, Tables

# Figures of the overview that both sides have: theirs, the id of our fact, and the factor to it.
_FACTS = {
    "bottleneck": ("bottleneck", None),
    "steptime_ms_average": ("step_time_s", 1e3),
    "steptime_ms_standard_deviation": ("step_time_deviation_s", 1e3),
    "steptime_ms_minimum": ("step_time_min_s", 1e3),
    "steptime_ms_maximum": ("step_time_max_s", 1e3),
    "device_compute_16bit_percent": ("device_compute_16bit_share", 100),
    "device_compute_32bit_percent": ("device_compute_32bit_share", 100),
    "device_op_time_eager_percent": ("device_op_time_eager_share", 100),
    "host_op_time_eager_percent": ("host_op_time_eager_share", 100),
    "device_tf_op_percent": ("device_tf_op_share", 100),
    "host_tf_op_percent": ("host_tf_op_share", 100),
    "host_count": ("hosts", 1),
    "device_core_count": ("device_core_count", 1),
}
# What tells ops of one name apart in a tree: "fusion.1 (jit_step(7))".
_PROGRAM = re.compile(r" \(.*\)$")
_CATEGORIES = {
    "device_compute": "Device compute",
    "device_to_device": "Device to device",
    "device_collectives": "Device collective communication",
    "host_compute": "Host compute",
    "kernel_launch": "Kernel launch",
    "infeed": "Input",
    "outfeed": "Output",
    "compile": "Compilation",
    "other": "All others",
}
_INPUT_FACTS = (
    "enqueue_us",
    "demanded_file_read_us",
    "advanced_file_read_us",
    "preprocessing_us",
    "unclassified_nonequeue_us",
)


def answers(folder: Path) -> Tables:
    """All compared tables of the one profile in a folder, by the converter's rules."""
    (entry,) = (entry for entry in logdir.scan(str(folder)).runs if entry.profiles)
    opened = Opened(entry)
    tables: Tables = {}
    tables |= _memory_viewer(opened)
    for tool in TOOLS:
        if tool == "memory_viewer":
            continue
        result = registry.get(tool).answer(Question(opened, compat="xprof"))
        answer = as_json.as_dict(result)
        for table in answer["tables"]:
            rows = _rows(table)
            if tool == "op_profile":
                rows = _tree_rows(rows)
            elif table["name"] == "top_ops":
                rows = [{**row, "selfTimePercent": row["selfTimePercent"] / 100} for row in rows]
            tables[f"{tool}/{table['name']}"] = rows
        figures = _overview_figures if tool == "overview_page" else _input_figures
        tables[f"{tool}/figures"] = list(figures(answer))
    return tables


def _memory_viewer(opened: Opened) -> Tables:
    """The plan of each program, and its large buffers at the peak."""
    programs: list[Row] = []
    buffers: list[Row] = []
    for module in hlo.modules(opened.profiles[0]).values():
        if hlo_memory.program_memory(module) is None:
            continue
        question = Question(opened, compat="xprof", choice=module.label)
        answer = as_json.as_dict(registry.get("memory_viewer").answer(question))
        figures = {id: fact["value"] for id, fact in answer["facts"].items()}
        programs.append({**figures, "program": module.label})
        (at_peak,) = (table for table in answer["tables"] if table["name"] == "at_peak")
        buffers += [
            {**row, "program": module.label}
            for row in _rows(at_peak)
            if row["size_bytes"] >= MIN_BUFFER_BYTES
        ]
    return {"memory_viewer/programs": programs, "memory_viewer/buffers": buffers}


def _rows(table: dict[str, Any]) -> list[Row]:
    ids = [column["id"] for column in table["columns"]]
    return [dict(zip(ids, row, strict=True)) for row in table["rows"]]


def _tree_rows(rows: list[Row]) -> list[Row]:
    """Each node with the names above it."""
    path: list[str] = []
    tree: list[Row] = []
    for row in rows:
        name = row["name"].strip()
        if row["level"]:
            name = _PROGRAM.sub("", name)
        path = [*path[: row["level"]], name]
        time_s = row["time_s"]
        tree.append(
            {
                "path": " > ".join(path),
                "time_ps": None if time_s is None else time_s * 1e12,
                "occurrences": row["occurrences"],
            }
        )
    return tree


def _overview_figures(answer: dict[str, Any]) -> Iterator[Row]:
    facts = answer["facts"]
    for figure, (fact, factor) in _FACTS.items():
        if fact in facts:
            yield _figure(figure, facts[fact]["value"], factor)
    (summary,) = (_rows(table) for table in answer["tables"] if table["name"] == "summary")
    categories = {row["category"]: row for row in summary}
    if not categories:  # no step
        return
    # A category that no step has is left out of the summary. One step has no deviation.
    absent = {**categories["Step time"], "average_s": 0.0}
    if absent["deviation_s"] is not None:
        absent["deviation_s"] = 0.0
    for figure, category in _CATEGORIES.items():
        row = categories.get(category, absent)
        yield _figure(f"{figure}_time_ms_avg", row["average_s"], 1e3)
        yield _figure(f"{figure}_time_ms_sdv", row["deviation_s"], 1e3)


def _input_figures(answer: dict[str, Any]) -> Iterator[Row]:
    for figure in _INPUT_FACTS:
        if figure in answer["facts"]:
            yield _figure(figure, answer["facts"][figure]["value"], 1)


def _figure(name: str, value: Any, factor: float | None) -> Row:
    if value is None or factor is None:
        return {"figure": name, "value": value}
    return {"figure": name, "value": value * factor}
