from __future__ import annotations

import ast
import gc
import html
import inspect
import re
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import powertui
from powertui import api, demo, errors
from powertui.data import loading, logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account
from powertui.data.formats import registry as formats
from powertui.data.model import PS_PER_S, Badge, Epochs
from powertui.data.opened import Opened
from powertui.data.table import TIMES, Fact, Result, Table, optional, text_column
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.errors import UnreadableFile, UsageError
from powertui.report.writers import write
from powertui.sampler.csv_format import BEGIN, COLUMNS, END, head, mark_row, reading_row
from powertui.sampler.runner import CommandNotFound
from powertui.sampler.source import Channel, Info, Reading, Stamp
from tests.synthetic import traces
from tests.synthetic.xplane import blob

JAX = "logdirs/jax_cpu"
NAME = "2026_11_21_00_50_50"


@pytest.fixture
def run(data: Path) -> api.RunView:
    return powertui.open(data / JAX)[0]


def test_open_reads_nothing_until_it_is_asked(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = formats.open_source
    monkeypatch.setattr(formats, "open_source", lambda path, limit: (opened.append(str(path)), real(path))[1])
    runs = powertui.open(data / "logdirs")
    assert len(runs) == 2
    assert runs.names == ("jax_cpu/2026_11_21_00_50_50", "trace_export/2026_11_21_00_50_42")
    assert [r.name for r in runs] == list(runs.names)
    assert runs[0].hosts == ("vm",)
    assert "jax_cpu" in repr(runs)
    assert repr(runs[0]).startswith("<Run jax_cpu/2026_11_21_00_50_50: vm, ")
    assert not opened
    assert len(runs[0].traces) == 1
    assert len(runs[0].steps) == 20
    runs[0].events()
    assert len(opened) == 1  # once


def test_runs_are_found_by_number_name_and_part_of_a_name(data: Path) -> None:
    runs = powertui.open(data / "logdirs")
    assert runs["trace_export"] is runs[1] is runs[-1] is runs["trace_export/2026_11_21_00_50_42"]
    assert runs[:1] == (runs[0],)
    assert runs["2026_11_21_00_50_42"] is runs[1]  # its last parts
    with pytest.raises(UsageError, match=r"More than one run is named '2026'\."):
        runs["2026"]
    with pytest.raises(UsageError, match=r"No run is named 'nothing'\.") as missing:
        runs["nothing"]
    assert "jax_cpu/2026_11_21_00_50_50" in missing.value.hint
    with pytest.raises(IndexError, match="there are 2: jax_cpu/"):
        runs[2]


def test_a_path_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        powertui.open(tmp_path / "nothing")


def test_events_are_rows_with_whole_numbers(run: api.RunView) -> None:
    frame = run.events(unit="ps")
    assert len(frame) == 2978
    assert list(frame.columns) == ["host", "process", "track", "lane", "name", "full_name", "start_ps", "duration_ps"]
    assert frame["start_ps"].dtype == frame["duration_ps"].dtype == frame["lane"].dtype == np.int64
    for column in ("host", "process", "track", "name", "full_name"):
        assert all(isinstance(value, str) for value in frame[column])
        assert pd.api.types.is_string_dtype(frame[column]) or frame[column].dtype == object
    trace = run.run.traces[0]
    assert frame["duration_ps"].sum() == sum(int(t.events.duration.sum()) for _, t in trace.tracks())
    assert set(frame["track"]) == {t.name for _, t in trace.tracks()}


def test_events_are_chosen_by_name_track_and_time(run: api.RunView) -> None:
    everything = run.events()
    python = run.events(track="python")
    assert len(python) == (everything["track"] == "python").sum() == 1195
    assert len(run.events(process="/host:CPU")) == 2978
    assert len(run.events(process="/host")) == 0
    train = run.events(exact="train")
    assert len(train) == 20
    holds = run.events(name="rai")
    has = everything["name"].str.contains("rai", regex=False) | everything["full_name"].str.contains("rai", regex=False)
    assert len(holds) == has.sum() >= len(train)
    assert set(train["name"]) <= set(holds["name"])
    assert len(run.events(name="rai", exact="train")) == 20
    assert len(run.events(exact="rai")) == 0
    pattern = run.events(name=re.compile(r"^\$"))
    assert len(pattern) == everything["name"].str.startswith("$").sum() > 100
    assert len(run.events(name=lambda text: text == "train")) == 20
    lo, hi = 0.030, 0.040
    window = run.events(start=lo, end=hi)
    end = everything["start_s"] + everything["duration_s"]
    inside = (everything["start_s"] < hi) & ((end > lo) | (everything["start_s"] >= lo))
    assert len(window) == inside.sum() > 10
    exact = run.events(start=np.int64(30_000_000_000), end=np.int64(40_000_000_000), unit="ps")  # as a frame holds them
    assert exact["start_ps"].tolist() == [round(one * PS_PER_S) for one in window["start_s"]]


def test_times_are_seconds_and_picoseconds_when_asked(data: Path) -> None:
    run, exact = powertui.open(data / JAX)[0], powertui.open(data / JAX, unit="ps")[0]
    assert (run.unit, exact.unit) == ("s", "ps")
    for ask in (lambda one: one.events(), lambda one: one.steps, lambda one: one.epochs, lambda one: one.traces[0].steps):
        seconds, whole = ask(run), ask(exact)
        named = [column for column in seconds.columns if column.endswith("_s")]
        assert named
        assert [column[:-1] + "ps" if column in named else column for column in seconds.columns] == list(whole.columns)
        for column in named:
            other = whole[column[:-1] + "ps"]
            assert str(other.dtype).lower() == "int64"
            assert seconds[column].isna().tolist() == other.isna().tolist()
            assert seconds[column].dropna().tolist() == [value / PS_PER_S for value in other.dropna().tolist()]
    assert len(exact.ops(start=0, end=40_000_000_000)) == len(run.ops(start=0, end=0.04)) < len(run.ops())
    assert list(exact.ops().columns) == list(run.ops().columns)  # answers are in seconds
    for unit in ("ms", "S"):
        with pytest.raises(UsageError, match="There is no unit"):
            powertui.open(data / JAX, unit=unit)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="There is no unit"):
            run.events(unit=unit)  # type: ignore[arg-type]


