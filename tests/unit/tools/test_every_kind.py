"""Every tool on every kind of profile, in every form: no traceback, and what is missing is said in
a sentence.
"""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import powertui
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.report.writers import as_csv, as_json, as_markdown, as_text

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

KINDS = {
    "TensorFlow, host": "own/custom_loop",
    "TensorFlow 2.2, JSON": "public/powerboard_tf22_run195247",
    "TensorFlow, GPU": "public/e4040_hd2551",
    "TensorFlow, eight GPUs": "public/tf_gpu_multiworker",
    "JAX, CPU": "own/jax_cpu/plugins/profile/2026_11_21_00_50_50",
    "JAX, ROCm": "public/jax_rocm_mi300_gemm",
    "PyTorch, H100": "public/kineto_h100_bert",
    "PyTorch, CPU": "public/kineto_hta_cpu_only",
    "AIU": "public/ibm_aiu",
    "a trace of nothing known": "public/tb_profile_demo",
}
# What must not be empty, by kind: the others may say why they are.
FULL = {
    "TensorFlow, host": {
        "overview_page",
        "input_pipeline_analyzer",
        "tf_data_bottleneck_analysis",
        "framework_op_stats",
        "steps",
    },
    "TensorFlow 2.2, JSON": {
        "overview_page",
        "input_pipeline_analyzer",
        "framework_op_stats",
        "steps",
        "epochs",
    },
    "TensorFlow, GPU": {
        "overview_page",
        "framework_op_stats",
        "kernel_stats",
        "op_profile",
        "steps",
    },
    "TensorFlow, eight GPUs": {"overview_page", "framework_op_stats", "kernel_stats", "steps"},
    "JAX, CPU": {"overview_page", "framework_op_stats", "hlo_stats", "op_profile", "steps"},
    "JAX, ROCm": {
        "overview_page",
        "framework_op_stats",
        "hlo_stats",
        "op_profile",
        "kernel_stats",
        "steps",
    },
    "PyTorch, H100": {
        "overview_page",
        "framework_op_stats",
        "kernel_stats",
        "gpu_timeline",
        "ops_summary",
        "kernel_summary",
    },
    "PyTorch, CPU": {"overview_page", "framework_op_stats", "steps"},
    "AIU": {"overview_page", "op_stats", "event_sets"},
    "a trace of nothing known": {"overview_page", "op_stats", "event_sets"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_tool_answers_in_every_form(shared_data: Path, kind: str) -> None:
    run = powertui.open(shared_data / KINDS[kind])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a division by zero is a figure that nobody should see
        for tool in registry.TOOLS:
            result = tool.answer(Question(run.opened))
            assert isinstance(run.tool(tool.name).frame, pd.DataFrame), tool.name
            _in_every_form(result)
            assert any(len(table) for table in result.tables) or tool.name not in FULL[kind], (
                tool.name
            )
            assert any(len(table) for table in result.tables) or _sentences(result), tool.name
            for table in result.tables:
                assert len(table) or table.empty, (tool.name, table.id)


def _sentences(result: Result) -> list[str]:
    told = [*(table.empty for table in result.tables), *result.notes]
    return [text for text in told if len(text.split()) > 2]


def _in_every_form(result: Result) -> None:
    decoded: dict[str, Any] = json.loads(json.dumps(as_json.as_dict(result), allow_nan=False))
    assert decoded["tool"] == result.id
    for table in decoded["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
    for table_ in result.tables[:1]:
        rows = list(csv.reader(io.StringIO(as_csv.of_table(table_))))
        assert len(rows) == len(table_) + 1
    for text in (as_text.write(result), as_markdown.write(result)):
        assert result.title in text
        assert "nan" not in text.lower().replace("nano", "").split()


@pytest.mark.parametrize("kind", ["TensorFlow, host", "TensorFlow, GPU", "PyTorch, H100"])
def test_a_window_without_anything_is_said_too(shared_data: Path, kind: str) -> None:
    run = powertui.open(shared_data / KINDS[kind])[0]
    for tool in registry.TOOLS:
        result = tool.answer(Question(run.opened, lo=0, hi=1))
        _in_every_form(result)
