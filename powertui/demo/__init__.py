"""`powertui demo`: a recorded run that ships inside the package. Nothing is fetched, nothing is written.

Two epochs of the PowerBoard article's network on a CPU, profiled whole, with power beside it. In the middle of the
second epoch another process burned the machine's cores: look for it. `scripts/make_demo.py` made the files.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from powertui.errors import UnreadableFile

NOTE = "The watts come from a simulated sensor that followed the real CPU load."

_DATA = Path(__file__).parent / "data"


def folder() -> Path:
    """The recorded logdir, with its power log beside the logs."""
    if not _DATA.is_dir():
        hint = "Install powertui again: pip install --force-reinstall powertui"
        raise UnreadableFile(str(_DATA), "the demo's files are missing from this installation", hint=hint)
    return _DATA


def power_file() -> Path:
    """The power log of the demo."""
    return folder() / "power.csv"


def run(args: argparse.Namespace) -> int:
    """The verb: the screens, or with --report the same facts as text."""
    path = str(folder())
    if args.report or args.json:
        from powertui.report import summary, text

        if not args.json:
            text.out(NOTE + "\n")
        return summary.run(_as("report", path, json=args.json))
    said = {name: value for name, value in vars(args).items() if name not in ("verb", "path")}
    return int(importlib.import_module("powertui.app").run(_as("open", path, **said, notice=NOTE)))


def _as(verb: str, path: str, **said: object) -> argparse.Namespace:
    """What the command line would say for this verb and path, with what was said to `demo`."""
    args: argparse.Namespace = importlib.import_module("powertui.cli").build_parser().parse_args([verb, path])
    for name, value in said.items():
        if name not in ("verb", "path", "report"):
            setattr(args, name, value)
    return args