def test_no_event_is_an_empty_frame_of_the_same_form(run: api.RunView) -> None:
    frame = run.events(name="nothing of this name", stats=["step_num"])
    assert len(frame) == 0
    assert list(frame.columns) == ["host", "process", "track", "lane", "name", "full_name", "start_s", "duration_s", "step_num"]
    assert frame["start_s"].dtype == np.float64


def test_stats_become_columns_and_stay_whole(run: api.RunView) -> None:
    train = run.events(name="train", stats=["step_num", "_src", "no such"])
    assert train["step_num"].tolist() == list(range(20))
    assert str(train["step_num"].dtype) == "Int64"
    assert train["no such"].isna().all()
    mixed = run.events(track="python", stats=["step_num"])
    assert mixed["step_num"].notna().sum() == 20
    assert mixed.loc[mixed["step_num"].notna(), "step_num"].astype(int).tolist() == list(range(20))
    sources = run.events(track=re.compile("Eigen"), stats=["_src"])["_src"].dropna()
    assert len(sources)
    assert all(isinstance(text, str) for text in sources)


def test_steps_are_rows(data: Path) -> None:
    steps = powertui.open(data / JAX, unit="ps")[0].steps
    assert list(steps.columns) == [
        "host", "number", "name", "epoch", "start_ps", "duration_ps", "start_to_start_ps", "host_ps", "device_ps", "step_ps",
    ]  # fmt: skip
    assert (steps["host_ps"] > 0).all()
    assert steps["device_ps"].isna().all()  # no device was profiled: unknown, not 0
    assert steps["number"].tolist() == list(range(20))
    assert steps["start_ps"].dtype == steps["duration_ps"].dtype == np.int64
    assert str(steps["start_to_start_ps"].dtype) == "Int64"
    gaps = steps["start_ps"].diff().dropna().astype("int64").tolist()
    assert steps["start_to_start_ps"].tolist()[:-1] == gaps
    assert steps["start_to_start_ps"].isna().tolist() == [False] * 19 + [True]
    assert steps["epoch"].isna().all()


