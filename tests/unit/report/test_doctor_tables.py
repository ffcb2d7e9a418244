"""What the doctor says as tables: the same checks as its JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from powertui import cli


def test_csv_has_every_check_of_the_json(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(data / "logdirs")
    assert cli.main(["doctor", path, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert cli.main(["doctor", path, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    theirs = {("", c["topic"], c["state"], c["what"]) for c in said["checks"]}
    theirs |= {
        (run["name"], c["topic"], c["state"], c["what"])
        for run in said["runs"]
        for c in run["checks"]
    }
    assert {(row["run"], row["topic"], row["state"], row["what"]) for row in rows} == theirs
    assert len({row["run"] for row in rows}) > 1
    assert cli.main(["doctor", path, "--markdown"]) == 0
    page = capsys.readouterr().out
    assert "### Checks" in page
    assert "### Runs" in page
