"""`powertui demo`: a recorded run that ships inside the package. Nothing is fetched, nothing is
written.

Two epochs of the PowerBoard article's network on a CPU, profiled whole, with power beside it. In
the middle of the second epoch another process burned the machine's cores: look for it.
`scripts/make_demo.py` made the files.
"""

from __future__ import annotations

from pathlib import Path

from powertui.errors import UnreadableFile

NOTE = "The watts come from a simulated sensor that followed the real CPU load."

_DATA = Path(__file__).parent / "data"


def folder() -> Path:
    """The recorded logdir, with its power log beside the logs."""
    if not _DATA.is_dir():
        hint = "Reinstall powertui: pip install --force-reinstall powertui"
        raise UnreadableFile(
            str(_DATA), "the demo's files are missing from this installation", hint=hint
        )
    return _DATA


def power_file() -> Path:
    """The power log of the demo."""
    return folder() / "power.csv"