def test_epochs_are_rows_even_when_there_are_none(run: api.RunView) -> None:
    epochs = run.epochs
    assert list(epochs.columns)[:6] == ["host", "number", "start_s", "end_s", "slack_s", "source"]
    assert len(epochs) == 0


def test_a_trace_tells_its_clock_and_its_lines(run: api.RunView) -> None:
    trace = run.traces[0]
    assert trace.clock.known
    assert trace.host == "vm"
    assert "2,978" in repr(trace)
    tracks = trace.tracks
    assert tracks["events"].sum() == 2978
    assert tracks["events"].dtype == np.int64
    assert tracks["derived"].dtype == bool


def test_hosts_lie_one_below_the_other(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plugins/profile/x"
    folder.mkdir(parents=True)
    content = (data / JAX / "plugins/profile" / NAME / "vm.xplane.pb").read_bytes()
    for host in ("a.b", "c.d"):  # their names in the files: the same bytes would be one host
        (folder / f"{host}.xplane.pb").write_bytes(content + blob(4, host.encode()))
    run = powertui.open(tmp_path)[0]
    frame = run.events()
    assert frame["host"].value_counts().to_dict() == {"a.b": 2978, "c.d": 2978}
    assert len(run.steps) == 40
    assert frame.index.is_unique


def test_power_and_scalars_are_rows(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs/plugins/profile/x"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes((data / JAX / "plugins/profile" / NAME / "vm.xplane.pb").read_bytes())
    log = tmp_path / "my power.csv"
    log.write_text("time_s,watts\n" + "".join(f"{1_795_222_250 + i * 0.1:.1f},{200 + i}\n" for i in range(10)))
    run = powertui.open(tmp_path / "logs", power=[log])[0]
    power = run.power
    assert power["watts"].tolist() == [200.0 + i for i in range(10)]
    assert power["time_ns"].dtype == np.int64
    assert abs(np.diff(power["time_ns"]) - 100_000_000).max() < 1_000  # the log tells seconds as decimals
    assert list(run.scalars.columns) == ["group", "tag", "step", "wall_ns", "value"]
    assert len(run.scalars) == 0


def test_options_reach_the_loader(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ReadOptions] = []
    real = loading.load_run

    def spy(entry: object, *, options: ReadOptions, **beside: object) -> object:
        seen.append(options)
        return real(entry, options=options, **beside)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "load_run", spy)
    powertui.open(data / JAX, tz="-03:00", step_marker="^train$")[0].opened.run  # noqa: B018
    assert (seen[0].tz, seen[0].step_marker, seen[0].find_power) == ("-03:00", "^train$", True)


def test_keras_in_a_notebook(shared_data: Path) -> None:
    run = powertui.open(shared_data / "own/keras_cifar")[0]
    steps = run.steps
    assert steps.groupby("epoch")["number"].count().tolist() == [350, 350]
    epochs = run.epochs
    assert epochs["number"].tolist() == [0, 1]
    assert "epoch_loss" in epochs.columns
    assert len(run.events()) == 767_110


# ── one rule: properties, and methods whose filters are named ────────────────────────────────────


def test_filters_are_named(run: api.RunView) -> None:
    for method in (api.RunView.events, api.RunView.ops, api.RunView.energy, api.RunView.tool, api.TraceView.events):
        names = [p for p in inspect.signature(method).parameters.values() if p.name not in ("self", "name") or p.default is None]
        assert names
        assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in names if p.name != "self"), method
    with pytest.raises(TypeError):
        run.events("python")  # type: ignore[misc]


