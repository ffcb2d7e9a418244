from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import powertui
from powertui import api, demo
from powertui.data import loading
from powertui.data.asked import Reading
from powertui.data.formats import registry
from powertui.errors import UnreadableFile

JAX = "logdirs/jax_cpu"
NAME = "2026_11_21_00_50_50"


@pytest.fixture
def run(data: Path) -> api.RunView:
    return powertui.open(data / JAX)[0]


def test_open_reads_nothing_until_it_is_asked(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = registry.open_source
    monkeypatch.setattr(registry, "open_source", lambda path, limit: (opened.append(str(path)), real(path))[1])
    runs = powertui.open(data / "logdirs")
    assert len(runs) == 2
    assert runs.names == ("jax_cpu/2026_11_21_00_50_50", "trace_export/2026_11_21_00_50_42")
    assert [r.name for r in runs] == list(runs.names)
    assert runs[0].hosts == ("vm",)
    assert "jax_cpu" in repr(runs)
    assert repr(runs[0]).startswith("<Run jax_cpu/2026_11_21_00_50_50: vm, ")
    assert not opened
    assert len(runs[0].traces) == 1
    assert len(runs[0].steps()) == 20
    runs[0].events()
    assert len(opened) == 1  # once


def test_runs_are_found_by_number_name_and_part_of_a_name(data: Path) -> None:
    runs = powertui.open(data / "logdirs")
    assert runs["trace_export"] is runs[1] is runs[-1] is runs["trace_export/2026_11_21_00_50_42"]
    assert runs[:1] == (runs[0],)
    with pytest.raises(KeyError, match="2 runs named '2026'"):
        runs["2026"]
    with pytest.raises(KeyError, match="no run named 'nothing'"):
        runs["nothing"]
    with pytest.raises(IndexError, match="there are 2: jax_cpu/"):
        runs[2]


def test_a_path_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        powertui.open(tmp_path / "nothing")


def test_events_are_rows_with_whole_numbers(run: api.RunView) -> None:
    frame = run.events()
    assert len(frame) == 2978
    assert list(frame.columns) == ["host", "process", "track", "lane", "name", "full_name", "start", "duration"]
    assert frame["start"].dtype == frame["duration"].dtype == frame["lane"].dtype == np.int64
    for column in ("host", "process", "track", "name", "full_name"):
        assert all(isinstance(value, str) for value in frame[column])
        assert pd.api.types.is_string_dtype(frame[column]) or frame[column].dtype == object
    trace = run.run.traces[0]
    assert frame["duration"].sum() == sum(int(t.events.duration.sum()) for _, t in trace.tracks())
    assert set(frame["track"]) == {t.name for _, t in trace.tracks()}


def test_events_are_chosen_by_name_track_and_time(run: api.RunView) -> None:
    everything = run.events()
    python = run.events(track="python")
    assert len(python) == (everything["track"] == "python").sum() == 1195
    assert len(run.events(process="/host:CPU")) == 2978
    assert len(run.events(process="/host")) == 0
    train = run.events(name="train")
    assert len(train) == 20
    pattern = run.events(name=re.compile(r"^\$"))
    assert len(pattern) == everything["name"].str.startswith("$").sum() > 100
    assert len(run.events(name=lambda text: text == "train")) == 20
    lo, hi = 30_000_000_000, 40_000_000_000
    window = run.events(lo=lo, hi=hi)
    end = everything["start"] + everything["duration"]
    inside = (everything["start"] < hi) & ((end > lo) | (everything["start"] >= lo))
    assert len(window) == inside.sum() > 10
    assert len(run.events(lo=hi, hi=lo)) == 0


def test_no_event_is_an_empty_frame_of_the_same_form(run: api.RunView) -> None:
    frame = run.events(name="nothing of this name", stats=["step_num"])
    assert len(frame) == 0
    assert list(frame.columns) == ["host", "process", "track", "lane", "name", "full_name", "start", "duration", "step_num"]
    assert frame["start"].dtype == np.int64


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


def test_steps_are_rows(run: api.RunView) -> None:
    steps = run.steps()
    assert list(steps.columns) == ["host", "number", "name", "epoch", "start", "duration", "start_to_start"]
    assert steps["number"].tolist() == list(range(20))
    assert steps["start"].dtype == steps["duration"].dtype == np.int64
    assert str(steps["start_to_start"].dtype) == "Int64"
    gaps = steps["start"].diff().dropna().astype("int64").tolist()
    assert steps["start_to_start"].tolist()[:-1] == gaps
    assert steps["start_to_start"].isna().tolist() == [False] * 19 + [True]
    assert steps["epoch"].isna().all()


def test_epochs_are_rows_even_when_there_are_none(run: api.RunView) -> None:
    epochs = run.epochs()
    assert list(epochs.columns)[:6] == ["host", "number", "start", "end", "slack", "source"]
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
    for host in ("a.b", "c.d"):
        (folder / f"{host}.xplane.pb").write_bytes(content)
    run = powertui.open(tmp_path)[0]
    frame = run.events()
    assert frame["host"].value_counts().to_dict() == {"a.b": 2978, "c.d": 2978}
    assert len(run.steps()) == 40
    assert frame.index.is_unique
    assert any("same bytes" in warn.cause for warn in run.warnings)


def test_power_and_scalars_are_rows(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs/plugins/profile/x"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes((data / JAX / "plugins/profile" / NAME / "vm.xplane.pb").read_bytes())
    log = tmp_path / "my power.csv"
    log.write_text("time_s,watts\n" + "".join(f"{1_795_222_250 + i * 0.1:.1f},{200 + i}\n" for i in range(10)))
    run = powertui.open(tmp_path / "logs", power=[log])[0]
    power = run.power()
    assert power["watts"].tolist() == [200.0 + i for i in range(10)]
    assert power["time_ns"].dtype == np.int64
    assert abs(np.diff(power["time_ns"]) - 100_000_000).max() < 1_000  # the log tells seconds as decimals
    assert list(run.scalars().columns) == ["group", "tag", "step", "wall_ns", "value"]
    assert len(run.scalars()) == 0


def test_options_reach_the_loader(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Reading] = []
    real = loading.load_run

    def spy(entry: object, *, options: Reading) -> object:
        seen.append(options)
        return real(entry, options=options)  # type: ignore[arg-type]

    monkeypatch.setattr(loading, "load_run", spy)
    powertui.open(data / JAX, tz="-03:00", step_marker="^train$")[0].steps()
    assert (seen[0].tz, seen[0].step_marker, seen[0].find_power) == ("-03:00", "^train$", True)


def test_keras_in_a_notebook(shared_data: Path) -> None:
    run = powertui.open(shared_data / "own/keras_cifar")[0]
    steps = run.steps()
    assert steps.groupby("epoch")["number"].count().tolist() == [350, 350]
    epochs = run.epochs()
    assert epochs["number"].tolist() == [0, 1]
    assert "epoch_loss" in epochs.columns
    assert len(run.events()) == 767_110


def test_the_manual_shows_what_works() -> None:
    """The Python of docs/formats.md, on the demo: every line runs, and none of them comes up empty."""
    manual = (Path(__file__).parents[2] / "docs/formats.md").read_text()
    code = manual.split("## From Python", 1)[1].split("```python", 1)[1].split("```", 1)[0]
    assert '"~/logs"' in code
    lines = code.replace('"~/logs"', "demo.folder()").strip().splitlines()
    known: dict[str, object] = {"demo": demo}
    for line in lines:
        if not line or line.startswith(("import ", "runs = ", "run = ")):
            exec(line, known)
            continue
        for part in line.split("#")[0].split(";"):
            value = eval(part, known)
            assert not hasattr(value, "empty") or not value.empty, part
