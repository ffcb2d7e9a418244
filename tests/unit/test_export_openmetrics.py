"""A window as OpenMetrics: one time for each sample, nothing that a parser refuses, nothing made up."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from powertui.data import export, logdir
from powertui.data.energy import integrate
from powertui.data.model import Clock, Run
from powertui.errors import UsageError
from tests.synthetic import Plan
from tests.synthetic.placed import make, sensed, truly_placed

# `name{labels} value time`, as the format's grammar has it; in a label every quote is escaped.
SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (\S+) (\d+\.\d{3})')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


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


def wrote(run: Run, power, path: Path, lo: float = 2.0, hi: float = 9.0, what="openmetrics") -> str:
    return export.write(
        run, 0, round(lo * 1e12), round(hi * 1e12), what=what, path=str(path), power=power
    )


def series(text: str) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """(name, labels): (time, value) of each sample; every line has to be one that a parser takes."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    found = defaultdict(list)
    for line in lines[:-2]:
        if line.startswith("# "):
            assert re.match(r"# (TYPE|UNIT|HELP) powertui_\w+ \S", line)
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        found[match[1], match[2]].append((float(match[4]), float(match[3])))
    return found


def of(text: str, name: str) -> list[tuple[float, float]]:
    """The samples of the only series of a metric."""
    (samples,) = [samples for key, samples in series(text).items() if key[0] == name]
    return samples


def test_every_series_stands_together_and_its_times_ascend(run, power, tmp_path) -> None:
    path = tmp_path / "run.om"
    said = wrote(run, (power, power), path, 0.0, 19.0)
    text = path.read_text()
    found = series(text)
    names = [line.partition("{")[0] for line in text.splitlines() if not line.startswith("#")]
    assert [name for n, name in enumerate(names) if n == 0 or names[n - 1] != name] == [
        "powertui_power_watts",
        "powertui_energy_joules_total",
        "powertui_step",
        "powertui_step_duration_seconds",
        "powertui_epoch",
        "powertui_clock_uncertainty_seconds",
    ]
    for samples in found.values():
        times = [time for time, _ in samples]
        assert times == sorted(set(times))
    assert f"Wrote {sum(map(len, found.values()))} samples" in said


def test_watts_and_joules_are_those_of_the_exported_samples(run, made, power, tmp_path) -> None:
    wrote(run, (power,), tmp_path / "run.om")
    wrote(run, (power,), tmp_path / "run.csv", what="samples")
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = (tmp_path / "run.om").read_text()
    zero = made.trace.clock.mid_ns / 1e9
    *watts, last = of(text, "powertui_power_watts")
    (column,) = [name for name in rows[0] if name.startswith("watts: ")]
    assert [value for _, value in watts] == [float(row[column]) for row in rows]
    for (time, _), row in zip(watts, rows, strict=True):
        assert time == pytest.approx(zero + float(row["about_s"]), abs=0.0011)
    assert math.isnan(last[1])
    assert last[0] == pytest.approx(zero + 9.0, abs=0.0011)
    joules = of(text, "powertui_energy_joules_total")
    assert joules[0] == (pytest.approx(zero + 2.0, abs=0.0011), 0.0)
    energy = integrate.energy(power, round(2e12), round(9e12))
    assert joules[-1] == (pytest.approx(zero + 9.0, abs=0.0011), pytest.approx(energy.joules))


def test_steps_and_epochs_have_their_number_where_they_start(run, made, power, tmp_path) -> None:
    wrote(run, (power,), tmp_path / "run.om", 0.0, 1e3)
    text = (tmp_path / "run.om").read_text()
    numbers = of(text, "powertui_step")
    lengths = of(text, "powertui_step_duration_seconds")
    assert [value for _, value in numbers[:-1]] == made.steps.number.tolist()
    zero = made.trace.clock.mid_ns / 1e9
    starts = (made.steps.start / 1e12 + zero).tolist()
    assert [time for time, _ in numbers[:-1]] == pytest.approx(starts, abs=0.0011)
    assert math.isnan(numbers[-1][1])
    seconds = (made.steps.duration / 1e12).tolist()
    assert [value for _, value in lengths[:-1]] == pytest.approx(seconds)
    epochs = [epoch.number for epoch in made.epochs]
    assert [value for _, value in of(text, "powertui_epoch")[:-1]] == epochs


