from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from powertui import cli
from powertui.data import loading, logdir
from powertui.data.asked import ReadOptions
from powertui.data.formats import xplane
from powertui.data.loading import load_run, stream_run
from powertui.data.logdir import RunEntry
from powertui.data.model import Run
from powertui.errors import Cancelled, UnreadableFile
from powertui.screens import loader
from powertui.verbs import common
from tests.synthetic.tfevents import write_scalars

JAX = "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = tmp_path / "logs/plugins/profile/2026_11_21_00_50_50"
    run.mkdir(parents=True)
    return run


def entry(folder: Path) -> RunEntry:
    (run,) = logdir.scan(folder).runs
    return run


def copy(
    data: Path, folder: Path, host: str, *, tool: str = "xplane.pb", spoil: bool = False
) -> Path:
    path = folder / f"{host}.{tool}"
    shutil.copy(data / JAX / f"vm.{tool}", path)
    path.chmod(0o644)
    if spoil:
        path.write_bytes(b"\xff" * 500)
    return path


def small_trace(path: Path, events: int = 3) -> None:
    """Another capture: a host whose bytes are not those of the others."""
    spans = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": i * 10, "dur": 5, "name": "op"} for i in range(events)
    ]
    path.write_bytes(
        gzip.compress(json.dumps({"displayTimeUnit": "ns", "traceEvents": spans}).encode())
    )


def test_a_run_holds_traces_steps_epochs_and_clocks_side_by_side(data: Path) -> None:
    run = load_run(entry(data / JAX))
    assert [(t.host, t.format, t.event_count) for t in run.traces] == [("vm", "xplane", 2978)]
    assert len(run.steps) == len(run.epochs) == 1
    assert len(run.steps[0]) == 20
    assert run.traces[0].clock.source == "task environment"
    assert run.traces[0].clock.known
    assert run.event_count == 2978
    assert not run.warnings


def test_the_xplane_is_read_and_not_the_json_beside_it(data: Path, folder: Path) -> None:
    copy(data, folder, "vm")
    copy(data, folder, "vm", tool="trace.json.gz")
    run = load_run(entry(folder))
    assert [t.format for t in run.traces] == ["xplane"]


def test_the_json_stands_in_for_an_xplane_that_cannot_be_read(data: Path, folder: Path) -> None:
    bad = copy(data, folder, "vm", spoil=True)
    copy(data, folder, "vm", tool="trace.json.gz")
    run = load_run(entry(folder))
    assert [(t.format, t.event_count) for t in run.traces] == [("trace_json", 2978)]
    assert [w.file for w in run.warnings] == [str(bad)]


def test_one_unreadable_host_hides_no_other(data: Path, folder: Path) -> None:
    copy(data, folder, "host.a")
    bad = copy(data, folder, "host.b", spoil=True)
    small_trace(folder / "host.c.trace.json.gz")
    run = load_run(entry(folder))
    assert [(t.host, t.event_count) for t in run.traces] == [("host.a", 2978), ("host.c", 3)]
    assert len(run.steps) == len(run.epochs) == 2
    assert [w.file for w in run.warnings] == [str(bad)]
    assert "begins ff ff" in run.warnings[0].cause


def test_the_same_bytes_under_two_names_count_once(data: Path, folder: Path) -> None:
    copy(data, folder, "a")
    copied = copy(data, folder, "b")
    found = entry(folder)
    run = load_run(found)
    assert [t.host for t in run.traces] == ["a"]
    assert found.hosts == ("a",)
    assert run.event_count == 2978
    assert [
        w.file for w in run.warnings if "same bytes" in w.cause and "counted once" in w.cause
    ] == [str(copied)]


def test_nothing_readable_at_all_raises_the_first_reason(data: Path, folder: Path) -> None:
    copy(data, folder, "a", spoil=True)
    with pytest.raises(UnreadableFile, match="begins ff ff") as error:
        load_run(entry(folder))
    assert error.value.exit_code == 3


def test_scalars_are_left_when_the_profile_is_not(data: Path, folder: Path) -> None:
    bad = copy(data, folder, "a", spoil=True)
    home = folder.parents[2]
    write_scalars(
        home / "events.out.tfevents.1795222242.vm.1.0.v2",
        [(1_795_222_243.5, 0, "epoch_loss", 0.5)],
        1_795_222_242.0,
    )
    junk = home / "events.out.tfevents.1795222242.vm.1.1.v2"
    junk.write_bytes(b"junk of no kind, and long enough to be looked at")
    run = load_run(entry(home))
    assert not run.traces
    assert [(s.tag, s.values.tolist()) for s in run.scalars] == [("epoch_loss", [0.5])]
    assert {str(bad), str(junk)} <= {w.file for w in run.warnings}


