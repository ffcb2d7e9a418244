"""When a training saved what it had learnt: by marks of a recording, and by checkpoint files that
were written meanwhile.

A file's time is that of its last change, which copying sets anew: it counts only where it lies in a
pause of the training.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from powertui.data.energy import settings
from powertui.data.model import NS_PER_S
from powertui.data.training.placed_training import PlacedTraining
from powertui.named_tuples import NamedTuple

_MARK = re.compile(r"check ?point|ckpt|\bsav(?:e|ed|ing)\b", re.IGNORECASE)
_FILE = re.compile(
    r"^checkpoint|ckpt|check_?point|\.(?:keras|h5|hdf5|pt|pth|safetensors|msgpack)$", re.IGNORECASE
)
# Entries of a folder that are looked at. Chosen, not measured.
_MAX_ENTRIES = 5000
# A checkpoint is of a pause when it began at most so long after it. Chosen, not measured.
_MAX_DELAY_NS = int(settings.MOMENT_S * NS_PER_S)


class SavedCheckpoint(NamedTuple):
    """Something was saved from `start_ns` to `end_ns` (Unix)."""

    start_ns: int
    end_ns: int
    by: str  # for a person: "marked checkpoint", "model_3.keras was written"


def saved_checkpoints(training: PlacedTraining) -> tuple[SavedCheckpoint, ...]:
    """All that is known, by time."""
    marked = [
        SavedCheckpoint(
            start_ns=mark.start_ns,
            end_ns=mark.start_ns if mark.end_ns is None else mark.end_ns,
            by=f"marked {mark.name}",
        )
        for mark in training.marks
        if _MARK.search(mark.name)
    ]
    return tuple(sorted((*marked, *_files(training.entry.path))))


def checkpoint_within(
    saved: tuple[SavedCheckpoint, ...],
    lo_ns: int,
    hi_ns: int,
) -> SavedCheckpoint | None:
    """What was saved in a pause."""
    return next(
        (
            checkpoint
            for checkpoint in saved
            if checkpoint.start_ns <= hi_ns + _MAX_DELAY_NS and checkpoint.end_ns >= lo_ns
        ),
        None,
    )


def _files(folder: str) -> Iterator[SavedCheckpoint]:
    """Checkpoint files in a folder and in those right below it."""
    entries_left = _MAX_ENTRIES
    for path in (folder, *_folders(folder)):
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    entries_left -= 1
                    if entries_left < 0:
                        return
                    if _FILE.search(entry.name) and not entry.is_symlink():
                        at = entry.stat().st_mtime_ns
                        yield SavedCheckpoint(
                            start_ns=at,
                            end_ns=at,
                            by=f"{entry.name} was written",
                        )
        except OSError:
            continue


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                str(Path(entry.path)) for entry in entries if entry.is_dir(follow_symlinks=False)
            )[:100]
    except OSError:
        return []
