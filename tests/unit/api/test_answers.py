"""Energy, findings and tools in a notebook: the same answers as everywhere else."""

from __future__ import annotations

import gc
import html
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui import api, demo
from powertui.data import logdir
from powertui.data.asked import Aligning
from powertui.data.columns import TIMES, optional, text_column
from powertui.data.energy import account
from powertui.data.model import Badge, Epochs
from powertui.data.opened import Opened
from powertui.data.table import Fact, Result, Table
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.errors import UsageError
from powertui.report.writers import write
from powertui.sampler.csv_format import BEGIN, COLUMNS, END, head, mark_row, reading_row
from powertui.sampler.source import Channel, Info, Reading, Stamp
from tests.synthetic import traces

from .conftest import JAX


@pytest.fixture(scope="module")
def recorded() -> api.RunView:
    """The demo: two epochs with power, and a foreign burst in the second."""
    return powertui.open(demo.folder())[0]


def test_joules_are_those_of_the_account(recorded: api.RunView) -> None:
    frame = recorded.energy()
    assert list(frame.columns) == [
        "host",
        "window",
        "epoch",
        "start_s",
        "end_s",
        "joules",
        "lo",
        "hi",
        "mean_watts",
        "coverage",
        "badge",
        "reason",
    ]
    assert frame["window"].tolist() == ["epoch 0", "epoch 1", "whole"]
    found = account.energy_account(recorded.opened.profiles[0])
    for row, epoch in enumerate(found.epoch_energies):
        lo, hi, energy = epoch.lo, epoch.hi, epoch.energy
        assert energy is not None
        assert frame["epoch"][row] == epoch.number
        assert (frame["joules"][row], frame["lo"][row], frame["hi"][row]) == (
            energy.joules,
            energy.lo,
            energy.hi,
        )
        assert (frame["mean_watts"][row], frame["coverage"][row], frame["badge"][row]) == (
            energy.mean_w,
            energy.coverage,
            "simulated",
        )
        assert (frame["start_s"][row], frame["end_s"][row]) == (lo / 1e12, hi / 1e12)
    assert frame["epoch"].isna().tolist() == [False, False, True]
    whole = found.energy(*found.trace.span)
    assert whole is not None
    assert frame["joules"][2] == whole.joules
    assert frame["reason"].isna().all()


def test_an_epoch_is_asked_for_by_its_own_number(recorded: api.RunView) -> None:
    """A profile that begins in epoch 4 has it at place 0."""
    run = recorded.run
    later = Epochs(
        tuple(replace(epoch, number=epoch.number + 4) for epoch in run.epochs[0]),
        run.epochs[0].phases,
    )
    opened = Opened(recorded.opened.entry, run=replace(run, epochs=(later,)))
    frame = api.RunView(opened).energy(epoch=4)
    assert frame["window"].tolist() == ["epoch 4"]
    assert frame["joules"][0] == recorded.energy(epoch=0)["joules"][0]
    with pytest.raises(UsageError, match="No epoch 0"):
        api.RunView(opened).energy(epoch=0)


def test_a_window_may_be_open_on_one_side() -> None:
    """And a trace may begin before its zero."""
    made = traces.trace({("p", "l"): [(-10, 4, "a"), (-2, 2, "b"), (0, 4, "c"), (10, 4, "d")]})
    view = api.RunView(Opened(logdir.RunEntry("made", "/made"), run=traces.run(made)), "ps")
    assert view.events(end=0)["name"].tolist() == ["a", "b"]
    assert view.events(start=0)["name"].tolist() == ["c", "d"]
    assert view.events(start=-3, end=1)["name"].tolist() == ["b", "c"]


def test_joules_of_one_epoch_or_of_a_window(recorded: api.RunView) -> None:
    one = recorded.energy(epoch=1)
    assert one["window"].tolist() == ["epoch 1"]
    assert one["joules"][0] == recorded.energy()["joules"][1]
    lo, hi = 2 * 10**12, 9 * 10**12
    window = recorded.energy(start=2, end=9)
    energy = account.energy_account(recorded.opened.profiles[0]).energy(lo, hi)
    assert energy is not None
    assert window[["window", "start_s", "end_s", "joules"]].iloc[0].tolist() == [
        "window",
        2.0,
        9.0,
        energy.joules,
    ]
    rest = recorded.energy(start=2)  # to the end of the profile
    assert rest["end_s"][0] == pytest.approx(20.963, abs=0.001)
    short = recorded.energy(start=2, end=2.001)
    assert np.isnan(short["joules"][0])
    assert "too short" in short["reason"][0]
    assert short["badge"].isna().all()
    idle = recorded.energy(aligning=Aligning(mode="none"))
    assert idle["joules"].isna().all()
    with pytest.raises(UsageError, match="at once"):
        recorded.energy(epoch=1, start=0)
    with pytest.raises(UsageError, match=r"No epoch 7") as missing:
        recorded.energy(epoch=7)
    assert missing.value.hint == "There are: 0, 1."


