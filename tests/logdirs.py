"""Small folders of logs, as a scan meets them."""

from __future__ import annotations

from pathlib import Path


def make(folder: Path, *names: str, content: bytes = b"\x0a\x01x") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def power(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "time_unix_s,watts\n" + "".join(f"{1_700_000_000 + i},{200 + i % 7}\n" for i in range(20))
    )
