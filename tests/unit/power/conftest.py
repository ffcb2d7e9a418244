from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def tools(data: Path) -> Path:
    return data / "power_tools"