def test_without_power_no_joule_is_told(run: api.RunView) -> None:
    frame = run.energy()
    assert frame["window"].tolist() == ["whole"]
    assert frame["joules"].isna().all()
    assert frame["reason"].tolist() == ["no power log covers this profile"]
    with pytest.raises(UsageError, match="No epoch 0") as missing:
        run.energy(epoch=0)
    assert missing.value.hint == "This run has no epochs."


def test_windows_of_a_recording_are_rows(data: Path, tmp_path: Path) -> None:
    """As the recorder writes them: a minute at 250 W, and two windows of it."""
    start = 1_790_000_000.0
    rows = [
        (float(t), reading_row(Reading(start + t, t, 250.0 + t % 2, 0.001, "bmc1", "power", "ok")))
        for t in range(60)
    ]
    for name, lo, hi in (("epoch 0", 10.5, 30.5), ("short", 40.1, 40.2)):
        rows += [
            (at, mark_row(kind, Stamp(start + at, at), name))
            for kind, at in ((BEGIN, lo), (END, hi))
        ]
    info = Info("ipmi DCMI", "ipmi://bmc1", "bmc1", (Channel("power", "bmc1", "node"),), {}, ())
    log = tmp_path / "power.csv"
    log.write_text(
        head(1.0, [("bmc1", info)]) + COLUMNS + "\n" + "".join(row for _, row in sorted(rows))
    )
    frame = powertui.open(data / JAX, power=log)[0].windows
    assert frame["window"].tolist() == ["epoch 0", "short"]
    assert (frame["log_end_s"] - frame["log_start_s"]).tolist() == pytest.approx([20.0, 0.1])
    assert frame["joules"][0] == pytest.approx(20 * 250.5, rel=0.001)
    assert frame["lo"][0] < frame["joules"][0] < frame["hi"][0]
    assert np.isnan(frame["joules"][1])
    assert "too short" in frame["reason"][1]
    assert frame["log"].tolist() == [str(log)] * 2


def test_findings_are_rows(recorded: api.RunView, run: api.RunView) -> None:
    frame = recorded.findings
    (found,) = account.findings(recorded.opened.profiles[0]).findings
    row = frame.iloc[0]
    assert len(frame) == 1
    assert (row["kind"], row["epoch"], row["step_lo"], row["step_hi"], row["badge"]) == (
        "power",
        1,
        found.step_lo,
        found.step_hi,
        "simulated",
    )
    assert (row["start_s"], row["end_s"]) == (found.start_ps / 1e12, found.end_ps / 1e12)
    assert (row["delta_watts"], row["delta_joules"], row["delta_s"]) == (
        found.delta_watts,
        found.delta_joules,
        found.delta_seconds,
    )
    assert row["text"] == found.text
    assert any("validation" in note for note in frame.attrs["notes"])
    none = run.findings
    assert len(none) == 0
    assert list(none.columns) == list(frame.columns)
    assert none.attrs["notes"]  # why there is none


@pytest.mark.parametrize("name", [tool.name for tool in registry.TOOLS])
def test_every_tool_answers(recorded: api.RunView, name: str) -> None:
    answer = recorded.tool(name)
    result = registry.get(name).answer(Question(recorded.opened))
    assert list(answer.frames) == [table.id for table in result.tables]
    for table in result.tables:
        frame = answer.frames[table.id]
        assert list(frame.columns) == ["host", *(id for id in table.ids if id != "host")]
        assert len(frame) == len(table)
        assert all(
            id.endswith("_s") for id in table.ids if table[id].kind in TIMES and not table[id].unit
        ), table.ids
    assert list(answer.facts["id"]) == [fact.id for fact in result.facts]
    assert answer.notes == tuple(dict.fromkeys(result.notes))
    assert answer.text() == str(answer) == write(result, "text")
    assert html.escape(result.title) in answer._repr_html_()
    assert name in repr(answer)


def test_a_tool_is_told_where_the_power_lies(recorded: api.RunView) -> None:
    def joules(answer: api.Answer) -> float:
        return float(answer.facts.set_index("id").loc["energy", "value"])

    there, nowhere = (
        recorded.tool("energy"),
        recorded.tool("energy", aligning=Aligning(mode="none")),
    )
    assert joules(there) == recorded.energy()["joules"].iloc[-1]
    assert nowhere.frames["epochs"]["joules"].isna().all()
    assert there.frames["epochs"]["joules"].tolist() == recorded.energy()["joules"].tolist()[:-1]


