from __future__ import annotations

import pytest

from powertui.data.energy.findings import placed_search
from powertui.data.energy.findings.placed_search import FoundLoads


@pytest.fixture
def nothing_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of whose power it is: looking for loads in it would take most of their time."""
    nothing = FoundLoads((), None, None, reason="not looked for")
    monkeypatch.setattr(placed_search, "loads_at_all_places", lambda *_, **__: nothing)
