"""The same question has the same answer in every process, whatever Python's hash seed is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from powertui import demo
from powertui.data.tools import registry

# Prints one line for each tool: its name and what it answers about one run, as CSV.
SCRIPT = """
import hashlib, sys
from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.registry import Question
from powertui.errors import PowertuiError
from powertui.report.writers import write

for folder in sys.argv[1:]:
    run = next(entry for entry in logdir.scan(folder).runs if entry.profiles)
    opened = Opened(run)
    for tool in registry.TOOLS:
        try:
            text = write(tool.answer(Question(opened)), "csv")
        except PowertuiError as error:
            text = str(error)
        print(tool.name, hashlib.sha256(text.encode()).hexdigest())
"""


def answers(seed: int, *folders: str | Path) -> list[str]:
    """The digest of each tool's answer, from a process of its own."""
    shown = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, folders)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.splitlines()


def test_no_tool_answers_in_another_order_in_another_process(data: Path) -> None:
    folders = (demo.folder(), data / "logdirs" / "jax_cpu")
    first = answers(1, *folders)
    assert len(first) == 2 * len(registry.TOOLS)
    assert answers(2, *folders) == first