def test_ops_are_those_of_the_tool(recorded: api.RunView) -> None:
    lo, hi = 0, 10**12
    frame = recorded.ops(start=0, end=1)
    table = registry.get("op_stats").answer(Question(recorded.opened, 0, lo, hi)).tables[0]
    assert frame["self_s"].sum() == pytest.approx(
        int(np.asarray(table["self_s"].values).sum()) / 1e12
    )
    assert frame["count"].dtype == np.int64
    assert frame["self_s"].is_monotonic_decreasing
    assert 0 < len(frame) < len(recorded.ops())


def test_asking_about_every_window_does_not_hold_all_the_answers(data: Path) -> None:
    run = powertui.open(data / JAX, unit="ps")[0]
    whole = run.tool("op_stats").results[0][1]
    asked = [
        weakref.ref(run.tool("op_stats", start=lo, end=lo + 10**9).results[0][1])
        for lo in range(0, 20 * 10**9, 10**9)
    ]
    gc.collect()
    assert [answer() is not None for answer in asked] == [False] * 19 + [True]
    assert (
        run.tool("op_stats", start=19 * 10**9, end=20 * 10**9).results[0][1] is asked[-1]()
    )  # and that one is not made again
    assert run.tool("op_stats").results[0][1] is whole


def test_answers_of_several_hosts_lie_one_below_the_other(two_hosts: api.RunView) -> None:
    ops = two_hosts.ops()
    assert ops["host"].nunique() == 2
    one = two_hosts.ops(host="c.d")
    assert set(one["host"]) == {"c.d"}
    assert 2 * len(one) == len(ops)
    assert ops["count"].dtype == np.int64
    assert len(two_hosts.tool("kernel_stats").notes) == 1  # not once for each
    answer = two_hosts.tool("op_stats")
    assert answer.text().startswith("a.b\n")
    assert "\nc.d\n" in answer.text()
    assert two_hosts.energy()["host"].tolist() == ["a.b", "c.d"]


def test_the_host_stands_in_front_once() -> None:
    table = Table(
        "rows", "Rows", (text_column("name", "name", ["x"]), text_column("host", "host", ["vm"]))
    )
    answer = api.Answer(
        "toy", (("vm", Result("toy", "Toy", (table,))), ("other", Result("toy", "Toy", (table,))))
    )
    assert list(answer.frame.columns) == ["host", "name"]
    assert answer.frame["host"].tolist() == ["vm", "other"]


def test_a_tool_that_needs_no_profile_answers_without(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        @staticmethod
        def answer(question: Question) -> Result:
            return Result(
                "toy",
                "Toy",
                (),
                (Fact("sensors", "sensors", len(question.opened.run.power), "integer"),),
            )

    monkeypatch.setitem(sys.modules, "toy_tool_of_a_test", Module())  # type: ignore[misc]
    monkeypatch.setattr(
        registry,
        "TOOLS",
        (*registry.TOOLS, registry.Tool("toy", "Toy", "A toy.", "toy_tool_of_a_test:answer")),
    )
    (log,) = demo.folder().glob("logs/*/*/train/events.out.tfevents.*")
    assert powertui.open(log)[0].tool("toy").facts["value"].tolist() == [0]


def test_a_tool_that_is_not_there_is_said_so(run: api.RunView) -> None:
    with pytest.raises(UsageError, match="There is no tool 'op'"):
        run.tool("op")


def test_a_notebook_gets_no_markup_out_of_names() -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    table = Table(
        "rows",
        evil,
        (text_column("name", "name", [evil]), optional("time_s", "time", "duration", [2 * 10**12])),
    )
    facts = (
        Fact("t", "time", 10**12, "duration", "", Badge.ESTIMATED, 5 * 10**11, 2 * 10**12),
        Fact("n", evil, None, why=evil),
    )
    empty = Table("none", "None", (text_column("name", "name", []),), empty=f"Nothing {evil}")
    answer = api.Answer("toy", ((evil, Result("toy", evil, (table, empty), facts, (), (evil,))),))
    shown = answer._repr_html_()
    assert "<script" not in shown
    assert "Nothing" in shown
    assert "\x1b" not in answer.text()
    assert "\x1b" not in repr(answer)
    assert answer.frame["time_s"].tolist() == [2.0]
    assert answer.facts["value"].tolist() == [1.0, None]
    assert answer.facts["unit"].tolist()[0] == "s"
    assert answer.facts[["lo", "hi"]].iloc[0].tolist() == [0.5, 2.0]
    assert answer.facts["badge"][0] == "estimated"


def test_an_answer_without_a_table_is_an_empty_frame() -> None:
    answer = api.Answer("toy", (("vm", Result("toy", "Toy")),))
    assert answer.frame.empty
    assert answer.frames == {}
    assert answer.notes == ()