def test_what_needs_no_argument_is_a_property() -> None:
    for name in ("steps", "epochs", "scalars", "power", "windows", "findings", "tracks", "warnings"):
        assert isinstance(getattr(api.RunView, name), property), name


@pytest.mark.parametrize("ask", ["events", "ops", "energy"])
def test_a_window_that_cannot_be_is_refused(run: api.RunView, ask: str) -> None:
    with pytest.raises(UsageError, match="ends before it starts"):
        getattr(run, ask)(start=2, end=1)
    for never in (27_310_000_000_000, float("nan"), "soon"):  # picoseconds, where seconds are meant
        with pytest.raises(UsageError, match="are seconds"):
            getattr(run, ask)(start=never)
    with pytest.raises(UsageError, match="whole picoseconds"):  # seconds that nobody multiplied
        getattr(api.RunView(run.opened, "ps"), ask)(start=27.31, end=28.78)


def test_a_host_that_is_not_there_is_said_so(run: api.RunView) -> None:
    for ask in (run.events, run.ops, run.energy):
        with pytest.raises(UsageError, match=r"There is no host 'nobody'\.") as missing:
            ask(host="nobody")
        assert missing.value.hint == "There are: vm."
        assert len(ask(host="vm")) == len(ask())


def test_a_run_that_has_no_profile_has_empty_frames_of_the_same_form(run: api.RunView) -> None:
    (log,) = demo.folder().glob("logs/*/*/train/events.out.tfevents.*")
    bare = powertui.open(log)[0]
    assert bare.hosts == ()
    assert len(bare.scalars) > 0
    for name in ("steps", "tracks", "findings"):
        assert len(getattr(bare, name)) == 0
        assert list(getattr(bare, name).columns) == list(getattr(run, name).columns), name
    assert list(bare.energy().columns) == list(run.energy().columns)
    assert list(bare.events(stats=["x"]).columns) == list(run.events(name="nothing", stats=["x"]).columns)
    with pytest.raises(UsageError, match="has no profile"):
        bare.ops()


# ── answers ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def recorded() -> api.RunView:
    """The demo: two epochs with power, and a foreign burst in the second."""
    return powertui.open(demo.folder())[0]


@pytest.fixture
def two_hosts(data: Path, tmp_path: Path) -> api.RunView:
    folder = tmp_path / "plugins/profile/x"
    folder.mkdir(parents=True)
    content = (data / JAX / "plugins/profile" / NAME / "vm.xplane.pb").read_bytes()
    for host in ("a.b", "c.d"):  # their names in the files: the same bytes would be one host
        (folder / f"{host}.xplane.pb").write_bytes(content + blob(4, host.encode()))
    return powertui.open(tmp_path)[0]


