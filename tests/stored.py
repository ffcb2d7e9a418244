"""Step times that TensorFlow or TensorBoard's profiler stored beside a profile: what ours are held
against.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from powertui.data import wire
from powertui.data.wire.types import Bytes

# OverviewPage.input_analysis; InputPipelineAnalysisResult.step_details, each an Any; its value;
# PerGenericStepDetails.
_INPUT_ANALYSIS, _DETAILS, _ANY_TYPE, _ANY_VALUE = 2, 4, 1, 2
_NUMBER, _STEP_MS, _NAME = 1, 2, 14
_GENERIC = "PerGenericStepDetails"


class Stored(NamedTuple):
    """One step as stored: its group's number, its name where it has one, its length."""

    number: int
    name: str
    ms: float


def steps(path: Path) -> list[Stored]:
    """The steps of one `*.input_pipeline.pb`, `*.overview_page.pb`, or of the tools' JSON."""
    if path.suffix == ".json":
        return _of_json(path)
    data = np.frombuffer(path.read_bytes(), np.uint8)
    lo, hi = 0, len(data)
    if path.name.endswith("overview_page.pb"):
        lo, hi = wire.hop(data, lo, hi).payload(_INPUT_ANALYSIS)
    return list(_of_messages(data, lo, hi))


def _of_messages(data: Bytes, lo: int, hi: int) -> Iterator[Stored]:
    for at, end in zip(
        *(side.tolist() for side in wire.hop(data, lo, hi).ranges(_DETAILS)), strict=True
    ):
        packed = wire.hop(data, at, end)
        if not text_at(data, *packed.payload(_ANY_TYPE)).endswith(_GENERIC):
            continue
        step = wire.hop(data, *packed.payload(_ANY_VALUE))
        length = step.value[step.number == _STEP_MS]
        ms = (
            float(length[-1:].view(np.float64)[0]) if len(length) else 0.0
        )  # proto3 leaves zeros out
        yield Stored(step.integer(_NUMBER), text_at(data, *step.payload(_NAME)), ms)


def _of_json(path: Path) -> list[Stored]:
    """The input pipeline's table of steps, by its columns' names: pages differ by version in which
    table it is.
    """
    for table in json.loads(path.read_text()):
        columns = [column["id"] for column in table.get("cols", [])]
        if "stepnum" in columns and "stepTimeMs" in columns:
            name, ms = columns.index("stepnum"), columns.index("stepTimeMs")
            rows = [row["c"] for row in table["rows"]]
            return [
                Stored(index, str(row[name]["v"]), float(row[ms]["v"]))
                for index, row in enumerate(rows)
            ]
    return []


def text_at(data: Bytes, lo: int, hi: int) -> str:
    return data[lo:hi].tobytes().decode("utf-8", "replace")


# ── the steps' parts ─────────────────────────────────────────────────────────────────────────────

_FIELDS = {
    "otherTimeMs": (3,),
    "outfeedTimeMs": (5,),
    "deviceComputeTimeMs": (6,),
    "deviceToDeviceTimeMs": (7,),
    "hostComputeTimeMs": (8,),
    "kernelLaunchTimeMs": (9,),
    "compileTimeMs": (10,),
    "infeedTimeMs": (11, 12),
    "deviceCollectivesTimeMs": (13,),
    "stepTimeMs": (2,),
}


def parts(path: Path) -> list[dict[str, float]]:
    """The time of each category in each step, ms, under the names that today's converter has for
    them.
    """
    if path.suffix == ".json":
        for table in json.loads(path.read_text()):
            columns = [column["id"] for column in table.get("cols", [])]
            if "stepnum" in columns and "stepTimeMs" in columns:
                rows = [[cell.get("v") for cell in row["c"]] for row in table["rows"]]
                return [
                    {
                        name: float(value)
                        for name, value in zip(columns, row, strict=True)
                        if name in _FIELDS
                    }
                    for row in rows
                ]
        return []
    data = np.frombuffer(path.read_bytes(), np.uint8)
    lo, hi = 0, len(data)
    if path.name.endswith("overview_page.pb"):
        lo, hi = wire.hop(data, lo, hi).payload(_INPUT_ANALYSIS)
    found = []
    for at, end in zip(
        *(side.tolist() for side in wire.hop(data, lo, hi).ranges(_DETAILS)), strict=True
    ):
        packed = wire.hop(data, at, end)
        if text_at(data, *packed.payload(_ANY_TYPE)).endswith(_GENERIC):
            step = wire.hop(data, *packed.payload(_ANY_VALUE))
            doubles = {
                field: float(step.value[step.number == field][-1:].view(np.float64)[0])
                for field in range(2, 14)
                if (step.number == field).any()
            }
            found.append(
                {
                    name: sum(doubles.get(field, 0.0) for field in fields)
                    for name, fields in _FIELDS.items()
                }
            )
    return found
