"""Runs, events, steps and power as rows of a DataFrame, and what is asked of them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import powertui
from powertui import api, demo
from powertui.data import loading
from powertui.data.asked import ReadOptions
from powertui.data.formats import registry as formats
from powertui.data.model import PS_PER_S
from powertui.errors import UnreadableFile, UsageError

from .conftest import JAX, NAME


def test_open_reads_nothing_until_it_is_asked(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = formats.open_file
    monkeypatch.setattr(
        formats, "open_file", lambda path, limit: (opened.append(str(path)), real(path))[1]
    )
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


def test_the_first_run_of_an_empty_folder_names_what_shows_why(tmp_path: Path) -> None:
    runs = powertui.open(tmp_path)
    with pytest.raises(IndexError) as missing:
        runs[0]
    assert str(missing.value) == (
        f"No run was found in {tmp_path}. `powertui doctor {tmp_path}` shows why."
    )


def test_a_path_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        powertui.open(tmp_path / "nothing")


def test_events_are_rows_with_whole_numbers(run: api.RunView) -> None:
    frame = run.events(unit="ps")
    assert len(frame) == 2978
    assert list(frame.columns) == [
        "host",
        "process",
        "track",
        "lane",
        "name",
        "full_name",
        "start_ps",
        "duration_ps",
    ]
    assert frame["start_ps"].dtype == frame["duration_ps"].dtype == frame["lane"].dtype == np.int64
    for column in ("host", "process", "track", "name", "full_name"):
        assert all(isinstance(value, str) for value in frame[column])
        assert pd.api.types.is_string_dtype(frame[column]) or frame[column].dtype == object
    trace = run.run.traces[0]
    assert frame["duration_ps"].sum() == sum(
        int(t.events.duration.sum()) for _, t in trace.tracks()
    )
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
    has = everything["name"].str.contains("rai", regex=False) | everything[
        "full_name"
    ].str.contains("rai", regex=False)
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
    exact = run.events(
        start=np.int64(30_000_000_000), end=np.int64(40_000_000_000), unit="ps"
    )  # as a frame holds them
    assert exact["start_ps"].tolist() == [round(one * PS_PER_S) for one in window["start_s"]]


def test_times_are_seconds_and_picoseconds_when_asked(data: Path) -> None:
    run, exact = powertui.open(data / JAX)[0], powertui.open(data / JAX, unit="ps")[0]
    assert (run.unit, exact.unit) == ("s", "ps")
    for ask in (
        lambda one: one.events(),
        lambda one: one.steps,
        lambda one: one.epochs,
        lambda one: one.traces[0].steps,
    ):
        seconds, whole = ask(run), ask(exact)
        named = [column for column in seconds.columns if column.endswith("_s")]
        assert named
        assert [
            column[:-1] + "ps" if column in named else column for column in seconds.columns
        ] == list(whole.columns)
        for column in named:
            other = whole[column[:-1] + "ps"]
            assert str(other.dtype).lower() == "int64"
            assert seconds[column].isna().tolist() == other.isna().tolist()
            assert seconds[column].dropna().tolist() == [
                value / PS_PER_S for value in other.dropna().tolist()
            ]
    assert (
        len(exact.ops(start=0, end=40_000_000_000))
        == len(run.ops(start=0, end=0.04))
        < len(run.ops())
    )
    assert list(exact.ops().columns) == list(run.ops().columns)  # answers are in seconds
    for unit in ("ms", "S"):
        with pytest.raises(UsageError, match="There is no unit"):
            powertui.open(data / JAX, unit=unit)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="There is no unit"):
            run.events(unit=unit)  # type: ignore[arg-type]


def test_no_event_is_an_empty_frame_of_the_same_form(run: api.RunView) -> None:
    frame = run.events(name="nothing of this name", stats=["step_num"])
    assert len(frame) == 0
    assert list(frame.columns) == [
        "host",
        "process",
        "track",
        "lane",
        "name",
        "full_name",
        "start_s",
        "duration_s",
        "step_num",
    ]
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
        "host",
        "number",
        "name",
        "epoch",
        "start_ps",
        "duration_ps",
        "start_to_start_ps",
        "host_ps",
        "device_ps",
        "step_ps",
    ]
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


def test_hosts_lie_one_below_the_other(two_hosts: api.RunView) -> None:
    frame = two_hosts.events()
    assert frame["host"].value_counts().to_dict() == {"a.b": 2978, "c.d": 2978}
    assert len(two_hosts.steps) == 40
    assert frame.index.is_unique


def test_power_and_scalars_are_rows(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs/plugins/profile/x"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes(
        (data / JAX / "plugins/profile" / NAME / "vm.xplane.pb").read_bytes()
    )
    log = tmp_path / "my power.csv"
    log.write_text(
        "time_s,watts\n" + "".join(f"{1_795_222_250 + i * 0.1:.1f},{200 + i}\n" for i in range(10))
    )
    run = powertui.open(tmp_path / "logs", power=[log])[0]
    power = run.power
    assert power["watts"].tolist() == [200.0 + i for i in range(10)]
    assert power["time_ns"].dtype == np.int64
    assert (
        abs(np.diff(power["time_ns"]) - 100_000_000).max() < 1_000
    )  # the log tells seconds as decimals
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
    for method in (
        api.RunView.events,
        api.RunView.ops,
        api.RunView.energy,
        api.RunView.tool,
        api.TraceView.events,
    ):
        names = [
            p
            for p in inspect.signature(method).parameters.values()
            if p.name not in ("self", "name") or p.default is None
        ]
        assert names
        assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in names if p.name != "self"), (
            method
        )
    with pytest.raises(TypeError):
        run.events("python")  # type: ignore[misc]


def test_what_needs_no_argument_is_a_property() -> None:
    for name in (
        "steps",
        "epochs",
        "scalars",
        "power",
        "windows",
        "findings",
        "tracks",
        "warnings",
    ):
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
    assert list(bare.events(stats=["x"]).columns) == list(
        run.events(name="nothing", stats=["x"]).columns
    )
    with pytest.raises(UsageError, match="has no profile"):
        bare.ops()
