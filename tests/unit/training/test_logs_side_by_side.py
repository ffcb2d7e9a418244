"""Power logs that are named together, without a run beside them: all are told, on one clock."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from powertui import cli

_START = datetime(2026, 11, 20, 14, 0, 0)
_BUMP_S = (250, 310)  # after _START, in both logs


def _gpus(folder: Path) -> Path:
    """Ten minutes of one GPU, every second: 200 W, and 300 W in the bump."""
    lines = ["timestamp, index, name, power.draw [W]"]
    for second in range(600):
        watts = 300 if _BUMP_S[0] <= second < _BUMP_S[1] else 200
        moment = _START + timedelta(seconds=second)
        lines.append(f"{moment:%Y/%m/%d %H:%M:%S}.000, 0, NVIDIA A100, {watts + second % 3:.2f} W")
    return _written(folder / "gpus.csv", lines)


def _bmc(folder: Path, zone: str = "") -> Path:
    """Ten minutes of a BMC that begins 200 s later, every 5 s: 700 W, and 900 W in the bump."""
    lines = []
    for second in range(200, 800, 5):
        watts = 900 if _BUMP_S[0] <= second < _BUMP_S[1] else 700
        moment = _START + timedelta(seconds=second)
        lines += [f"{moment:%Y-%m-%d %H:%M:%S}{zone}", ""]
        lines += [f"    Instantaneous power reading:   {watts + second % 2} Watts", ""]
    return _written(folder / "bmc.txt", lines)


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def _printed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert cli.main([str(word) for word in words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("zone", ["", "+00:00", "+05:30"])
@pytest.mark.parametrize("bmc_first", [False, True])
@pytest.mark.parametrize("as_option", [False, True])
def test_all_of_them_are_told_and_meet(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    zone: str,
    bmc_first: bool,
    as_option: bool,
) -> None:
    """Whichever is named first, as a path or as --power; a zone that one of them names counts."""
    logs = [_gpus(tmp_path), _bmc(tmp_path, zone)]
    if bmc_first:
        logs.reverse()
    named = [logs[0], "--power", logs[1]] if as_option else logs
    page = _printed(capsys, "energy", *named)
    assert "GPU 0" in page
    assert "DCMI power" in page
    out = tmp_path / "out.csv"
    _printed(capsys, "export", logs[0], "--power", logs[1], "-o", out)
    with out.open() as file:
        rows = list(csv.DictReader(file))
    begins = {}
    for channel, bump_w in (("GPU 0", 300), ("DCMI power", 900)):
        begins[channel] = min(
            float(row["trace_s"])
            for row in rows
            if row[f"watts: {channel}"] and float(row[f"watts: {channel}"]) >= bump_w
        )
    assert begins["GPU 0"] == pytest.approx(begins["DCMI power"], abs=5)


def test_a_log_beside_a_folder_of_logs_takes_nothing_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`powertui energy FOLDER --power OTHER` tells of both."""
    folder = tmp_path / "logs"
    folder.mkdir()
    _gpus(folder)
    other = _bmc(tmp_path)
    answer = json.loads(_printed(capsys, "energy", folder, "--power", other, "--json"))
    assert "GPU 0" in json.dumps(answer)
    assert "DCMI power" in json.dumps(answer)


def test_a_window_is_named_by_the_local_times_of_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was "nothing was sampled in this window": 14:04:10 was taken for 14 hours of the axis."""
    log = _gpus(tmp_path)
    asked = ("--from", "14:04:10", "--to", "14:05:10", "--csv")
    (row,) = csv.DictReader(_printed(capsys, "energy", log, *asked).splitlines())
    assert float(row["joules"]) == pytest.approx(60 * 301, rel=0.005)
    dated = ("--from", "2026-11-20 14:04:10", "--to", "2026-11-20 14:05:10", "--csv")
    (same,) = csv.DictReader(_printed(capsys, "energy", log, *dated).splitlines())
    assert same["joules"] == row["joules"]


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ("15:04:10", "it is from 2026-11-20 14:00:00 to 2026-11-20 14:09:59 local time"),
        ("14:04:10Z", "The power log names no time zone"),
    ],
)
def test_a_time_that_is_not_in_the_log_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], start: str, sentence: str
) -> None:
    """A window outside of the log is a mistake of who asks, and not power that nobody sampled."""
    assert cli.main(["energy", str(_gpus(tmp_path)), "--from", start]) == 2
    assert sentence in capsys.readouterr().err
