"""`report --brief` as docs/agents.md describes it: at most 4 kB, whatever the run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui import cli
from powertui.report import brief
from tests.synthetic.step_world import step_series, write_run

ROOT = Path(__file__).resolve().parents[3]
OWN = (
    "bursts",
    "custom_loop",
    "jax_cpu",
    "keras_cifar",
    "long_training",
    "long_training_2",
    "sentences",
    "trace_export",
    "two_epochs_with_burst",
)


def answered(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, Any]:
    assert cli.main(["report", str(path), "--brief"]) == 0
    printed = capsys.readouterr().out
    assert len(printed.encode()) <= brief.MAX_BYTES
    document: dict[str, Any] = json.loads(printed)
    return document


def test_the_next_command_has_the_power_log_that_was_named(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared_data / "own" / "two_epochs_with_burst"
    log = next(folder.rglob("power*.csv"))
    assert cli.main(["report", str(folder), "--brief", "--power", str(log)]) == 0
    following = json.loads(capsys.readouterr().out)["next"]
    assert following.startswith(f"powertui report {folder} --power {log} --tool ")


@pytest.mark.parametrize("folder", OWN)
def test_no_recording_takes_more_than_four_kilobytes(
    shared_data: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = answered(capsys, shared_data / "own" / folder)
    assert document["runs"]
    assert document["next"].startswith("powertui ")
    for run in document["runs"]:
        assert run["conclusions"] or run["looked_at"]
        assert "joules" in run["energy"]


def test_warnings_are_in_it_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    hostile = {"\x1b[2J" + "x" * 3000: 0.5}
    write_run(tmp_path, 0.05 * step_series("white", 40, rng), hostile, watts=200.0)
    log = tmp_path / "power.csv"
    rows = log.read_text().splitlines()
    log.write_text("\n".join([*rows[:50], "no,number", *rows[50:]]) + "\n")
    (run,) = answered(capsys, tmp_path)["runs"]
    assert any("power.csv" in warning for warning in run["warnings"])
    assert "\x1b" not in json.dumps(run, ensure_ascii=False)


def test_the_page_for_programs_names_keys_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "agents.md").read_text("utf-8")
    table = page.partition("It has for each run:")[2].partition("Beside `runs`")[0]
    named = set()
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        named |= set(re.findall(r"`([a-z_]+)(?:\[\])?`", row))
    rng = np.random.default_rng(2)
    write_run(tmp_path, 0.05 * step_series("white", 40, rng), {"aten::mm": 0.5})
    (run,) = answered(capsys, tmp_path)["runs"]
    assert named - set(run) == {"warnings", "error"}  # only where there is something
