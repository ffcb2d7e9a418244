"""The overview of sessions in a long training, whose power is searched from end to end."""

from __future__ import annotations

from pathlib import Path

from tests.unit.tools.test_overview_page import has_overview_in_every_form


def test_sessions_of_a_long_training_have_an_overview_in_every_form(shared_data: Path) -> None:
    has_overview_in_every_form(shared_data / "own" / "long_training")
