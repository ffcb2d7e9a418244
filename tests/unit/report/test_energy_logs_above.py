"""Power logs above a logdir are told of and not taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import cli
from tests.synthetic import hosts


@pytest.mark.parametrize(
    "names", [("a.csv",), ("a.csv", "b.csv"), ("a.csv", "b.csv", "c.csv", "d.csv")]
)
def test_every_log_that_may_be_the_runs_is_named(
    names: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = hosts.two(tmp_path)
    for name in names:
        made.plain_csv(tmp_path / name, "host-a")
    assert cli.main(["energy", str(made.logdir)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no power log was found" in said
    assert all(str(tmp_path / name) in said for name in names[:3])
    assert ("and 1 more" in said) == (len(names) > 3)
    assert ("if it is this run's" if len(names) == 1 else "if one is this run's") in said


def test_why_a_log_beside_the_run_is_not_taken_is_told_in_place_of_its_joules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = hosts.two(tmp_path)
    log = made.logdir / "power.csv"
    log.write_text("time_unix_s,dBm\n1700000000,53.1\n1700000001,53.2\n", "utf-8")
    assert cli.main(["energy", str(made.logdir)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"no power log beside this run was taken. {log}: has no column that is named" in said
    assert cli.main(["doctor", str(made.logdir)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"{log}: has no column that is named like power or energy" in said
    made.plain_csv(tmp_path / "mine.csv", "host-a")
    assert cli.main(["energy", str(made.logdir), "--power", str(tmp_path / "mine.csv")]) == 0
    assert str(log) not in capsys.readouterr().out


@pytest.mark.parametrize("tool", ["sensors", "energy"])
@pytest.mark.parametrize(
    ("head", "cause"),
    [("time_unix_s,dBm", "has no column that is named like power"), ("jd,W", "read as time")],
)
def test_tools_of_power_say_so_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: str, head: str, cause: str
) -> None:
    made = hosts.two(tmp_path)
    log = made.logdir / "power.csv"
    rows = "".join(f"{2461365.5 + day},5{day}.1\n" for day in range(5))
    log.write_text(f"{head}\n{rows}", "utf-8")
    assert cli.main(["report", str(made.logdir), "--tool", tool]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"No power log beside this run was taken. {log}: " in said
    assert cause in said
    log.unlink()
    assert cli.main(["report", str(made.logdir), "--tool", tool]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No power log was found with this run. Name one: --power FILE." in said