def test_parts_come_first_and_the_last_is_what_load_gives(
    data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xplane, "FIRST_PART", 300)
    copy(data, folder, "a")
    small_trace(folder / "b.trace.json.gz", 40)
    runs: list[Run] = list(stream_run(entry(folder)))
    assert len(runs) > 2
    for run in runs[:-1]:
        assert len(run.traces) == len(run.steps) == len(run.epochs)
        assert not run.traces[-1].complete
        assert run.steps[-1].source == loading.LOADING
        assert run.traces[-1].clock.known
    whole = load_run(entry(folder))
    last = runs[-1]
    assert (
        [t.event_count for t in last.traces] == [t.event_count for t in whole.traces] == [2978, 40]
    )
    assert all(t.complete for t in last.traces)
    assert [len(s) for s in last.steps] == [len(s) for s in whole.steps]


def test_progress_runs_over_all_files_and_can_cancel(data: Path, folder: Path) -> None:
    copy(data, folder, "a")
    small_trace(folder / "b.trace.json.gz", 40)
    run = entry(folder)
    told: list[tuple[int, int, int]] = []
    load_run(run, progress=lambda *numbers: told.append(numbers))
    assert told == sorted(told)
    assert told[-1] == (run.size, run.size, 3018)
    assert {total for _, total, _ in told} == {run.size}

    def stop(done: int, total: int, events: int, /) -> None:
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        load_run(run, progress=stop)


POWER = "".join(f"{1_795_222_250.5 + i * 0.01:.3f},{100 + i}\n" for i in range(20))


def test_power_beside_the_run_is_read_and_can_be_left_out_or_named(
    data: Path, folder: Path, tmp_path: Path
) -> None:
    copy(data, folder, "vm")
    (folder.parents[2] / "power.csv").write_text("time_s,watts\n" + POWER)
    other = tmp_path / "elsewhere" / "other.csv"
    other.parent.mkdir()
    other.write_text("time_s,watts\n" + POWER)
    run = entry(tmp_path / "logs")
    found = load_run(run)
    assert [s.path for s in found.power] == [str(folder.parents[2] / "power.csv")]
    assert len(found.power[0]) == 20
    assert not load_run(run, options=ReadOptions(find_power=False)).power
    named = load_run(run, options=ReadOptions(power=(str(other),), find_power=False))
    assert [s.path for s in named.power] == [str(other)]
    with pytest.raises(UnreadableFile):
        load_run(run, options=ReadOptions(power=(str(tmp_path / "missing.csv"),)))


def test_the_step_marker_is_handed_on(data: Path) -> None:
    marked = load_run(entry(data / JAX), options=ReadOptions(step_marker="^PjitFunction"))
    assert "PjitFunction" in marked.steps[0].source


def test_options_of_the_command_line() -> None:
    def args(*words: str) -> ReadOptions:
        options = common.reading_of(cli.build_parser("report").parse_args(["report", "x", *words]))
        assert options.hosts is not None  # processes, which are made when there are many hosts
        return replace(options, hosts=None)

    assert args() == ReadOptions()
    assert args("--no-power") == ReadOptions(find_power=False)
    assert args("--power", "a.csv") == ReadOptions(power=("a.csv",), find_power=False)
    made = args("--tz=-03:00", "--step-marker", "x", "--watts-col", "W", "--unit", "mW")
    assert (made.tz, made.step_marker) == ("-03:00", "x")
    assert made.columns is not None
    assert (made.columns.tz, made.columns.watts_col, made.columns.unit) == ("-03:00", "W", "mW")


def test_reading_a_run_imports_no_pandas_and_no_screen(data: Path) -> None:
    code = (
        "import sys\n"
        "from powertui.data import loading, logdir\n"
        "loading.load_run(logdir.scan(sys.argv[1]).runs[0])\n"
        "print([m for m in ('pandas', 'textual', 'rich') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(data / JAX)], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_every_public_run_is_read_or_explained(shared_data: Path) -> None:
    runs = logdir.scan(shared_data / "public").runs
    read = 0
    for run in runs:
        if "corrupt" in run.path:
            with pytest.raises(UnreadableFile, match="EF BF BD"):
                load_run(run)
            continue
        made = load_run(run)
        assert len(made.traces) == len(run.profiles)
        read += len(made.traces)
    assert read >= 8


def test_how_long_the_rest_of_a_file_takes() -> None:
    pace = loader._Pace()
    assert pace.remaining_s(5.0) == float("inf")  # nobody knows
    pace.update(10.0, 0, 1000)
    assert pace.remaining_s(10.5) == float("inf")
    pace.update(11.0, 250, 1000)
    assert pace.remaining_s(11.0) == 3.0
    pace.update(12.0, 1000, 1000)
    assert pace.remaining_s(12.0) == 0.0
    pace.update(20.0, 100, 500)  # the next file
    assert pace.remaining_s(20.0) == 0.0
    assert pace.remaining_s(21.0) == 4.0
