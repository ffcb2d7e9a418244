"""A baseline as a file: what comes back, how large it gets, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from powertui.data.gate.baseline_file import (
    MAX_FILE_BYTES,
    baseline_text,
    read_baseline,
    with_added,
)
from powertui.data.gate.baseline_store import (
    baseline_folder,
    check_name,
    find_baseline,
    save_baseline,
    saved_names,
)
from powertui.data.gate.run_values import BaselineRuns, GatedRun, GateValue
from powertui.errors import PowertuiError, UnreadableFile, UsageError


def run(number: int, ops: int = 3) -> GatedRun:
    values = {
        "step_s": GateValue(0.05 + number / 1000, (0.05,) * 8),
        "J/step": GateValue(10.0 + number, (), 0.5, 0.6),
        "memory_B": GateValue(1234567891.0, is_fact=True),
    }
    for op in range(ops):
        values[f"op:name {op}"] = GateValue(1e-6 * (op + 1) * (1 + number / 7))
    return GatedRun(f"run{number}", 100, values, {"batch size": str(32 + number)}, start_ns=5)


def saved(tmp_path: Path, runs: list[GatedRun]) -> Path:
    path = tmp_path / "main.json"
    path.write_text(baseline_text("main", runs, 1_790_000_000))
    return path


def at(number: int, start_ns: int | None, ops: int = 3) -> GatedRun:
    return replace(run(number, ops), start_ns=start_ns)


def test_runs_of_another_night_are_added_and_each_start_counts_once() -> None:
    first = BaselineRuns("main", (at(0, 10), at(1, 20), at(2, None)))
    both = with_added(first, [at(3, 30), at(4, 20), at(5, None)])
    assert [one.name for one in both.runs] == ["run0", "run2", "run3", "run4", "run5"]
    many = with_added(first, [at(number, 100 + number) for number in range(120)])
    assert [many.runs[0].name, many.runs[-1].name, len(many.runs)] == ["run20", "run119", 100]


def test_an_op_that_had_no_room_took_an_unknown_time_and_not_none(tmp_path: Path) -> None:
    back = read_baseline(str(saved(tmp_path, [run(number, 2000) for number in range(5)])))
    assert back.left_out > 0
    kept = set(back.runs[0].values)
    both = with_added(back, [at(7, 30, 2000)])
    assert set(both.runs[-1].values) == kept
    again = baseline_text("main", both.runs, 0, left_out=both.left_out)
    assert json.loads(again)["left_out"] >= back.left_out
    # A baseline that holds all of them gets the new ones, too.
    assert (
        "op:name 9"
        in with_added(BaselineRuns("main", (at(0, 10),)), [at(1, 20, 10)]).runs[1].values
    )


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    runs = [run(number) for number in range(2)]
    back = read_baseline(str(saved(tmp_path, runs)))
    assert back.name == "main"
    assert back.runs[0].values["memory_B"].value == 1234567891.0
    assert back.left_out == 0
    for before, after in zip(runs, back.runs, strict=True):
        assert (after.name, after.steps, after.settings, after.start_ns) == (
            before.name,
            before.steps,
            before.settings,
            before.start_ns,
        )
        assert list(after.values) == [*list(before.values)[:3], *list(before.values)[:2:-1]]
        for name, value in before.values.items():
            same = after.values[name]
            assert same.value == pytest.approx(value.value, rel=1e-6)
            assert (same.blocks, same.below, same.above, same.is_fact) == (
                value.blocks,
                value.below,
                value.above,
                value.is_fact,
            )


def test_blocks_are_kept_only_where_runs_are_too_few_to_decide(tmp_path: Path) -> None:
    back = read_baseline(str(saved(tmp_path, [run(number) for number in range(3)])))
    assert all(not of_run.values["step_s"].blocks for of_run in back.runs)


@pytest.mark.parametrize(("runs", "ops"), [(1, 5000), (5, 5000), (100, 5000)])
def test_no_baseline_is_larger_than_64_kb(tmp_path: Path, runs: int, ops: int) -> None:
    path = saved(tmp_path, [run(number, ops) for number in range(runs)])
    assert path.stat().st_size <= MAX_FILE_BYTES
    back = read_baseline(str(path))
    kept = sum(name.startswith("op:") for name in back.runs[0].values)
    assert kept + back.left_out == ops
    assert "op:name 4999" in back.runs[0].values  # the largest stay
    assert "step_s" in back.runs[0].values


def test_long_names_of_runs_and_settings_take_no_room_from_the_figures(tmp_path: Path) -> None:
    settings = {f"setting {number}": "\U0001f600" * 200 for number in range(99)}
    runs = [
        GatedRun("\U0001f600" * 999, 9, {"step_s": GateValue(1.0)}, settings, "ü" * 999)
        for _ in range(100)
    ]
    path = saved(tmp_path, runs)
    assert path.stat().st_size <= MAX_FILE_BYTES
    back = read_baseline(str(path))
    assert (len(back.runs), list(back.runs[0].values)) == (100, ["step_s"])


def test_hostile_names_do_not_break_the_file(tmp_path: Path) -> None:
    hostile = GatedRun(
        '"}\n\x1b[2J', 9, {'op:\ud800\x00"': GateValue(1.0), "op:" + "x" * 9999: GateValue(9.0)}
    )
    back = read_baseline(str(saved(tmp_path, [hostile])))
    assert list(back.runs[0].values) == ['op:\ud800\x00"']
    assert back.left_out == 1


def test_a_hundred_runs_are_the_most() -> None:
    with pytest.raises(UsageError, match="101 runs are too many for a baseline: 100 at most"):
        baseline_text("main", [run(0)] * 101, 0)


DOCUMENT = json.loads(baseline_text("main", [run(0)], 0))


def damaged(**changes: Any) -> bytes:
    return json.dumps({**DOCUMENT, **changes}).encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is not JSON, or it was cut off"),
        (b"\xff\xfe", "it is not JSON, or it was cut off"),
        (b"[" * 60_000, "it is not JSON, or it was cut off"),
        (json.dumps(DOCUMENT).encode()[:300], "it is not JSON, or it was cut off"),
        (
            json.dumps(DOCUMENT).replace("0.05", "NaN", 1).encode(),
            "it is not JSON, or it was cut off",
        ),
        (b" " * (MAX_FILE_BYTES + 1), "it is larger than 64 kB"),
        (b"[]", "its format is another one"),
        (b'{"format": "other"}', "its format is another one"),
        (damaged(version=2), "its version is one that this powertui does not know"),
        (damaged(version=True + 1), "its version is one that this powertui does not know"),
        (damaged(runs=[]), "it holds no run, or too many"),
        (damaged(runs=[{}] * 101), "it holds no run, or too many"),
        (damaged(runs=None), "it has no list of runs"),
        (damaged(quantities={}), "it has no list of quantities"),
        (damaged(quantities=[7]), "a name is missing"),
        (damaged(quantities=[{"name": "W"}]), "a figure has not as many runs as there are runs"),
        (damaged(quantities=[{"name": "W", "runs": ["1"]}]), "a figure is not a number"),
        (damaged(quantities=[{"name": "W", "runs": [True]}]), "a figure is not a number"),
        (damaged(quantities=[{"name": "W", "runs": [10**400]}]), "a figure is not a finite number"),
        (
            damaged(quantities=[{"name": "W", "runs": [1], "blocks": [1]}]),
            "its blocks are not lists",
        ),
        (damaged(configuration={"a": 7}), "its configuration is not a JSON object"),
        (damaged(name=7), "a name is missing"),
    ],
)
def test_a_damaged_or_foreign_file_is_one_sentence(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "main.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableFile) as refused:
        read_baseline(str(path))
    assert refused.value.problem == f"is not a baseline of powertui: {problem}"


def test_what_cannot_be_opened_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json", tmp_path / "nul\0.json"):
        with pytest.raises(UnreadableFile):
            read_baseline(str(path))


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../main", "a/b", "/etc/passwd", "a\0b", "a b", "-x", "a.json", "x" * 65, "ä"],
)
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name)
    with pytest.raises(PowertuiError):
        save_baseline(tmp_path, name, "{}", replace=True)
    assert list(tmp_path.iterdir()) == []


def test_a_baseline_is_replaced_only_when_that_is_asked(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    content = baseline_text("main", [run(0)], 0)
    path = save_baseline(folder, "main", content, replace=False)
    with pytest.raises(UsageError, match="There is a baseline named main already"):
        save_baseline(folder, "main", content, replace=False)
    save_baseline(folder, "main", content, replace=True)
    assert [file.name for file in folder.iterdir()] == ["main.json"]
    assert find_baseline("main", folder) == find_baseline(str(path), tmp_path)
    (folder / "not a name.json").write_text("{}")
    (folder / "other.txt").write_text("{}")
    assert saved_names(folder) == ["main"]
    assert saved_names(tmp_path / "none") == []


def test_a_baseline_that_cannot_be_written_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "main.json").mkdir()  # where no file can go
    content = baseline_text("main", [run(0)], 0)
    with pytest.raises(PowertuiError, match="is a directory"):
        save_baseline(tmp_path, "main", content, replace=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["main.json"]


def test_the_folder_is_named_or_of_the_environment_or_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("POWERTUI_BASELINES", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert baseline_folder() == tmp_path / "powertui" / "baselines"
    monkeypatch.setenv("POWERTUI_BASELINES", "/somewhere")
    assert baseline_folder() == Path("/somewhere")
    assert baseline_folder("here") == Path("here")
