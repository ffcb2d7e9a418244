"""Several hosts as one answer: steps as long as the longest, ops and kernels added up; or one of
them by its name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import powertui
from powertui.cli import main
from powertui.data import logdir
from powertui.data.asked import COMPAT, Compat
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.errors import UsageError
from powertui.report.writers import WRITERS, write
from tests import answers as told
from tests.synthetic.xplane import Event, Line, Plane, Value, encode

MS = 10**9
TOGETHER = [tool.name for tool in registry.TOOLS if tool.combines]
WORK = {"a": 30, "b": 50, "c": 40}  # ms of computing in each step of 60 ms


def _host(name: str, steps: int = 6, first: int = 0, shift: int = 0) -> list[Plane]:
    """Steps 100 ms apart: waiting for input, an op, a kernel of it, and a copy."""
    host: list[Event] = []
    marks, kernels = [], []
    for step in range(steps):
        at, group = (step * 100 + shift) * MS, {"group_id": step}
        number = first + step
        mark: dict[str, Value] = {"step_num": number, "step_name": f"train {number}", **group}
        host += [
            Event("train", at, 60 * MS, mark),
            Event("Iterator::Prefetch", at + MS, 4 * MS, {**group}),
            Event("model/MatMul:MatMul", at + 6 * MS, 2 * MS, {**group}),
        ]
        said: dict[str, Value] = {
            "correlation_id": step,
            "tf_op": "model/MatMul:MatMul",
            "kernel_details": "regs:32 grid:1,1,1 block:64,1,1",
            **group,
        }
        kernels.append(Event("sgemm", at + 8 * MS, WORK[name] * MS, said))
        marks.append(Event(str(number), at, 60 * MS, {**group}))
    device = Plane(
        "/device:GPU:0",
        [Line("Stream #13", kernels, 13), Line("Steps", marks, 0xDEADBEEF)],
        {"compute_cap_major": 8, "compute_cap_minor": 0},
    )
    return [Plane("/host:CPU", [Line("python", host, 1)]), device]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "plugins" / "profile" / "2026_11_22_00_00_00"
    place.mkdir(parents=True)
    for number, name in enumerate(WORK):
        (place / f"{name}.xplane.pb").write_bytes(encode(_host(name, shift=3 * number)))
    return tmp_path


def _ask(folder: Path, tool: str, compat: Compat = "corrected") -> Result:
    opened = Opened(next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles))
    return registry.get(tool).answer(Question(opened, compat=compat, together=True))


def test_ops_are_added_up(folder: Path) -> None:
    rows = {
        (row["host_or_device"], row["operation"]): row
        for row in told.rows(_ask(folder, "framework_op_stats")["without_idle"])
    }
    device = rows["Device", "model/MatMul"]
    assert device["occurrences"] == 18
    assert device["total_time"] == pytest.approx(6 * (30 + 50 + 40) * 1e3)
    assert device["device_total_self_time_percent"] == pytest.approx(1.0)
    assert rows["Host", "model/MatMul"]["occurrences"] == 18


def test_kernels_are_added_up(folder: Path) -> None:
    (row,) = told.rows(_ask(folder, "kernel_stats").tables[0])
    assert row["occurrences"] == 18
    assert row["total_duration_us"] == pytest.approx(6 * 120 * 1e3)
    assert (row["min_duration_us"], row["max_duration_us"]) == (
        pytest.approx(30e3),
        pytest.approx(50e3),
    )


def test_input_is_added_up(folder: Path) -> None:
    (row,) = told.rows(_ask(folder, "input_pipeline_analyzer")["host_ops"])
    assert (row["count"], row["selfTimeInMs"]) == (18, pytest.approx(18 * 4))


def test_a_step_is_that_of_the_slowest_host(folder: Path) -> None:
    result = _ask(folder, "overview_page")
    facts = {fact.id: fact.value for fact in result.facts}
    assert facts["steps"] == 6
    assert facts["hosts"] == 3
    assert any("All 3 hosts together" in note for note in result.notes)
    assert len(told.rows(result["hosts"])) == 3
    assert all(result.tables[0].place(row) is None for row in range(len(result.tables[0])))


@pytest.mark.parametrize("compat", COMPAT)
@pytest.mark.parametrize("tool", TOGETHER)
def test_in_every_form_and_by_all_rules(folder: Path, tool: str, compat: Compat) -> None:
    result = _ask(folder, tool, compat)
    assert any(len(table) for table in result.tables)
    for form in WRITERS:
        assert write(result, form)


def test_two_hosts_that_did_the_same_have_everything_twice(folder: Path) -> None:
    place = next(folder.rglob("a.xplane.pb"))
    for other in ("b", "c"):
        place.with_name(f"{other}.xplane.pb").unlink()
    opened = Opened(next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles))
    tables = {
        "framework_op_stats": ("total_time", "occurrences"),
        "input_pipeline_analyzer": ("count",),
        "kernel_stats": ("occurrences", "total_duration_us"),
    }
    alone = {tool: registry.get(tool).answer(Question(opened)) for tool in tables}
    place.with_name("b.xplane.pb").write_bytes(encode(_host("a", shift=1)))
    for tool, columns in tables.items():
        name = next(table.id for table in alone[tool].tables if columns[0] in table.ids)
        before, after = told.rows(alone[tool][name]), told.rows(_ask(folder, tool)[name])
        assert len(before) == len(after) > 0
        for one, two in zip(before, after, strict=True):
            for column in columns:
                assert two[column] == pytest.approx(2 * one[column])
            for column in (id for id in one if "percent" in id.lower() and one[id] is not None):
                assert two[column] == pytest.approx(one[column])


def test_tools_of_one_host_say_so(folder: Path) -> None:
    with pytest.raises(UsageError, match="one host at a time"):
        _ask(folder, "steps")
    opened = Opened(next(entry for entry in logdir.scan(str(folder)).runs if entry.profiles))
    with pytest.raises(UsageError, match="clock of one host"):
        registry.get("kernel_stats").answer(Question(opened, lo=0, together=True))


def _told(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    code = main(["report", str(folder), "--tool", "framework_op_stats", "--json", *more])
    out = capsys.readouterr()
    return json.loads(out.out) if code == 0 else out.err


def test_hosts_are_chosen_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [one["host"] for one in _told(folder, capsys)["runs"]] == ["a", "b", "c"]
    assert _told(folder, capsys, "--host", "b")["host"] == "b"
    assert _told(folder, capsys, "--host", "all")["host"] == "all hosts"
    assert "There are: a, b, c" in _told(folder, capsys, "--host", "z")


def test_the_library_asks_for_all_hosts_too(folder: Path) -> None:
    (run,) = powertui.open(folder)
    frame = run.tool("framework_op_stats", host="all").frame
    assert set(frame["operation"]) >= {"model/MatMul"}
    assert frame.loc[frame["operation"] == "model/MatMul", "occurrences"].tolist() == [18, 18]


@pytest.mark.parametrize("host", [None, "all"])
def test_a_tool_that_compares_hosts_gives_the_library_one_answer(
    folder: Path, host: str | None
) -> None:
    (run,) = powertui.open(folder)
    answer = run.tool("hosts", host=host)
    assert [asked for asked, _ in answer.results] == ["all hosts"]
    assert answer.frame["host_name"].tolist() == ["a", "b", "c"]
    assert [asked for asked, _ in run.tool("hosts", host="b").results] == ["b"]


def test_all_hosts_are_asked_for_by_name_of_a_tool_that_compares_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder), "--tool", "hosts", "--host", "all", "--json"]) == 0
    by_name = json.loads(capsys.readouterr().out)
    assert main(["report", str(folder), "--tool", "hosts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == by_name


@pytest.fixture
def two_t4(tmp_path: Path, shared_data: Path) -> Path:
    """Two real profiles of T4s as the hosts of one run."""
    place = tmp_path / "plugins" / "profile" / "2026_11_22_00_00_00"
    place.mkdir(parents=True)
    for name, run in (("a", "e4040_hd2551"), ("b", "e4040_yg2820/logs/fit/20221104-212610")):
        (profile,) = (shared_data / "public" / run).rglob("*.xplane.pb")
        (place / f"{name}.xplane.pb").symlink_to(profile)
    return tmp_path


def test_two_real_hosts_come_to_what_the_converter_tells_of_both(two_t4: Path) -> None:
    """xprof 2.24.2, asked about both files together: 146 ops, times in ns; eight ops of the input;
    the step of the slower host.
    """
    rows = told.rows(_ask(two_t4, "framework_op_stats", "xprof").tables[0])
    found = {
        (row["host_or_device"], row["operation"]): (
            row["occurrences"],
            round(1000 * row["total_self_time"]),
        )
        for row in rows
    }
    assert len(found) == 146
    assert sum(count for count, _ in found.values()) == 329
    assert sum(time for _, time in found.values()) == pytest.approx(103323308, abs=146)
    expected = {
        ("Device", "IDLE"): (0, 70422432),
        ("Host", "IDLE"): (0, 26886403),
        ("Host", "FlushSummaryWriter"): (2, 2429881),
        ("Host", "IteratorGetNext/_1"): (2, 1080047),
        ("Host", "GatherV2"): (2, 599128),
    }
    assert {key: found[key] for key in expected} == expected
    ops = told.rows(_ask(two_t4, "input_pipeline_analyzer", "xprof")["host_ops"])
    assert len(ops) == 8
    assert {op["opName"]: (op["count"], round(1e6 * op["selfTimeInMs"])) for op in ops}[
        "Iterator::Model"
    ] == (2, 56452)
    facts = {fact.id: fact.value for fact in _ask(two_t4, "overview_page", "xprof").facts}
    assert facts["step_time_s"] == 61227133000
