"""`aiu-smi:` with a program that prints what the real one is known to print."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.errors import NotSupported
from powertui.sampler import aiu_smi
from powertui.sampler.inventory import local_targets
from powertui.sampler.source import Options, Reading, Source, open_source, reason_of
from tests.unit.sampler.test_without_root import path
from tests.waiting import until

__all__ = ["path"]

DATA = Path(__file__).parents[2] / "data/power_tools"
HEAD = """#MetricFiles
# 0 /tmp/metrics.0301:50:00.0
#ID Date      Time      hostcpu hostmem    pwr  gtemp   busy    rdmem    wrmem
#   YYYYMMDD  HH:MM:SS        %       %      {unit}      C      %     GB/s     GB/s"""
PROGRAM = """#!/bin/sh
trap 'echo gone > {folder}/gone; exit 0' TERM
cat {folder}/head
cat {folder}/lines
while [ -e {folder}/stay ]; do sleep 0.02; [ -e {folder}/more ] && cat {folder}/more && rm {folder}/more; done
"""


def spyre(folder: Path, lines: str, unit: str = "W", head: str = HEAD) -> None:
    """A program that prints these lines and then waits for more."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    (folder / "head").write_text(head.replace("{unit}", unit) + "\n")
    (folder / "lines").write_text(lines)
    (folder / "stay").touch()
    (folder / "aiu-smi").write_text(PROGRAM.replace("{folder}", str(folder)))
    (folder / "aiu-smi").chmod(0o755)


@pytest.fixture(autouse=True)
def tools(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the shell script needs: programs, and all the time that a busy machine takes."""
    monkeypatch.setattr(aiu_smi, "_FIRST_LINES_S", 120.0)
    monkeypatch.setattr(aiu_smi, "_MAX_SILENCE_S", 120.0)
    monkeypatch.setattr(aiu_smi, "_TERMINATION_S", 120.0)
    path.mkdir(exist_ok=True)
    for name in ("cat", "sleep", "rm"):
        (path / name).symlink_to(f"/bin/{name}")


def more(folder: Path, lines: str) -> None:
    made = folder / "more.new"
    made.write_text(lines)
    made.rename(folder / "more")


def next_of(source: Source) -> list[Reading]:
    readings: list[Reading] = []
    until(lambda: readings.extend(source.read()) or readings, lambda: "no reading came")
    return readings


def line(card: int, watts: str) -> str:
    return (
        f"  {card} 20240501  10:00:00     15.0     5.4   {watts}   30.8      0    0.000    0.000\n"
    )


def test_two_cards(path: Path) -> None:
    spyre(path, line(0, "18.0") + line(1, "19.5"))
    source = open_source("aiu-smi:")
    info = source.open()
    assert [(one.name, one.scope, one.index, one.pci) for one in info.channels] == [
        ("AIU 0", "gpu", 0, "0301:50:00.0"),
        ("AIU 1", "gpu", 1, ""),
    ]
    assert [one.watts for one in next_of(source)] == [18.0, 19.5]
    assert source.read() == []  # a line is read once
    more(path, line(1, "-") + line(0, "21.0"))
    found = {one.channel: one for one in next_of(source)}
    found |= {one.channel: one for one in (source.read() if len(found) == 2 else next_of(source))}
    assert found["AIU 0"].watts == 21.0
    assert reason_of(found["AIU 1"].quality) == "it has no value right now"
    source.close()
    assert (path / "gone").exists()


def test_one_that_ends_is_started_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spyre(path, line(0, "18.0"))
    source = open_source("aiu-smi:")
    source.open()
    next_of(source)
    (path / "stay").unlink()
    monkeypatch.setattr(aiu_smi, "_MAX_SILENCE_S", 0.2)
    until(lambda: "aiu-smi ended" in {reason_of(one.quality) for one in source.read()})
    assert next(one.watts for one in iter(lambda: next_of(source)[0], None) if one.watts) == 18.0
    assert source.reconnects >= 1
    source.close()


@pytest.mark.parametrize(
    ("lines", "unit"),
    [("", "W"), ("nothing of use\n", "W"), (line(0, "-"), "W"), (line(0, "18000"), "mV")],
)
def test_what_tells_no_power_is_no_source(
    path: Path, lines: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aiu_smi, "_FIRST_LINES_S", 1.0)
    spyre(path, lines, unit)
    with pytest.raises(NotSupported, match="reports no power"):
        open_source("aiu-smi:").open()


def test_where_there_is_none(path: Path) -> None:
    with pytest.raises(NotSupported, match="no aiu-smi"):
        open_source("aiu-smi:").open()


def test_a_card_by_name_and_it_is_found_alone(path: Path, tmp_path: Path) -> None:
    spyre(path, line(0, "18.0") + line(1, "19.5"))
    source = open_source("aiu-smi:", Options(sensors=("AIU 1",)))
    assert [one.name for one in source.open().channels] == ["AIU 1"]
    source.close()
    with pytest.raises(NotSupported, match="No card is called AIU 7"):
        open_source("aiu-smi:", Options(sensors=("AIU 7",))).open()
    assert "aiu-smi:" in {one.url for one in local_targets(str(tmp_path / "empty"))}


@pytest.mark.parametrize(
    ("name", "known", "watts"), [("aiu_smi.txt", 10, 18.0), ("aiu_smi.csv", 4, 18.0)]
)
def test_the_forms_that_recordings_have(name: str, known: int, watts: float) -> None:
    found = aiu_smi.parsed((DATA / name).read_text().splitlines())
    assert found[0] == aiu_smi.AiuLine(0, watts)
    assert sum(one.watts is not None for one in found) >= known - 1
