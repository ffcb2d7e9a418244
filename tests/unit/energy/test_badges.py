"""Badges are explained where they stand: each that a table shows, and no other."""

from __future__ import annotations

import powertui
from powertui import cli, demo
from powertui.data.energy import badges
from powertui.data.energy.integrate import Energy
from powertui.data.model import Badge


def test_every_badge_has_a_meaning() -> None:
    assert set(badges.MEANING) == set(Badge)


def test_only_what_is_shown_is_explained() -> None:
    found = powertui.open(demo.folder())[0].opened.profiles[0]
    from powertui.data.energy import account

    of = account.energy_account(found)
    whole = of.energy(*of.trace.span)
    short = next(one for one in of.step_energies if not one.resolved)
    assert isinstance(whole, Energy)
    assert not short.resolved, "a step within one refresh of the sensor"
    assert badges.legend([]) == badges.legend([None]) == ""
    assert badges.legend([whole, None]) == f"measured: {badges.MEANING[Badge.MEASURED]}"
    assert badges.legend([short]) == f"not resolved: {badges.NOT_RESOLVED}"


def test_the_energy_page_and_the_tool_explain_them(capsys: object) -> None:
    assert cli.main(["energy", str(demo.folder())]) == 0
    said = capsys.readouterr().out  # type: ignore[attr-defined]
    assert "measured: integrated from readings; not resolved: the sensor" in said
    assert any(
        note.startswith("Measured: integrated")
        for note in powertui.open(demo.folder())[0].tool("energy").notes
    )
