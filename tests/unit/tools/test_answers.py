"""Steps, epochs, energies, findings and sensors as tools: the same figures as everywhere else, in
every form.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui import cli, demo
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.errors import UsageError
from powertui.report.writers import WRITERS, as_json, write
from tests.answers import told

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened(logdir.scan(str(demo.folder())).runs[0])


def ask(opened: Opened, name: str, lo: int | None = None, hi: int | None = None) -> Result:
    return registry.get(name).answer(Question(opened, 0, lo, hi))


def run_cli(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert cli.main([*argv]) == 0
    return capsys.readouterr().out


def test_steps_are_those_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    report = list(
        csv.DictReader(io.StringIO(run_cli(capsys, "report", str(demo.folder()), "--csv")))
    )
    tool = list(
        csv.DictReader(
            io.StringIO(run_cli(capsys, "report", str(demo.folder()), "--tool", "steps", "--csv"))
        )
    )
    assert len(tool) > 10
    shared = ("epoch", "name", "start_s", "duration_s", "start_to_start_s")
    assert [[row[id] for id in shared] for row in tool] == [
        [row[id] for id in shared] for row in report
    ]
    assert [row["number"] for row in tool] == [row["step"] for row in report]


def test_a_step_leads_to_where_it_ran_and_ends_where_the_rule_says(opened: Opened) -> None:
    steps, table = opened.profiles[0].steps, ask(opened, "steps")["steps"]
    ends = steps.ends()
    for row in range(len(table)):
        place = table.place(row)
        assert place is not None
        assert (place.lo, place.hi) == (int(steps.start[row]), int(ends[row]))
        assert table["end_s"].value(row) == int(ends[row])


def test_a_window_holds_the_steps_and_epochs_that_touch_it(opened: Opened) -> None:
    steps = opened.profiles[0].steps
    lo, hi = int(steps.start[3]), int(steps.start[6])
    for name in ("steps", "energy"):
        table = ask(opened, name, lo, hi)["steps"]
        assert table["number"].values.tolist() == steps.number[3:6].tolist()  # type: ignore[union-attr]
    index = int(steps.epoch[3])
    assert (
        ask(opened, "epochs", lo, hi)["epochs"]["number"].value(0)
        == opened.profiles[0].epochs[index].number
    )
    assert len(ask(opened, "epochs", lo, hi)["epochs"]) == 1
    assert len(ask(opened, "energy", lo, hi)["epochs"]) == 1


def test_energies_are_those_of_the_energy_verb(capsys: pytest.CaptureFixture[str]) -> None:
    verb: Any = json.loads(run_cli(capsys, "energy", str(demo.folder()), "--json"))["runs"][0]
    tool: Any = json.loads(
        run_cli(capsys, "report", str(demo.folder()), "--tool", "energy", "--json")
    )
    assert tool["facts"]["energy"]["value"] == verb["profile"]["joules"]
    for table in ("epochs", "steps"):
        ours, theirs = told(tool, table), verb[table]
        assert len(ours) == len(theirs) > 1
        for mine, other in zip(ours, theirs, strict=True):
            for id in (
                "joules",
                "lo",
                "hi",
                "mean_watts",
                "max_watts",
                "badge",
                "number",
                "start_s",
                "end_s",
            ):
                assert mine[id] == other[id], id
            if other["joules"] is None:
                assert mine["reason"] == other["reason"]
    per_step = [row["joules_per_step"] for row in told(tool, "epochs")]
    assert per_step == [row["per_step"]["joules"] for row in verb["epochs"]]


def test_findings_are_those_of_the_energy_verb(capsys: pytest.CaptureFixture[str]) -> None:
    verb: Any = json.loads(run_cli(capsys, "energy", str(demo.folder()), "--json"))["runs"][0][
        "findings"
    ]
    tool: Any = json.loads(
        run_cli(capsys, "report", str(demo.folder()), "--tool", "findings", "--json")
    )
    rows = told(tool, "findings")
    assert len(rows) == len(verb) > 0
    for mine, other in zip(rows, verb, strict=True):
        assert {id: mine[id] for id in mine if id in other} == {
            id: other[id] for id in mine if id in other
        }
        assert {
            "kind",
            "epoch",
            "step_lo",
            "start_s",
            "delta_watts",
            "delta_joules",
            "p",
            "text",
        } <= set(mine) & set(other)


def test_sensors_say_what_they_resolve(opened: Opened) -> None:
    table = ask(opened, "sensors")["sensors"]
    found = account.energy_account(opened.profiles[0])
    assert len(table) == len(found.placed) > 0
    assert [table["counted"].value(row) for row in range(len(table))] == [
        i in found.counted for i in range(len(table))
    ]
    for row, one in enumerate(found.placed):
        refresh = one.power.series.sensor.refresh_s
        assert table["refresh_s"].value(row) == (None if refresh is None else refresh.value)
        assert table["text"].value(row)


def test_what_power_is_told_of_depends_on_where_it_is_put(opened: Opened) -> None:
    tool = registry.get("energy")
    nowhere = tool.answer(Question(opened, aligning=Aligning(mode="none")))
    assert nowhere.facts[0].value is None
    assert nowhere.facts[0].why
    assert tool.answer(Question(opened)).facts[0].value is not None


def test_without_power_nothing_is_said_to_be_zero() -> None:
    bare = Opened(logdir.scan(str(demo.folder())).runs[0], ReadOptions(find_power=False))
    result = ask(bare, "energy")
    assert result.facts[0].value is None
    for table in result.tables:
        assert set(np.isnan(np.asarray(table["joules"].values)).tolist()) == {True}
        assert not any(column.value(0) == 0 for column in table.columns if column.unit == "J")
    assert len(ask(bare, "sensors")["sensors"]) == 0
    assert "--power" in ask(bare, "sensors")["sensors"].empty


def test_a_run_without_a_profile_still_has_sensors() -> None:
    entry = replace(logdir.scan(str(demo.folder())).runs[0], profiles=(), alternates=())
    table = registry.get("sensors").answer(Question(Opened(entry)))["sensors"]
    assert len(table) > 0
    assert {table["placed"].value(row) for row in range(len(table))} == {"no profile"}


@pytest.mark.parametrize("tool", [tool.name for tool in registry.TOOLS])
@pytest.mark.parametrize("form", list(WRITERS))
def test_every_tool_takes_every_form(opened: Opened, tool: str, form: str) -> None:
    result = ask(opened, tool)
    assert result.id == tool
    assert write(result, form)
    for table in result.tables:
        assert len({column.id for column in table.columns}) == len(table.columns)
        assert not {"run", "host"} & set(table.ids)  # these stand in front where there are several
        assert len(as_json.rows(table)) == len(table)


def test_hosts_and_runs_stand_in_front_once(capsys: pytest.CaptureFixture[str], data: Path) -> None:
    rows = list(
        csv.reader(
            io.StringIO(
                run_cli(capsys, "report", str(data / "logdirs"), "--tool", "steps", "--csv")
            )
        )
    )
    assert rows[0][:2] == ["run", "host"]
    assert rows[0].count("host") == 1
    assert len({row[0] for row in rows[1:]}) > 1


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("roofline", "roofline_model"),
        ("Roofline", "roofline_model"),
        ("memory", "memory_profile"),  # a title comes before the beginning of a name
        ("GPU kernels", "kernel_stats"),
        ("graph", "graph_viewer"),
        ("pod_viewer", "hosts"),
        ("Input Pipeline", "input_pipeline_analyzer"),
    ],
)
def test_a_tool_is_found_by_its_title_or_the_beginning_of_its_name(words: str, name: str) -> None:
    assert registry.get(words).name == name


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("kernel", "Did you mean kernel_stats or kernel_summary?"),
        ("roofline_modle", "Did you mean roofline_model?"),
        ("", "There are: overview_page, "),
    ],
)
def test_a_name_of_no_tool_or_of_several_gets_those_that_may_be_meant(
    words: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        registry.get(words)
    assert str(refused.value.hint).startswith(hint)
