"""What a person moved from one training to another, kept for the next start: one small file in
powertui's own state folder.

Nothing is ever written beside the logs. What cannot be read there costs a sentence and the
corrections, nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from powertui import config
from powertui.data.model import Warn

_MAX_MOVES = 1000  # the last so many
_LIMIT = 16 << 20
_WHAT = "powertui: what belongs to which training"
_LOST = "what was grouped by hand is not known"
NOT_OURS = f"is not a file that powertui wrote: {_LOST}"


@dataclass(frozen=True)
class Move:
    """Parts of trainings that belong to another, or to none."""

    parts: tuple[str, ...]  # real paths of what was moved
    out_of: tuple[str, ...]  # of members of the trainings that they were in
    to: tuple[
        str, ...
    ] = ()  # of members of the one that they belong to; none: it is one of its own


def place() -> Path:
    """Where the file lies."""
    return config.state_folder() / "trainings.json"


def load() -> tuple[tuple[Move, ...], tuple[Warn, ...]]:
    """All that was moved, the first move first; and what is wrong with the file."""
    path = place()
    try:
        if path.stat().st_size > _LIMIT:
            return (), (Warn(str(path), "", NOT_OURS),)
        found: Any = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (Warn(str(path), "", f"cannot be read ({error.strerror}): {_LOST}"),)
    except (ValueError, RecursionError):
        return (), (Warn(str(path), "", NOT_OURS),)
    if (
        not isinstance(found, dict)
        or found.get("what") != _WHAT
        or not isinstance(found.get("moves"), list)
    ):
        return (), (Warn(str(path), "", NOT_OURS),)
    moves = [_move(one) for one in found["moves"]]
    known = tuple(one for one in moves if one is not None)
    return known, (Warn(str(path), "", NOT_OURS),) if len(known) < len(moves) else ()


def add(one: Move) -> bool:
    """Remember a move. False when the state folder cannot be written."""
    return _write((*load()[0], one))


def take_back(one: Move) -> bool:
    """Forget a move: the last of those that are like it.

    False when the state folder cannot be written.
    """
    known = list(load()[0])
    for at in reversed(range(len(known))):
        if known[at] == one:
            del known[at]
            break
    return _write(known)


def _move(found: Any) -> Move | None:
    """One move, if it is what `add` writes: the file lies where anything may have written it."""
    if not isinstance(found, dict) or set(found) != {"parts", "out_of", "to"}:
        return None
    lists = [found["parts"], found["out_of"], found["to"]]
    if not all(
        isinstance(one, list)
        and all(isinstance(path, str) and path.startswith(os.sep) for path in one)
        for one in lists
    ):
        return None
    return Move(*(tuple(one) for one in lists)) if lists[0] else None


def _write(moves: Sequence[Move]) -> bool:
    path = place()
    try:
        if load()[1]:  # somebody else's, or damaged: it is not ours to overwrite
            path.replace(path.with_name(path.name + ".not-read"))
    except OSError:
        return False
    return config.write_state(
        path, {"what": _WHAT, "moves": [asdict(one) for one in moves[-_MAX_MOVES:]]}
    )
