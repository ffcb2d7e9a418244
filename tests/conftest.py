"""Where test data lies."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def data() -> Path:
    """The small recordings that belong to the project."""
    return _HERE / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """More and larger recordings beside the checkout (own/, public/, golden/). Tests that use them skip without."""
    folder = _HERE.parent.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data beside this checkout")
    return folder
