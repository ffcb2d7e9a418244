"""What a person moved from one training to another, kept for the next start: one small file in
powertui's own state folder.

Nothing is ever written beside the logs. What cannot be read there costs a sentence and the
corrections, nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from powertui import config
from powertui.data.model import Warn
from powertui.value_types import dataclass

_MAX_MOVES = 1000  # the last so many
_MAX_FILE_BYTES = 16 << 20  # bytes; a file that powertui wrote is far smaller
_WHAT = "powertui: what belongs to which training"
_LOST = "what was grouped by hand is not known"
NOT_OURS = f"is not a file that powertui wrote: {_LOST}"


@dataclass(frozen=True)
class Move:
    """Parts of trainings that belong to another, or to none."""

    parts: tuple[str, ...]  # real paths of what was moved
    out_of: tuple[str, ...]  # of members of the trainings that they were in
    # Of members of the training that they belong to; empty where they become one of their own.
    to: tuple[str, ...] = ()


def place() -> Path:
    """Where the file lies."""
    return config.state_folder() / "trainings.json"


def load() -> tuple[tuple[Move, ...], tuple[Warn, ...]]:
    """All that was moved, the first move first; and what is wrong with the file."""
    path = place()
    not_ours = Warn(
        file=str(path),
        where="",
        cause=NOT_OURS,
    )
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            return (), (not_ours,)
        content: Any = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (
            Warn(
                file=str(path),
                where="",
                cause=f"cannot be read ({error.strerror}): {_LOST}",
            ),
        )
    except (ValueError, RecursionError):
        return (), (not_ours,)
    if not isinstance(content, dict) or content.get("what") != _WHAT:
        return (), (not_ours,)
    entries = content.get("moves")
    if not isinstance(entries, list):
        return (), (not_ours,)
    moves = []
    for entry in entries:
        move = _move(entry)
        if move is not None:
            moves.append(move)
    return tuple(moves), (not_ours,) if len(moves) < len(entries) else ()


def add(move: Move) -> bool:
    """Remember a move. False when the state folder cannot be written."""
    return _write((*load()[0], move))


def take_back(move: Move) -> bool:
    """Forget a move: the last of those that are like it.

    False when the state folder cannot be written.
    """
    moves = list(load()[0])
    for at in reversed(range(len(moves))):
        if moves[at] == move:
            del moves[at]
            break
    return _write(moves)


def _move(entry: Any) -> Move | None:
    """One move, if it is what `add` writes: anything may have written the file."""
    if not isinstance(entry, dict) or set(entry) != {"parts", "out_of", "to"}:
        return None
    if not all(_is_list_of_paths(paths) for paths in entry.values()) or not entry["parts"]:
        return None
    return Move(
        parts=tuple(entry["parts"]),
        out_of=tuple(entry["out_of"]),
        to=tuple(entry["to"]),
    )


def _is_list_of_paths(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(path, str) and path.startswith(os.sep) for path in value)


def _write(moves: Sequence[Move]) -> bool:
    path = place()
    try:
        if load()[1]:  # somebody else's, or damaged: it is not ours to overwrite
            path.replace(path.with_name(path.name + ".not-read"))
    except OSError:
        return False
    return config.write_state(
        path, {"what": _WHAT, "moves": [asdict(move) for move in moves[-_MAX_MOVES:]]}
    )
