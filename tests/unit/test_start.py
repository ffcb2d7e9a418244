"""What is imported is time until an answer."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

from powertui.terminal import launch

ROOT = Path(__file__).resolve().parents[2]


def imported(script: str) -> set[str]:
    """The modules that a script makes Python load."""
    code = f"import sys; before = set(sys.modules)\n{script}\nprint(*sorted(set(sys.modules) - before), sep='\\n')"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_version_needs_nothing() -> None:
    script = "sys.argv = ['powertui', '--version']\nfrom powertui.__main__ import main\nassert main() == 0"
    found = imported(script)
    assert {"powertui", "powertui.__main__"} <= found
    assert {name for name in found if not name.startswith("powertui")} <= {"0.1.0"}  # what was printed
    assert len(found) <= 5


def test_the_first_page_needs_nothing_of_the_others() -> None:
    found = imported("import powertui.config, powertui.screens.shell, powertui.screens.timeline")
    assert "powertui.screens.timeline" in found
    unwanted = {"powertui.feed", "powertui.sampler.process", "powertui.data.live", "tomllib", "tomli", "pandas", "plotext"}
    assert not found & unwanted
    assert not [name for name in found if name.startswith("google.protobuf")]


def test_garbage_is_collected_again_once_there_is_a_picture() -> None:
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    try:
        launch.hurry()
        assert not gc.isenabled()
        launch.at_ease()
        assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
