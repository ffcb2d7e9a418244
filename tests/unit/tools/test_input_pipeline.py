"""The input pipeline: every op as TensorFlow and today's converter stored it, and pipelines of
tf.data with known answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data import wire
from powertui.data.asked import Compat
from powertui.data.opened import Profile
from powertui.data.table import Result
from powertui.data.tools import (
    breakdown,
    input_pipeline,
    iterator_calls,
    registry,
    tf_data_pipelines,
)
from powertui.data.tools.registry import Question
from powertui.report.writers import as_json
from tests.synthetic.xplane import Event, Line, Plane, encode
from tests.unit.tools.opened_runs import opened

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
_MS = 1_000_000_000
_US = 1_000_000
_BY_TENSORFLOW = sorted(
    path.relative_to(_SHARED).as_posix()
    for folder in (
        "e4040_hd2551",
        "e4040_yg2820",
        "powerboard_tf22_run183023_5epochs",
        "powerboard_tf22_run195247",
    )
    for path in (_SHARED / "public" / folder).rglob("*.input_pipeline.pb")
)
_BY_XPROF = {
    "custom_loop": "own/custom_loop",
    "gpu_tf_t4": "public/e4040_hd2551",
    "keras_cifar_relabelled": "own/keras_cifar",
    "jax_opt": "own/jax_cpu/plugins/profile/2026_11_21_00_50_50",
}


def _ops(profile: Profile, compat: Compat) -> dict[str, input_pipeline.InputOp]:
    lo, hi = profile.trace.span
    return {op.name: op for op in input_pipeline.input_ops(profile, lo, hi + 1, compat)}


def test_facts_are_in_the_units_of_their_names(shared_data: Path) -> None:
    """As the converter has them: preprocessing_us 13722556.277, and 95.4 % of each step."""
    result = registry.get("input_pipeline_analyzer").answer(
        Question(opened(shared_data / "own/custom_loop"), compat="xprof")
    )
    facts = as_json.as_dict(result)["facts"]
    assert facts["preprocessing_us"]["value"] == pytest.approx(13_722_556.277)
    assert facts["preprocessing_us"]["unit"] == "us"
    assert facts["input_percent"]["value"] == pytest.approx(95.4, abs=0.05)
    assert facts["input_percent"]["unit"] == "%"
    assert facts["input_time_s"]["value"] == pytest.approx(0.1138, abs=1e-4)


def test_a_value_stands_without_the_reason_for_none(shared_data: Path) -> None:
    result = registry.get("input_pipeline_analyzer").answer(
        Question(opened(shared_data / "own/custom_loop"))
    )
    for fact in result.facts:
        assert fact.value is not None
        assert fact.why == "", fact.id


def _alike(
    ours: dict[str, input_pipeline.InputOp], theirs: list[tuple[str, int, float, float, str]]
) -> list[Any]:
    assert len(ours) == len(theirs)
    return [
        (row, ours.get(row[0]))
        for row in theirs
        if (op := ours.get(row[0])) is None
        or (op.occurrences, op.category) != (row[1], row[4])
        or abs(op.total / _MS - row[2]) > 2e-6
        or abs(op.self_time / _MS - row[3]) > 2e-6
    ]


@pytest.mark.parametrize("path", _BY_TENSORFLOW)
def test_every_op_as_tensorflow_stored_it(path: str) -> None:
    data = np.frombuffer((_SHARED / path).read_bytes(), np.uint8)
    rows = []
    for lo, hi in zip(
        *(side.tolist() for side in wire.hop(data, 0, len(data)).ranges(6)), strict=True
    ):
        op = wire.hop(data, lo, hi)
        name, kind = (data[slice(*op.payload(field))].tobytes().decode() for field in (1, 7))
        total, own = (
            float(op.value[op.number == field][-1:].view(np.float64)[0])
            if (op.number == field).any()
            else 0.0
            for field in (3, 5)
        )
        rows.append((name, op.integer(2), total, own, kind))
    profile = opened((_SHARED / path).parent).profiles[0]
    ours = _ops(profile, "tf2")
    assert rows
    assert not _alike(ours, rows)
    parted = wire.hop(data, *wire.hop(data, 0, len(data)).payload(5))
    preprocessing = float(parted.value[parted.number == 3][-1:].view(np.float64)[0])
    found = input_pipeline.broken_up(
        [profile.trace], list(ours.values()), breakdown.step_breakdown(profile, "tf2"), "tf2"
    )
    assert found.preprocessing / _US == pytest.approx(preprocessing, abs=2e-3)


@pytest.mark.parametrize("golden", sorted(_BY_XPROF))
def test_every_op_as_the_converter_of_today_has_it(shared_data: Path, golden: str) -> None:
    pages: Any = json.loads(
        (shared_data / "golden" / golden / "input_pipeline_analyzer.json").read_text()
    )
    page = next(
        page for page in pages if any(column["id"] == "opName" for column in page.get("cols", []))
    )
    rows = [[cell.get("v") for cell in row["c"]] for row in page["rows"]]
    profile = opened(shared_data / _BY_XPROF[golden]).profiles[0]
    assert not _alike(
        _ops(profile, "xprof"), [(row[0], int(row[1]), row[2], row[4], row[6]) for row in rows]
    )
    result = registry.get("input_pipeline_analyzer").answer(
        Question(profile.opened, compat="xprof")
    )
    us = {fact.id: float(fact.value or 0) / _US for fact in result.facts if fact.id.endswith("_us")}
    for name, text in page["p"].items():
        assert us[name] == pytest.approx(float(text), abs=1e-3)
    table = result["host_ops"]
    known = {column.id: column.head for column in table.columns}
    assert known == {column["id"]: column["label"] for column in page["cols"]}
    if rows:
        assert table["selfTimeInPercent"].exports()[0] == pytest.approx(rows[0][5])


@pytest.mark.parametrize(
    ("name", "kind", "category"),
    [
        ("Iterator::Model::TFRecord", "Dataset", input_pipeline.DEMANDED),
        (
            "Iterator::Root::Prefetch::ParallelInterleaveV4[0]::TFRecord",
            "Dataset",
            input_pipeline.ADVANCED,
        ),
        ("Iterator::Root::Map", "Dataset", input_pipeline.PREPROCESSING),
        ("InfeedEnqueueTuple", "InfeedEnqueueTuple", input_pipeline.ENQUEUE),
        ("dense/MatMul", "MatMul", ""),
    ],
)
def test_what_an_op_does_for_the_input(name: str, kind: str, category: str) -> None:
    assert input_pipeline.category_of(name, kind) == category


# ── tf.data ──────────────────────────────────────────────────────────────────────────────────────


def _pipeline(tmp_path: Path, *, ahead_ms: int = 30) -> Result:
    """Root asks Prefetch, which waits 20 ms for what Map on another thread makes in `ahead_ms`, 1
    ms of which is TFRecord's.
    """
    root, prefetch, map_, record = (
        "Iterator::Root",
        "Iterator::Root::Prefetch",
        "Iterator::Root::Prefetch::Map",
        "Iterator::Root::Prefetch::Map::TFRecord",
    )
    main, other = [], []
    for call in range(3):
        at = (call + 1) * 100 * _MS
        main += [
            Event(root, at, 21 * _MS, {"id": 1}),
            Event(prefetch, at, 20 * _MS, {"id": 2, "parent_id": 1}),
            Event("PrefetchConsume", at + 20 * _MS - _US, _US, {"element_id": 40 + call}),
        ]
        begin = at + 20 * _MS - ahead_ms * _MS
        other += [
            Event("PrefetchProduce", begin, ahead_ms * _MS, {"element_id": 40 + call}),
            Event(map_, begin, (ahead_ms - 1) * _MS, {"id": 3, "parent_id": 2}),
            Event(record, begin + _MS, _MS, {"id": 4, "parent_id": 3}),
        ]
    folder = tmp_path / "plugins" / "profile" / "2026_11_22_00_00_00"
    folder.mkdir(parents=True)
    (folder / "node.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", main, 1), Line("tf_data", other, 2)])])
    )
    return registry.get("tf_data_bottleneck_analysis").answer(Question(opened(tmp_path)))


def test_the_iterator_behind_a_prefetch_is_the_bottleneck(tmp_path: Path) -> None:
    result = _pipeline(tmp_path)
    table = result["pipelines"]
    assert [
        table[id].value(0) for id in ("calls", "slow_calls", "max_latency_us", "bottleneck")
    ] == [3, 3, 21 * _MS, "Map"]
    assert table["bottleneck_s"].value(0) == 28 * _MS
    tree = result["iterators"]
    own = {str(tree["path"].value(row)): tree["self_s"].value(row) for row in range(len(tree))}
    # Map ran from 10 ms before the call to 19 ms into it: Prefetch itself has the millisecond
    # after.
    assert own == {
        "Iterator::Root": 3 * _MS,
        "Iterator::Root::Prefetch": 3 * _MS,
        "Iterator::Root::Prefetch::Map": 3 * 28 * _MS,
        "Iterator::Root::Prefetch::Map::TFRecord": 3 * _MS,
    }
    assert "num_parallel_calls" in str(
        next(fact.value for fact in result.facts if fact.id == "conclusion")
    )


def test_a_profile_without_a_pipeline_does_not_say_that_it_has_no_steps(shared_data: Path) -> None:
    result = registry.get("tf_data_bottleneck_analysis").answer(
        Question(opened(shared_data / "own" / "jax_cpu" / "plugins" / "profile"))
    )
    (share,) = [fact for fact in result.facts if fact.id == "share"]
    assert (share.value, share.why) == (None, "not recorded")


def test_what_ran_before_it_was_asked_for_holds_nothing_up(tmp_path: Path) -> None:
    """The element was ready 10 ms before the call: no call overlaps, so Prefetch itself is what
    took the time.
    """
    root = "Iterator::Root"
    events = [
        Event(root, 100 * _MS, 2 * _MS, {"id": 1}),
        Event(f"{root}::Prefetch", 100 * _MS, _MS, {"id": 2}),
        Event("PrefetchConsume", 100 * _MS, _US, {"element_id": 7}),
    ]
    other = [
        Event("PrefetchProduce", 50 * _MS, 40 * _MS, {"element_id": 7}),
        Event(f"{root}::Prefetch::Map", 50 * _MS, 40 * _MS, {"id": 3}),
    ]
    folder = tmp_path / "plugins" / "profile" / "2026_11_22_00_00_00"
    folder.mkdir(parents=True)
    (folder / "node.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", events, 1), Line("tf_data", other, 2)])])
    )
    trace = opened(tmp_path).profiles[0].trace
    calls = iterator_calls.iterator_calls(trace, *trace.span)
    by_name = {trace.names.full(int(name)): row for row, name in enumerate(calls.name.tolist())}
    ahead = by_name[f"{root}::Prefetch::Map"]
    assert not calls.blocking[ahead]
    assert calls.root[ahead] == by_name[root]
    assert calls.own[by_name[f"{root}::Prefetch"]] == _MS


def test_a_loop_that_waits_for_its_data_is_told_so(shared_data: Path) -> None:
    result = registry.get("tf_data_bottleneck_analysis").answer(
        Question(opened(shared_data / "own" / "custom_loop"))
    )
    assert result["pipelines"]["bottleneck"].value(0) == "MapAndBatch"
    words = str(next(fact.value for fact in result.facts if fact.id == "conclusion"))
    assert "delays the program" in words
    assert "95." in words


def test_a_pipeline_that_takes_little_is_not_blamed(shared_data: Path) -> None:
    result = registry.get("tf_data_bottleneck_analysis").answer(
        Question(opened(shared_data / "own" / "keras_cifar"))
    )
    assert "little to gain" in str(
        next(fact.value for fact in result.facts if fact.id == "conclusion")
    )


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("Iterator::Root::TFRecord", "source"),
        ("Iterator::Root::ForeverRepeat::FromTensor", "source"),
        ("Iterator::Root::Map", "parallel"),
        ("Iterator::Root::ParallelMapV2[0]", "parallelism"),
        ("Iterator::Root::BatchV2", "element by element"),
        ("Iterator::Root::DataServiceV4", "workers"),
        ("Iterator::Root::Own", "prefetch"),
    ],
)
def test_suggestions_by_iterator(path: str, word: str) -> None:
    assert word in tf_data_pipelines.suggestion(path)
