"""The date that archives carry, and a tar archive that depends on what is in it and on nothing
else: equal content, equal bytes.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path

RELEASED = 1795305600  # 2026-11-22, 00:00 UTC


def pack(folder: Path, archive: Path, *, when: int = RELEASED, level: int = 9) -> None:
    """All files of a folder, under its own name: sorted, without owners, every date the same."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=level, mtime=when, fileobj=raw) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                member = tarfile.TarInfo(path.relative_to(folder.parent).as_posix())
                member.size, member.mtime = path.stat().st_size, when
                member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
                with path.open("rb") as content:
                    tar.addfile(member, content)