def test_joules_are_those_of_the_account(recorded: api.RunView) -> None:
    frame = recorded.energy()
    assert list(frame.columns) == [
        "host", "window", "epoch", "start_s", "end_s", "joules", "lo", "hi", "mean_watts", "coverage",
        "badge", "reason",
    ]  # fmt: skip
    assert frame["window"].tolist() == ["epoch 0", "epoch 1", "whole"]
    found = account.of(recorded.opened.profiles[0])
    for row, (index, lo, hi, edge) in enumerate(found.epoch_windows()):
        energy = found.energy(lo, hi, edge_ps=edge)
        assert energy is not None
        assert frame["epoch"][row] == found.epochs[index].number
        assert (frame["joules"][row], frame["lo"][row], frame["hi"][row]) == (energy.joules, energy.lo, energy.hi)
        assert (frame["mean_watts"][row], frame["coverage"][row], frame["badge"][row]) == (
            energy.mean_w,
            energy.coverage,
            "measured",
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
    later = Epochs(tuple(replace(epoch, number=epoch.number + 4) for epoch in run.epochs[0]), run.epochs[0].phases)
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
    energy = account.of(recorded.opened.profiles[0]).energy(lo, hi)
    assert energy is not None
    assert window[["window", "start_s", "end_s", "joules"]].iloc[0].tolist() == ["window", 2.0, 9.0, energy.joules]
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
    rows = [(float(t), reading_row(Reading(start + t, t, 250.0 + t % 2, 0.001, "bmc1", "power", "ok"))) for t in range(60)]
    for name, lo, hi in (("epoch 0", 10.5, 30.5), ("short", 40.1, 40.2)):
        rows += [(at, mark_row(kind, Stamp(start + at, at), name)) for kind, at in ((BEGIN, lo), (END, hi))]
    info = Info("ipmi DCMI", "ipmi://bmc1", "bmc1", (Channel("power", "bmc1", "node"),), {}, ())
    log = tmp_path / "power.csv"
    log.write_text(head(1.0, [("bmc1", info)]) + COLUMNS + "\n" + "".join(row for _, row in sorted(rows)))
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
        "measured",
    )
    assert (row["start_s"], row["end_s"]) == (found.start_ps / 1e12, found.end_ps / 1e12)
    assert (row["delta_watts"], row["delta_joules"], row["delta_s"]) == (found.delta_watts, found.delta_joules, found.delta_seconds)
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
        assert all(id.endswith("_s") for id in table.ids if table[id].kind in TIMES and not table[id].unit), table.ids
    assert list(answer.facts["id"]) == [fact.id for fact in result.facts]
    assert answer.notes == tuple(dict.fromkeys(result.notes))
    assert answer.text() == str(answer) == write(result, "text")
    assert html.escape(result.title) in answer._repr_html_()
    assert name in repr(answer)


def test_a_tool_is_told_where_the_power_lies(recorded: api.RunView) -> None:
    def joules(answer: api.Answer) -> float:
        return float(answer.facts.set_index("id").loc["energy", "value"])

    there, nowhere = recorded.tool("energy"), recorded.tool("energy", aligning=Aligning(mode="none"))
    assert joules(there) == recorded.energy()["joules"].iloc[-1]
    assert nowhere.frames["epochs"]["joules"].isna().all()
    assert there.frames["epochs"]["joules"].tolist() == recorded.energy()["joules"].tolist()[:-1]


def test_ops_are_those_of_the_tool(recorded: api.RunView) -> None:
    lo, hi = 0, 10**12
    frame = recorded.ops(start=0, end=1)
    table = registry.get("op_stats").answer(Question(recorded.opened, 0, lo, hi)).tables[0]
    assert frame["self_s"].sum() == pytest.approx(int(np.asarray(table["self_s"].values).sum()) / 1e12)
    assert frame["count"].dtype == np.int64
    assert frame["self_s"].is_monotonic_decreasing
    assert 0 < len(frame) < len(recorded.ops())


def test_asking_about_every_window_does_not_hold_all_the_answers(data: Path) -> None:
    run = powertui.open(data / JAX, unit="ps")[0]
    whole = run.tool("op_stats").results[0][1]
    asked = [weakref.ref(run.tool("op_stats", start=lo, end=lo + 10**9).results[0][1]) for lo in range(0, 20 * 10**9, 10**9)]
    gc.collect()
    assert [answer() is not None for answer in asked] == [False] * 19 + [True]
    assert run.tool("op_stats", start=19 * 10**9, end=20 * 10**9).results[0][1] is asked[-1]()  # and that one is not made again
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
    table = Table("rows", "Rows", (text_column("name", "name", ["x"]), text_column("host", "host", ["vm"])))
    answer = api.Answer("toy", (("vm", Result("toy", "Toy", (table,))), ("other", Result("toy", "Toy", (table,)))))
    assert list(answer.frame.columns) == ["host", "name"]
    assert answer.frame["host"].tolist() == ["vm", "other"]


