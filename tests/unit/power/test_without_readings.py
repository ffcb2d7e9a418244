"""Logs in which a sensor never answered are called that, whatever wrote them.

Nothing says that their columns are shifted.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.cli import main
from powertui.sampler import powerboard

SILENT = [
    powerboard.Sample(elapsed=0.2 * row, epoch=1.7e9 + 0.2 * row, watts=None, reason="timeout")
    for row in range(5)
]


def recorded(tmp_path: Path, kind: str) -> Path:
    if kind == "a recording":
        path = tmp_path / "power.csv"
        columns = "time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark"
        path.write_text(f"# powertui recording 1\n# host: vm\n# interval_s: 1.0\n{columns}\n")
        return path
    samples = SILENT if kind == "PowerBoard's rows without values" else []
    (path,) = powerboard.write_csv([tmp_path], "Total Power", {}, samples)
    return path


@pytest.mark.parametrize("verb", ["energy", "report", "doctor", "export"])
@pytest.mark.parametrize(
    "kind", ["a recording", "PowerBoard's header", "PowerBoard's rows without values"]
)
def test_a_log_without_readings_is_called_that(
    verb: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(tmp_path, kind)
    code = main([verb, str(path)])
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert "is a recording without readings" in text
    assert "powertui sensors" in text
    assert "shifted" not in text
    assert "\\n" not in text
    assert code != 0 or verb == "report"


def test_energy_says_it_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, "a recording")
    assert main(["energy", str(path)]) == 3
    assert capsys.readouterr().err.count("without readings") == 1


def test_doctor_does_not_ask_for_columns_of_a_log_of_gaps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(tmp_path, "a recording")
    with path.open("a") as file:
        for row in range(3):
            file.write(f"{1.7e9 + row:.6f},{row}.0,bmc,node,,,0.5,none,timeout,\n")
    main(["doctor", str(path)])
    text = capsys.readouterr().out
    assert "has 3 rows and not one reading" in text
    assert "check that the source answers" in text
