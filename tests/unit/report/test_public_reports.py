"""`powertui report` and `powertui doctor` about every public recording, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from powertui.cli import main


def test_everything_public_is_read_without_a_traceback(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(shared_data / "public"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) >= 12
    for folder in sorted((shared_data / "public").iterdir()):
        for form in ([], ["--json"], ["--csv"], ["--markdown"]):
            assert main(["report", str(folder), *form]) in (0, 3)
        assert main(["doctor", str(folder)]) in (0, 3)
