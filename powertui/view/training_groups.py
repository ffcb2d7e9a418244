"""What a person reads of trainings while putting them together otherwise: what each holds, why, and
which lies nearest.
"""

from __future__ import annotations

import itertools
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
    scalars = any(file.kind == "scalars" for file in entry.tfevents)
    counts = ((len(entry.sessions), "session"), (len(entry.power), "power log"))
    counted = [f"{count:,} {plural(what, count)}" for count, what in counts if count]
    return ", ".join(
        [
            *counted[: bool(entry.sessions)],
            *(["scalars"] if scalars else []),
            *counted[bool(entry.sessions) :],
        ]
    )


def why(entry: TrainingEntry) -> str:
    """What a grouping rests on, in a sentence."""
    reasons = "; ".join(plain(reason, 200) for reason in entry.reasons)
    return (
        f"{reasons[:1].upper()}{reasons[1:]}." if reasons else "One session in a folder of its own."
    )


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
    cells = [
        (
            truncation.middle(plain(entry.name, 200), _MAX_NAME_CELLS),
            _when(entry),
            f"{group_reasons(entry)}{', changed by hand' if entry.by_hand else ''}",
        )
        for entry in entries
    ]
    wide = [max((len(row[at]) for row in cells), default=0) for at in range(2)]
    return [
        "  ".join((*(f"{row[at]:<{wide[at]}}" for at in range(2) if wide[at]), row[2]))
        for row in cells
    ]


def named(parts: Sequence[Part]) -> str:
    """Some parts, as a sentence names them."""
    first = parts[0]
    name = f"the {first.kind} {'in ' if first.kind == 'scalars' else ''}{plain(first.name, 60)}"
    return name if len(parts) == 1 else f"{name} and {len(parts) - 1:,} more"


def others(of: Iterable[TrainingEntry], all_: Sequence[TrainingEntry]) -> list[TrainingEntry]:
    """The trainings that something could belong to instead: those that lie nearest in the tree
    first.
    """
    excluded = tuple(of)
    choices = [entry for entry in all_ if entry not in excluded]
    if not excluded:
        return choices
    return sorted(
        choices,
        key=lambda entry: (-max(_shared(entry.path, two.path) for two in excluded), entry.name),
    )


def _shared(first: str, second: str) -> int:
    """How many folders two paths share."""
    pairs = zip(Path(first).parts, Path(second).parts, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
