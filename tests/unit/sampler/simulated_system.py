"""A tree of files in the place of /sys and /proc, and sources that read it."""

from __future__ import annotations

from pathlib import Path

from powertui.sampler.source import Info, Options, Source, open_source


def put(root: Path, path: str, text: object) -> None:
    """Write a line into a file below the root."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{text}\n")


def opened(url: str, root: Path = Path("/"), **options: object) -> tuple[Source, Info]:
    """A source that reads the tree, and what it said when it was opened."""
    source = open_source(url, Options(root=str(root), **options))  # type: ignore[arg-type]
    return source, source.open()
