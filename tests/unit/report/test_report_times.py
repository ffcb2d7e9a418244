"""What "from" means: the first event's wall time, of each host; the profile's zero stands apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from powertui.cli import main
from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.report import runs
from tests.adversarial.program import Program

START = 1_795_000_000_000_000_000  # 2026-11-18 11:06:40 UTC
HOUR = 3_600_000


def program(host: str, first_ms: float, start_ns: int = START) -> Program:
    """Five steps, the first so many ms after the session's zero."""
    made = Program(host, start_ns)
    for i in range(5):
        made.step(i, first_ms + i * 10, 9)
    return made


def told(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, Any]]:
    main(["report", str(folder)])
    text = capsys.readouterr().out
    main(["report", str(folder), "--json"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    return text, run


def test_from_is_the_first_event_and_the_zero_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program("vm", 483).write(tmp_path)
    text, run = told(tmp_path, capsys)
    assert "49 ms, from 2026-11-18 11:06:40.483" in text
    assert "times below count from the profile's zero, 483 ms before its first event" in text
    assert run["from"]["lo_ns"] <= START + 483_000_000 <= run["from"]["hi_ns"]
    assert run["clock"]["lo_ns"] <= START <= run["clock"]["hi_ns"]
    assert run["profiles"][0]["from"] == run["from"]


def test_a_zero_at_the_first_event_needs_no_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program("vm", 0).write(tmp_path)
    text, _ = told(tmp_path, capsys)
    assert "from 2026-11-18 11:06:40.000" in text
    assert "zero" not in text


def test_each_host_has_its_own_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program("host-a", 10, START + 2_500_000_000).write(tmp_path)
    program("host-b", 30).write(tmp_path)
    text, run = told(tmp_path, capsys)
    assert "host-a: 49 ms, from 2026-11-18 11:06:42.510" in text
    assert "host-b: 49 ms, from 2026-11-18 11:06:40.030" in text
    assert "their first events are 2.48 s ± 2 ms apart" in text
    assert run["from"]["lo_ns"] <= START + 30_000_000 <= run["from"]["hi_ns"]  # of the first one


def test_hosts_that_begin_at_once_are_not_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program("host-a", 10).write(tmp_path)
    program("host-b", 10.5).write(tmp_path)
    text, _ = told(tmp_path, capsys)
    assert "apart" not in text


def test_the_list_of_runs_says_the_same_time_as_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program("host-a", 2 * HOUR).write(tmp_path)
    program("host-b", 1 * HOUR).write(tmp_path)
    main(["report", str(tmp_path), "--markdown"])
    table = capsys.readouterr().out
    (entry,) = logdir.scan(tmp_path).runs
    assert runs.read(Opened(entry)).when == "2026-11-18 12:06 UTC"
    assert "2026-11-18 12:06:40.000 UTC" in table