def test_a_gap_is_one_nan_and_never_zero(run, power, tmp_path) -> None:
    watts = power.watts.copy()
    inside = np.flatnonzero((power.times > 4e12) & (power.times < 7e12))
    watts[inside[:3]] = np.nan
    wrote(run, (replace(power, watts=watts),), tmp_path / "run.om")
    values = [value for _, value in of((tmp_path / "run.om").read_text(), "powertui_power_watts")]
    assert sum(map(math.isnan, values)) == 2  # the gap and the end
    assert math.isnan(values[-1])
    assert 0.0 not in values


def test_of_readings_in_one_millisecond_the_last_stays_and_the_others_are_counted(
    run, power, tmp_path
) -> None:
    times = np.repeat(power.times, 2)
    times[1::2] += 10**8  # 0.1 ms
    twice = replace(power, times=times, watts=np.arange(len(times), dtype=float))
    said = wrote(run, (twice,), tmp_path / "run.om")
    samples = of((tmp_path / "run.om").read_text(), "powertui_power_watts")
    assert "in the same millisecond as a later one" in said
    values = [value for _, value in samples[:-1]]
    assert all(later == earlier + 2 for earlier, later in itertools.pairwise(values))


def test_energy_that_is_not_resolved_is_left_out(run, power, tmp_path) -> None:
    wrote(run, (power,), tmp_path / "run.om", 4.0, 4.9)  # shorter than two readings
    text = (tmp_path / "run.om").read_text()
    assert "powertui_energy_joules" not in text
    assert of(text, "powertui_power_watts")


def test_each_figure_says_how_sure_it_is(run, power, tmp_path) -> None:
    wrote(run, (replace(power, status="ambiguous"),), tmp_path / "run.om")
    wrote(run, (power,), tmp_path / "sure.om")
    assert 'quality="estimated"} ' in (tmp_path / "run.om").read_text()
    assert re.search(r'power_watts\{.*quality="measured"', (tmp_path / "sure.om").read_text())
    about = json.loads((tmp_path / "sure.om.about.json").read_text())
    assert about["energy"][0]["lo"] < about["energy"][0]["joules"] < about["energy"][0]["hi"]


def test_names_cannot_end_a_label_or_a_line(made, power, tmp_path) -> None:
    name = 'a"} 1 1\n# EOF\\'
    run = Run(name, "x", (made.trace,), (made.steps,), (made.epochs,))
    sensor = replace(power.series.sensor, name="x" * 2000, host="")
    long = replace(power, series=replace(power.series, sensor=sensor))
    wrote(run, (long, long), tmp_path / "run.om")
    found = series((tmp_path / "run.om").read_text())
    labels = [dict(LABEL.findall(labels)) for key, labels in found if key == "powertui_power_watts"]
    assert labels[0]["run"] == 'a\\"} 1 1\\\\n# EOF\\\\'
    assert labels[0]["channel"] != labels[1]["channel"]


def test_without_a_wall_time_a_sentence_says_what_can_be_exported(made, power, tmp_path) -> None:
    trace = replace(made.trace, clock=Clock())
    run = Run("x", "x", (trace,), (made.steps,), (made.epochs,))
    with pytest.raises(UsageError, match="wall time of this profile is not known") as raised:
        wrote(run, (power,), tmp_path / "run.om")
    assert "Export samples as CSV" in raised.value.hint
    assert not list(tmp_path.iterdir())


def test_a_format_cannot_be_chosen_and_a_name_in_gz_is_compressed(run, power, tmp_path) -> None:
    with pytest.raises(UsageError, match="a text format of its own, not csv"):
        export.write(run, 0, 0, 10**13, what="openmetrics", path="-", format="csv", power=(power,))
    wrote(run, (power,), tmp_path / "run.om.gz")
    assert gzip.decompress((tmp_path / "run.om.gz").read_bytes()).endswith(b"# EOF\n")


def test_what_was_exported_is_not_taken_for_a_power_log(run, power, tmp_path) -> None:
    for name in ("run.om", "power.txt", "power.csv"):
        wrote(run, (power,), tmp_path / name)
    scan = logdir.scan(str(tmp_path))
    assert not scan.runs
    assert not scan.power
