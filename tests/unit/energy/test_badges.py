"""Badges are explained where they stand: each that a table shows, and no other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import powertui
from powertui import cli, demo
from powertui.data.energy import badges
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import Badge, worst_badge

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


def test_every_badge_has_a_meaning() -> None:
    assert set(badges.MEANING) == set(Badge)


def test_a_figure_is_as_uncertain_as_the_least_certain_of_those_that_it_is_made_from() -> None:
    assert worst_badge([]) is Badge.MEASURED
    assert worst_badge([Badge.MEASURED, Badge.MEASURED]) is Badge.MEASURED
    assert worst_badge([Badge.MEASURED, Badge.ESTIMATED]) is Badge.ESTIMATED
    assert worst_badge([Badge.ESTIMATED, Badge.ASSUMED, Badge.MEASURED]) is Badge.ASSUMED


def test_no_figure_in_watts_of_a_guessed_unit_is_called_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Joules, idle power, findings: a log with a column "power" of 150,000 is taken as milliwatts."""
    shutil.copytree(demo.folder(), tmp_path / "run")
    log = next((tmp_path / "run").rglob("power.csv"))
    header, *rows = log.read_text().splitlines()
    assert header == "time_unix_s,watts"
    milliwatts = [f"{row.split(',')[0]},{float(row.split(',')[1]) * 1000:.0f}" for row in rows]
    log.write_text("\n".join(["time,power", *milliwatts, ""]))
    assert cli.main(["energy", str(tmp_path / "run"), "--json"]) == 0
    badges_by_path: dict[str, set[str]] = {}

    def collect(answer: object, path: str) -> None:
        if isinstance(answer, list):
            for part in answer:
                collect(part, path)
        elif isinstance(answer, dict):
            has_power = any(
                ("watts" in name or "joules" in name) and value is not None
                for name, value in answer.items()
            )
            if has_power and answer.get("badge") is not None:
                badges_by_path.setdefault(path, set()).add(answer["badge"])
            for name, part in answer.items():
                collect(part, f"{path}.{name}")

    collect(json.loads(capsys.readouterr().out), "")
    assert {".runs.findings", ".runs.idle_watts", ".runs.epochs"} <= set(badges_by_path)
    assert all(found == {"assumed"} for found in badges_by_path.values()), badges_by_path


def test_only_what_is_shown_is_explained() -> None:
    found = powertui.open(demo.folder())[0].opened.profiles[0]
    from powertui.data.energy import account

    of = account.energy_account(found)
    whole = of.energy(*of.trace.span)
    short = next(one for one in of.step_energies if not one.resolved)
    assert isinstance(whole, Energy)
    assert not short.resolved, "a step within one refresh of the sensor"
    assert badges.legend([]) == badges.legend([None]) == ""
    assert badges.legend([whole, None]) == f"simulated: {badges.MEANING[Badge.SIMULATED]}"
    assert badges.legend([short]) == f"not resolved: {badges.NOT_RESOLVED}"


def test_the_energy_page_and_the_tool_explain_them(capsys: object) -> None:
    assert cli.main(["energy", str(demo.folder()), "--verbose"]) == 0
    said = capsys.readouterr().out  # type: ignore[attr-defined]
    assert f"simulated: {badges.MEANING[Badge.SIMULATED]}" in said
    assert any(
        note.startswith("Simulated: nothing was measured")
        for note in powertui.open(demo.folder())[0].tool("energy").notes
    )
