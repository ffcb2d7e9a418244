"""What a person reads of trainings while putting them together otherwise: what each holds, why, and
which lies nearest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from powertui.data.logdir import TrainingEntry
from powertui.data.logdir.by_hand import Part
from powertui.data.model import NS_PER_S
from powertui.data.table import plural
from powertui.plain import plain
from powertui.view import truncation

_MAX_NAME_CELLS = 36  # cells of a training's name in a list


def group_reasons(entry: TrainingEntry) -> str:
    """What a training was put together from, counted: "2 sessions, scalars, 1 power log"."""
    parts = []
    if entry.sessions:
        parts.append(_counted(len(entry.sessions), "session"))
    if any(file.kind == "scalars" for file in entry.tfevents):
        parts.append("scalars")
    if entry.power:
        parts.append(_counted(len(entry.power), "power log"))
    return ", ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {plural(noun, count)}"


def why(entry: TrainingEntry) -> str:
    """What a grouping rests on, in a sentence."""
    if not entry.reasons:
        return "One session in a folder of its own."
    reasons = "; ".join(plain(reason, 200) for reason in entry.reasons)
    initial = reasons[:1].upper()
    return f"{initial}{reasons[1:]}."


def _when(entry: TrainingEntry) -> str:
    """When its scalars began, or its power where that is all; "" where nothing says it."""
    if entry.first_ns is None:
        return ""
    try:
        moment = datetime.fromtimestamp(entry.first_ns // NS_PER_S, timezone.utc)
        return f"{moment:%Y-%m-%d %H:%M} {'local' if entry.is_local else 'UTC'}"
    except (OverflowError, OSError, ValueError):
        return ""  # no year of ours


def lines(entries: Sequence[TrainingEntry]) -> list[str]:
    """Trainings in a list, in columns."""
    names = []
    for entry in entries:
        name = plain(entry.name, 200)
        names.append(truncation.middle(name, _MAX_NAME_CELLS))
    moments = [_when(entry) for entry in entries]
    name_cells = max(map(len, names), default=0)
    moment_cells = max(map(len, moments), default=0)
    rows = []
    for entry, name, moment in zip(entries, names, moments, strict=True):
        cells = []
        if name_cells:
            cells.append(name.ljust(name_cells))
        if moment_cells:
            cells.append(moment.ljust(moment_cells))
        reasons = group_reasons(entry)
        if entry.by_hand:
            reasons += ", changed by hand"
        cells.append(reasons)
        rows.append("  ".join(cells))
    return rows


def named(parts: Sequence[Part]) -> str:
    """Some parts, as a sentence names them."""
    first = parts[0]
    kind = first.kind
    if kind == "scalars":
        kind = "scalars in"
    name = f"the {kind} {plain(first.name, 60)}"
    rest = len(parts) - 1
    if not rest:
        return name
    return f"{name} and {rest:,} more"


def others(of: Iterable[TrainingEntry], all_: Sequence[TrainingEntry]) -> list[TrainingEntry]:
    """The trainings that something could belong to instead: those that lie nearest in the tree
    first.
    """
    excluded = tuple(of)
    choices = [entry for entry in all_ if entry not in excluded]
    if not excluded:
        return choices

    def distance(entry: TrainingEntry) -> tuple[int, str]:
        shared = [_shared(entry.path, neighbor.path) for neighbor in excluded]
        return -max(shared), entry.name

    return sorted(choices, key=distance)


def _shared(first: str, second: str) -> int:
    """How many folders two paths share."""
    count = 0
    for folder, other_folder in zip(Path(first).parts, Path(second).parts, strict=False):
        if folder != other_folder:
            break
        count += 1
    return count