def test_a_tool_that_needs_no_profile_answers_without(monkeypatch: pytest.MonkeyPatch) -> None:
    class Module:
        @staticmethod
        def answer(question: Question) -> Result:
            return Result("toy", "Toy", (), (Fact("sensors", "sensors", len(question.opened.run.power), "integer"),))

    monkeypatch.setitem(sys.modules, "toy_tool_of_a_test", Module())  # type: ignore[misc]
    monkeypatch.setattr(registry, "TOOLS", (*registry.TOOLS, registry.Tool("toy", "Toy", "A toy.", "toy_tool_of_a_test:answer")))
    (log,) = demo.folder().glob("logs/*/*/train/events.out.tfevents.*")
    assert powertui.open(log)[0].tool("toy").facts["value"].tolist() == [0]


def test_a_tool_that_is_not_there_is_said_so(run: api.RunView) -> None:
    with pytest.raises(UsageError, match="There is no tool 'op_stat'"):
        run.tool("op_stat")


def test_a_notebook_gets_no_markup_out_of_names() -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    table = Table("rows", evil, (text_column("name", "name", [evil]), optional("time_s", "time", "duration", [2 * 10**12])))
    facts = (Fact("t", "time", 10**12, "duration", "", Badge.ESTIMATED, 5 * 10**11, 2 * 10**12), Fact("n", evil, None, why=evil))
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


# ── the package itself ───────────────────────────────────────────────────────────────────────────


def test_importing_everything_leaves_open_alone() -> None:
    for module in ("powertui", "powertui.api"):
        code = f"import builtins\nfrom {module} import *\nassert open is builtins.open"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert "open" in dir(powertui)
    assert {"record", "libipmi"} <= set(powertui.__all__)


def test_the_tree_of_errors_is_the_one_that_is_drawn() -> None:
    drawn: dict[str, tuple[str, int]] = {}  # name → its base, its exit code
    above: list[str] = []
    for indent, name, code in re.findall(r"^    ([│├└─ ]*)(\w+) +(\d+) +\S", errors.__doc__ or "", re.MULTILINE):
        del above[len(indent) // 4 :]
        drawn[name] = (above[-1] if above else "Exception", int(code))
        above.append(name)
    assert set(drawn) == {*errors.__all__, "CommandNotFound"}
    for name, (base, code) in drawn.items():
        kind = getattr(errors, name, CommandNotFound)
        assert kind.__base__.__name__ == base, name
        assert name == "CommandNotFound" or kind.exit_code == code, name


# ── the manual ───────────────────────────────────────────────────────────────────────────────────

ROOT = Path(__file__).parents[2]


def examples() -> list[tuple[str, str]]:
    """Every block of Python in README and docs that opens runs. Those that record need a sensor and are tested elsewhere."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        found += [(page.name, block) for block in blocks if "powertui.open(" in block and "powertui.record(" not in block]
    return found


def test_the_manual_names_all_that_there_is() -> None:
    """Every property, method and filter of what `powertui.open()` gives."""
    page = (ROOT / "docs" / "library.md").read_text()
    names = set()
    for kind in (api.Runs, api.RunView, api.TraceView, api.TrainingView):
        for name, value in vars(kind).items():
            if not name.startswith("_"):
                names.add(name)
                if callable(value):
                    asked = inspect.signature(value).parameters.values()
                    names |= {one.name for one in asked if one.kind is inspect.Parameter.KEYWORD_ONLY}
    names |= set(inspect.signature(api.open).parameters)
    assert {"steps", "tool", "compat", "trainings"} <= names
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", page)) == []


def test_the_manual_has_examples() -> None:
    assert {"README.md", "library.md"} <= {page for page, _ in examples()}


@pytest.mark.parametrize(("page", "block"), [pytest.param(*one, id=f"{one[0]}-{i}") for i, one in enumerate(examples())])
def test_the_manual_shows_what_works(page: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line runs as it stands there, with the demo for ~/logs, and none of them comes up empty."""
    (tmp_path / "logs").symlink_to(demo.folder())
    monkeypatch.setenv("HOME", str(tmp_path))
    known: dict[str, object] = {}
    for statement in ast.parse(block, page).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), page, "eval"), known)
            assert not isinstance(value, pd.DataFrame) or not value.empty, ast.unparse(statement)
        else:
            exec(compile(ast.Module([statement], []), page, "exec"), known)
