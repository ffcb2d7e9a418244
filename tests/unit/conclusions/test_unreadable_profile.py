"""A profile that cannot be read is not called one that was never taken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import powertui
from powertui import cli, demo
from tests import logdirs


def test_of_a_damaged_profile_beside_a_power_log_the_damage_is_reported(tmp_path: Path) -> None:
    logdirs.power(tmp_path / "power.csv")
    (tmp_path / "cut.trace.json").write_text('{"traceEvents": [{"ph": "X", "name": "a')
    (run,) = powertui.open(tmp_path / "cut.trace.json")
    looked_at = run.conclusions.attrs["looked_at"]
    assert looked_at.startswith("No profile could be read (cut.trace.json: ")
    assert "no profile that" not in looked_at


def test_a_power_log_alone_says_what_it_comes_to_and_that_no_profile_is_there(
    tmp_path: Path,
) -> None:
    rows = "".join(f"{1_700_000_000 + second},{200 + second % 2 * 10}\n" for second in range(61))
    (tmp_path / "power.csv").write_text(f"time_unix_s,watts\n{rows}")
    (run,) = powertui.open(tmp_path / "power.csv")
    looked_at = run.conclusions.attrs["looked_at"]
    joules, _, rest = looked_at.partition(" kJ ± ")
    assert abs(float(joules) - 60 * 0.205) < 0.05
    assert " in 60 s, 205 W on average, 210 W at most. No profile is beside it" in rest


def test_of_a_log_without_watts_no_joules_are_told(tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text("time_unix_s,watts\n1700000000,200\n")
    (run,) = powertui.open(tmp_path / "power.csv")
    looked_at = run.conclusions.attrs["looked_at"]
    assert looked_at.startswith("The joules of this log are not known")


def test_several_channels_together_have_no_highest_reading(tmp_path: Path) -> None:
    from powertui.data.training import training_overview

    log = "time_unix_s,gpu0_watts,gpu1_watts\n"
    log += "".join(f"{1_700_000_000 + n},{100 + n % 5},{50 + n % 7}\n" for n in range(40))
    (tmp_path / "power.csv").write_text(log)
    (training,) = powertui.open(tmp_path / "power.csv").trainings
    facts = {fact.id: fact for fact in training_overview.answer(training.axis).facts}
    assert facts["energy"].value is not None
    assert facts["max"].value is None
    assert facts["max"].badge is None
    assert facts["max"].why


def test_what_stands_out_in_a_training_whose_capture_was_not_written_is_on_no_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its session is an empty folder, which the profiler made before it failed."""
    shutil.copytree(demo.folder(), tmp_path / "runs")
    (profile,) = (tmp_path / "runs").rglob("*.xplane.pb.gz")
    profile.unlink()
    (run,) = powertui.open(tmp_path / "runs")
    found = run.conclusions.set_index("kind").loc["unexplained_power"]
    assert found["sentence"].startswith("Epoch 1, steps 4")
    assert pd.isna(found["host"])
    assert cli.main(["report", str(tmp_path / "runs"), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["runs"]
    assert {conclusion["host"] for conclusion in told["conclusions"]} == {None}
