"""A window as a file: the right rows, exact times, nothing a spreadsheet would run, nothing lost,
nothing overwritten.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from powertui.data import export
from powertui.data.energy import integrate
from powertui.data.export import files as export_files
from powertui.data.export import readings, sheets
from powertui.data.formats import registry
from powertui.data.model import UNKNOWN, Clock, Mark, Names, PowerKind, Run, Stat
from powertui.data.tools import op_stats
from powertui.errors import PowertuiError, UsageError
from tests.synthetic import Plan
from tests.synthetic.placed import make, sensed, truly_placed


@pytest.fixture(scope="module")
def made():
    return make(1, Plan(seconds=12, step_s=0.5, epochs=2))


@pytest.fixture(scope="module")
def power(made):
    found, taken = sensed(made, "nvml-1s", 1, offset_s=-3.0)
    return truly_placed(found, taken)


@pytest.fixture(scope="module")
def run(made) -> Run:
    return Run("synthetic/run", "x", (made.trace,), (made.steps,), (made.epochs,))


def read(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    text = path.read_bytes().decode()
    assert text.count("\n") == text.count("\r\n")  # RFC 4180 line ends, and none of their own
    about = json.loads(Path(f"{path}.about.json").read_bytes())
    return [f"# {key}: {value}" for key, value in about["about"]], list(
        csv.DictReader(io.StringIO(text))
    )


def wrote(
    run: Run, power, path: Path, what: str, lo: float = 0.0, hi: float = 1e3, **options: object
) -> str:
    return export.write(
        run,
        0,
        round(lo * 1e12),
        round(hi * 1e12),
        what=what,
        path=str(path),
        power=(power,),
        **options,
    )  # type: ignore[arg-type]


def test_samples_are_the_readings_in_the_window(run, power, tmp_path) -> None:
    path = tmp_path / "s.csv"
    said = wrote(run, power, path, "samples", 2, 9)
    notes, rows = read(path)
    late = int(
        0.5e12
    )  # half of the sensor's window: the window is of what happened, not of when it was read
    inside = (power.times - late >= 2e12) & (power.times - late < 9e12)
    assert said.startswith(f"Wrote {inside.sum()} samples to {path}. The window: ")
    assert [float(r["trace_s"]) * 1e12 for r in rows] == pytest.approx(power.times[inside].tolist())
    assert [float(r["watts: nvml-1s"]) for r in rows] == power.watts[inside].tolist()
    text = "\n".join(notes)
    for fact in (
        "# run: synthetic/run",
        "# clock: the profile's zero is at Unix 17",
        "# sensor: nvml-1s: polled",
        "# alignment: nvml-1s: aligned, truth",
    ):
        assert fact in text


def test_a_sample_names_the_epoch_step_and_op_of_the_moment_it_tells_of(
    run, made, power, tmp_path
) -> None:
    wrote(run, power, tmp_path / "s.csv", "samples", 2, 9)
    _, rows = read(tmp_path / "s.csv")
    steps = made.work.steps
    named = 0
    for row in rows:
        about = float(row["about_s"])
        assert float(row["trace_s"]) - about == pytest.approx(0.5)  # half of the sensor's window
        epoch, number = next((e, n) for e, n, lo, hi in steps if lo <= about < hi)
        assert (int(row["epoch"]), int(row["step"])) == (epoch, number)
        kind = made.work.category[np.searchsorted(made.work.edges, about, side="right") - 1]
        assert (
            row["op"]
            == (
                "train",
                "MemcpyH2D",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                "ampere_sgemm_128x64_nn",
            )[kind]
        )
        named += kind != 0
    assert named > 0


def test_a_row_of_an_interval_tells_of_the_middle_of_it(power) -> None:
    intervals = replace(power, series=replace(power.series, kind=PowerKind.INTERVAL))
    times = intervals.times
    sensor = intervals.series.sensor
    delay_ps = round((sensor.delay_s.value if sensor.delay_s else 0.0) * 1e12)
    middles = (times[:-1] + times[1:]) / 2 - delay_ps
    assert readings.about(intervals)[1:] == pytest.approx(middles, abs=1)
    # Nobody knows when the first one began: it is taken to be as long as the second.
    first = times[0] - (times[1] - times[0]) / 2 - delay_ps
    assert readings.about(intervals)[0] == pytest.approx(first, abs=1)


def test_unix_times_keep_nanoseconds(run, made, power, tmp_path) -> None:
    wrote(run, power, tmp_path / "s.csv", "samples", 2, 4)
    _, rows = read(tmp_path / "s.csv")
    zero = made.trace.clock.mid_ns
    for row in rows:
        seconds, _, fraction = row["unix_s"].partition(".")
        whole, _, rest = row["trace_s"].partition(".")
        assert (
            int(seconds) * 10**9 + int(fraction) == zero + (int(whole) * 10**12 + int(rest)) // 1000
        )


def test_steps_carry_their_energy_and_say_why_not(run, made, power, tmp_path) -> None:
    wrote(run, power, tmp_path / "t.csv", "steps")
    _, rows = read(tmp_path / "t.csv")
    assert len(rows) == len(made.steps)
    assert [(int(r["epoch"]), int(r["step"])) for r in rows] == [
        (e, n) for e, n, _, _ in made.work.steps
    ]
    for row, (_, _, start, end) in zip(rows, made.work.steps, strict=True):
        found = integrate.energy(power, round(start * 1e12), round(end * 1e12))
        if found.joules is None:
            assert row["joules: nvml-1s"] == ""
            assert row["reason: nvml-1s"].startswith("not resolved")
        else:
            assert float(row["joules: nvml-1s"]) == pytest.approx(found.joules, rel=1e-3)
            assert row["badge: nvml-1s"] == "measured"
    assert any(r["joules: nvml-1s"] for r in rows)  # the long first step is


def test_ops_are_the_op_table(run, made, power, tmp_path) -> None:
    wrote(run, power, tmp_path / "o.csv", "ops", 1, 5)
    _, rows = read(tmp_path / "o.csv")
    table = op_stats.op_stats(made.trace, round(1e12), round(5e12)).ops
    assert [(r["name"], int(r["count"])) for r in rows] == [(op.full, op.count) for op in table]
    assert [round(float(r["self_s"]) * 1e12) for r in rows] == [op.self_time for op in table]


def test_events_are_raw_and_complete(run, made, power, tmp_path) -> None:
    wrote(run, power, tmp_path / "e.csv", "events")
    _, rows = read(tmp_path / "e.csv")
    assert len(rows) == made.trace.event_count
    assert sum(int(r["duration_s"].replace(".", "")) for r in rows) == sum(
        int(t.events.duration.sum()) for _, t in made.trace.tracks()
    )


def test_text_that_is_a_formula_is_disarmed_and_numbers_stay_numbers(
    run, made, power, tmp_path
) -> None:
    class Evil(Names):
        def __len__(self) -> int:
            return len(made.trace.names)

        def full(self, index: int) -> str:
            return (
                "=1+1|cmd",
                "+2",
                "-3",
                "@SUM(A1)",
                "\t=1",
                "\r=1",
                'quote " and, comma',
                "two\nlines",
                "\x1b[31m",
            )[index % 9]

        display = full

        def stats(self, index: int) -> tuple[Stat, ...]:
            return ()

    hostile = replace(
        run, traces=(replace(made.trace, names=Evil(), host="=HOST()\n# forged: yes"),)
    )
    wrote(hostile, power, tmp_path / "e.csv", "events", -5, 1e3)
    notes, rows = read(tmp_path / "e.csv")
    for row in rows:
        assert not row["name"].startswith(("=", "+", "-", "@", "\t", "\r"))
        assert "\x1b" not in row["name"]
        assert "\n" not in row["name"]
        float(row["start_s"])
    assert not any(note.startswith("# forged") for note in notes)
    early = replace(power, times=power.times - int(20e12))
    wrote(hostile, early, tmp_path / "s.csv", "samples", -30, -1)
    _, rows = read(tmp_path / "s.csv")
    assert all(
        r["trace_s"].startswith("-") for r in rows
    )  # a negative time is a number, not a formula


def test_several_channels_share_a_file_and_keep_their_names(run, power, tmp_path) -> None:
    other = replace(power, times=power.times + int(0.25e12))
    export.write(
        run, 0, 0, int(5e12), what="samples", path=str(tmp_path / "s.csv"), power=(power, other)
    )
    _, rows = read(tmp_path / "s.csv")
    first, second = ([r[c] for r in rows] for c in ("watts: nvml-1s", "watts: nvml-1s (2)"))
    assert all(bool(a) != bool(b) for a, b in zip(first, second, strict=True))


def test_a_gap_is_empty_not_zero(run, power, tmp_path) -> None:
    watts = power.watts.copy()
    watts[::3] = np.nan
    wrote(run, replace(power, watts=watts), tmp_path / "s.csv", "samples")
    _, rows = read(tmp_path / "s.csv")
    assert "" in {r["watts: nvml-1s"] for r in rows}
    assert "nan" not in (tmp_path / "s.csv").read_text().lower().split("# column")[-1]


# ── Perfetto, JSON, Parquet ──────────────────────────────────────────────────────────────────────


def test_perfetto_has_every_event_named_lines_and_power_as_counters(
    run, made, power, tmp_path
) -> None:
    wrote(run, power, tmp_path / "p.json", "perfetto")
    found = json.loads((tmp_path / "p.json").read_text())
    events = found["traceEvents"]
    spans = [e for e in events if e["ph"] == "X" and e["pid"] >= 10]
    assert len(spans) == made.trace.event_count
    assert sum(round(e["dur"] * 1e6) for e in spans) == pytest.approx(
        sum(int(t.events.duration.sum()) for _, t in made.trace.tracks()), abs=len(spans)
    )
    counters = [e for e in events if e["ph"] == "C"]
    about = power.times - int(0.5e12)  # half of the sensor's window before it was read
    assert [round(e["ts"] * 1e6) for e in counters] == about[about >= 0].tolist()
    assert [e["args"]["W"] for e in counters] == power.watts[about >= 0].tolist()
    assert {e["pid"] for e in events} == {1, 2, 10, 11}
    assert min(e["tid"] for e in spans) == 1
    assert {e["name"] for e in counters} == {"nvml-1s (W)"}
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert {"/host:CPU", "/device:GPU:0", "power", "training"} <= names
    threads = {
        (e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"
    }
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} <= threads
    assert "aligned, truth" in found["otherData"]["alignment"]


def test_perfetto_spans_of_one_thread_nest(run, power, tmp_path) -> None:
    wrote(run, power, tmp_path / "p.json", "perfetto")
    threads: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in json.loads((tmp_path / "p.json").read_text())["traceEvents"]:
        if event["ph"] == "X":
            threads.setdefault((event["pid"], event["tid"]), []).append(
                (event["ts"], event["ts"] + event["dur"])
            )
    for spans in threads.values():
        open_until: list[float] = []
        for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
            while open_until and open_until[-1] <= start + 5e-6:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 5e-6
            open_until.append(end)


def test_perfetto_has_the_windows_and_marks_of_a_recording(run, power, tmp_path) -> None:
    """Those that overlap without nesting lie on threads of their own; what lies outside of the
    window is left out.
    """
    zero = -power.offset_ps // 1000

    def at(second: float) -> int:
        return zero + round(second * 1e9)

    named = (
        Mark("all", at(1), at(9)),
        Mark("epoch 0", at(1), at(4)),
        Mark("epoch 1", at(4), at(8)),
        Mark("odd", at(3), at(5)),
        Mark("past", at(-9), at(-8)),
        Mark("checkpoint", at(2)),
        Mark("later", at(1e4)),
    )
    marked = replace(power, series=replace(power.series, marks=named))
    wrote(run, marked, tmp_path / "p.json", "perfetto", 0, 10)
    events = json.loads((tmp_path / "p.json").read_text())["traceEvents"]
    spans = [
        (e["name"], e["tid"], round(e["ts"] / 1e6, 6), round(e["dur"] / 1e6, 6))
        for e in events
        if e.get("cat") == "window"
    ]
    assert spans == [
        ("all", 1, 1.0, 8.0),
        ("epoch 0", 1, 1.0, 3.0),
        ("odd", 2, 3.0, 2.0),
        ("epoch 1", 1, 4.0, 4.0),
    ]
    assert [
        (e["name"], e["ph"], round(e["ts"] / 1e6, 6)) for e in events if e.get("cat") == "mark"
    ] == [("checkpoint", "i", 2.0)]
    trace = registry.read(tmp_path / "p.json")
    assert "power" not in {
        process.name
        for process in trace.processes
        if any(len(track.events) for track in process.tracks)
    }


def test_a_name_that_ends_in_gz_is_compressed(run, power, tmp_path) -> None:
    wrote(run, power, tmp_path / "p.json.gz", "perfetto")
    assert json.loads(gzip.decompress((tmp_path / "p.json.gz").read_bytes()))["traceEvents"]


def test_rows_as_json(run, power, tmp_path) -> None:
    wrote(run, power, tmp_path / "s.json", "samples")
    found = json.loads((tmp_path / "s.json").read_text())
    assert found["columns"][0] == "unix_s"
    assert all(len(row) == len(found["columns"]) for row in found["rows"])
    assert ["run", "synthetic/run"] in found["about"]


def test_parquet_says_what_it_needs_or_holds_the_same_rows(run, power, tmp_path) -> None:
    path = tmp_path / "s.parquet"
    try:
        import pyarrow.parquet as pq
    except ImportError:
        with pytest.raises(UsageError, match="pyarrow") as caught:
            wrote(run, power, path, "samples")
        assert "pip install" in caught.value.hint
        assert not path.exists()
        assert not list(tmp_path.iterdir())
        return
    wrote(run, power, path, "samples")
    wrote(run, power, tmp_path / "s.csv", "samples")
    assert pq.read_table(path).num_rows == len(read(tmp_path / "s.csv")[1])


def test_a_pyarrow_that_does_not_fit_says_why(
    run, power, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError('pyarrow requires NumPy 2.0 or newer')")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "s.parquet"
    with pytest.raises(UsageError, match=r"cannot be imported: pyarrow requires NumPy 2\.0"):
        wrote(run, power, path, "samples")
    assert not path.exists()


NO_CLOCK = Clock()


def test_times_in_parquet_are_floats_with_the_exact_number_beside_them(
    run, power, tmp_path
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    for what in ("samples", "steps", "ops", "events"):
        wrote(run, power, tmp_path / f"{what}.parquet", what)
        wrote(run, power, tmp_path / f"{what}.csv", what)
        table = pq.read_table(tmp_path / f"{what}.parquet")
        rows = read(tmp_path / f"{what}.csv")[1]
        types = {field.name: str(field.type) for field in table.schema}
        assert not [name for name in types.values() if name.startswith("decimal")]
        exact = [name for name in types if name.endswith(("_ps", "_ns"))]
        times = [name for name in rows[0] if name.endswith("_s")]
        assert [name[:-3] for name in exact] == [name[:-2] for name in times]
        for time_name, exact_name in zip(times, exact, strict=True):
            assert types[time_name] == "double"
            assert types[exact_name] == "int64"
            per_s = 10 ** (12 if exact_name.endswith("_ps") else 9)
            whole = table[exact_name].to_pylist()
            for seconds, value in zip(table[time_name].to_pylist(), whole, strict=True):
                if value is None:
                    assert seconds is None
                else:  # the nearest float, or the one beside it
                    assert abs(seconds - value / per_s) <= math.ulp(seconds)
            # The CSV of the same rows holds every digit.
            written = [Decimal(row[time_name]) * per_s if row[time_name] else None for row in rows]
            assert whole == written


def test_pandas_calculates_with_the_times_of_a_parquet_file(run, power, tmp_path) -> None:
    pytest.importorskip("pyarrow")
    wrote(run, power, tmp_path / "e.parquet", "events")
    frame = pd.read_parquet(tmp_path / "e.parquet")
    assert (frame["duration_s"] * 1e3).sum() == pytest.approx(frame["duration_ps"].sum() / 1e9)


def test_a_time_that_is_not_known_is_missing_in_both_columns(run, power, tmp_path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    steps = run.steps[0]
    device = steps.device.copy()
    device[0] = UNKNOWN
    some_unknown = replace(run, steps=(replace(steps, device=device), *run.steps[1:]))
    wrote(some_unknown, power, tmp_path / "s.parquet", "steps")
    table = pq.read_table(tmp_path / "s.parquet")
    assert table["device_s"].to_pylist()[0] is None
    assert table["device_ps"].to_pylist()[0] is None
    unknown_clock = replace(run.traces[0], clock=NO_CLOCK)
    wrote(replace(run, traces=(unknown_clock,)), power, tmp_path / "e.parquet", "events")
    table = pq.read_table(tmp_path / "e.parquet")
    assert table["unix_start_s"].null_count == table.num_rows
    assert table["unix_start_ns"].null_count == table.num_rows


def test_pandas_gives_a_column_one_type_whether_values_are_missing_or_not(
    run, power, tmp_path
) -> None:
    """Left to itself, it makes floats of whole numbers beside a missing one, and loses digits."""
    pytest.importorskip("pyarrow")
    steps = run.steps[0]
    device = steps.device.copy()
    device[0] = UNKNOWN
    numbers = steps.number.copy()
    numbers[0] = -1
    gaps = replace(steps, device=device, number=numbers, epoch=np.full_like(steps.epoch, -1))
    unknown_clock = replace(run.traces[0], clock=NO_CLOCK)
    with_missing = replace(run, traces=(unknown_clock,), steps=(gaps, *run.steps[1:]))
    for what in ("steps", "ops", "events"):
        wrote(run, power, tmp_path / f"{what}.parquet", what)
        wrote(with_missing, power, tmp_path / f"{what}-missing.parquet", what)
        whole = pd.read_parquet(tmp_path / f"{what}.parquet")
        missing = pd.read_parquet(tmp_path / f"{what}-missing.parquet")
        types = whole.dtypes.astype(str).to_dict()
        found = missing.dtypes.astype(str).to_dict()
        assert found == {name: types[name] for name in found}
        assert what == "ops" or missing["unix_start_ns"].isna().all()
        for name, type_name in types.items():
            if name.endswith(("_ps", "_ns")) or name in ("epoch", "step", "count", "depth"):
                assert type_name in ("int64", "Int64"), name
    steps_frame = pd.read_parquet(tmp_path / "steps-missing.parquet")
    assert steps_frame["device_ps"].isna().tolist()[:2] == [True, False]
    assert steps_frame["device_ps"][1] == int(device[1])  # not the nearest float
    assert steps_frame.dtypes["start_ps"] == np.int64  # never missing: numpy's own
    assert steps_frame["epoch"].isna().all()


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_never_replaced_unless_asked(run, power, tmp_path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("precious")
    with pytest.raises(UsageError, match="already exists") as caught:
        wrote(run, power, path, "samples")
    assert "--force" in caught.value.hint
    assert path.read_text() == "precious"
    wrote(run, power, path, "samples", force=True)
    assert path.read_text().startswith("unix_s,")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.csv", "s.csv.about.json"]


def test_a_file_that_appears_meanwhile_is_not_replaced_either(tmp_path) -> None:
    path = tmp_path / "late.csv"

    def raced() -> None:
        with export_files.opened(str(path)) as stream:
            stream.write(b"mine")
            path.write_text("theirs")

    with pytest.raises(UsageError, match="already exists"):
        raced()
    assert path.read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["late.csv"]


def test_an_error_while_writing_leaves_nothing(tmp_path) -> None:
    def broken() -> None:
        with export_files.opened(str(tmp_path / "x.csv")) as stream:
            stream.write(b"half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        broken()
    assert not list(tmp_path.iterdir())


def test_a_new_file_has_the_rights_that_the_person_wants(tmp_path) -> None:
    old = os.umask(0o027)
    try:
        with export_files.opened(str(tmp_path / "x.csv")) as stream:
            stream.write(b"x")
    finally:
        os.umask(old)
    assert (tmp_path / "x.csv").stat().st_mode & 0o777 == 0o640


def test_places_that_cannot_be_written_get_a_sentence(tmp_path) -> None:
    for path in (tmp_path / "no" / "such" / "x.csv", tmp_path):
        with pytest.raises(PowertuiError), export_files.opened(str(path)):
            pass
    with pytest.raises(PowertuiError), export_files.opened("nul\0byte"):
        pass


def test_standard_output_gets_the_bytes(run, power, monkeypatch) -> None:
    caught = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(caught))
    export.write(run, 0, 0, int(3e12), what="samples", path="-", power=(power,))
    assert caught.getvalue().startswith(b"unix_s,")


def test_the_energy_of_all_channels_that_count_comes_first(run, power, tmp_path) -> None:
    """Of one channel that counts it takes the place of the channel's own; of several it is above
    theirs.
    """
    total = replace(integrate.energy(power, 0, round(5e12)), joules=1234.5, lo=1200.0, hi=1300.0)
    answer = wrote(run, power, tmp_path / "one.csv", "samples", 0, 5, total=total)
    assert " The window: 1,234 J ± 66, measured." in answer
    about = json.loads((tmp_path / "one.csv.about.json").read_bytes())
    assert [(row["channel"], row["joules"]) for row in about["energy"]] == [("nvml-1s", 1234.5)]
    export.write(
        run,
        0,
        0,
        round(5e12),
        what="steps",
        path=str(tmp_path / "two.csv"),
        power=(power, power),
        total=total,
    )
    about = json.loads((tmp_path / "two.csv.about.json").read_bytes())
    names = [row["channel"] for row in about["energy"]]
    assert names == ["all counted channels", "nvml-1s", "nvml-1s (2)"]
    assert about["energy"][0]["joules"] == 1234.5


def test_the_answer_names_the_energy_where_the_rows_are_of_the_whole_window(
    run, power, tmp_path
) -> None:
    for what, has_energy in (("samples", True), ("steps", True), ("ops", False), ("events", False)):
        path = tmp_path / f"{what}.csv"
        answer = wrote(run, power, path, what, 0, 5)
        assert (" The window: " in answer) is has_energy, what
        assert answer.endswith(f" Based on: {path}.about.json.")
        facts = json.loads(Path(f"{path}.about.json").read_bytes())["about"]
        assert facts[4] == ["content", what]
    commented = wrote(run, power, tmp_path / "c.csv", "steps", 0, 5, comments=True)
    assert "Based on" not in commented
    assert not (tmp_path / "c.csv.about.json").exists()
    assert b"# content: steps\r\n" in (tmp_path / "c.csv").read_bytes()


def test_what_cannot_be_exported_is_said(run, power, tmp_path) -> None:
    for options, words in (
        ({"what": "samples", "power": ()}, "no samples"),
        ({"what": "steps", "power": (power,), "lo": -9, "hi": -8}, "no step"),
        ({"what": "nonsense", "power": ()}, "cannot be exported"),
        ({"what": "perfetto", "power": (), "path": "x.csv"}, "JSON"),
        ({"what": "ops", "power": (), "lo": 3, "hi": 3}, "empty"),
    ):
        path = str(tmp_path / str(options.get("path", "x.out")))
        lo, hi = (int(options.get(k, d) * 1e12) for k, d in (("lo", 0), ("hi", 5)))
        with pytest.raises(UsageError, match=words):
            export.write(run, 0, lo, hi, what=options["what"], path=path, power=options["power"])
    with pytest.raises(UsageError, match="There is no profile to export from"):
        export.write(run, 1, 0, 5, what="ops", path=str(tmp_path / "x.csv"))
    assert not list(tmp_path.iterdir())


def test_channel_names_are_told_apart(power) -> None:
    assert sheets.channel_names([power, power, power]) == [
        "nvml-1s",
        "nvml-1s (2)",
        "nvml-1s (3)",
    ]
