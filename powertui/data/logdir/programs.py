"""The programs that wrote scalars, by the names and ends of their files, and whether one went on
where another stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from powertui.data.formats import filenames, tfevents_ends
from powertui.data.formats.filenames import run_of
from powertui.data.logdir.entries import EventFile
from powertui.named_tuples import NamedTuple

# A program that started later than this after another one is a training of its own, unless its
# steps go on. Chosen, not measured.
_MAX_PAUSE_NS = 15 * 60 * 1_000_000_000
# A program that goes on begins at more than half of the steps that were done (a checkpoint may be
# old); after a long pause, close to their end. Chosen, not measured.
_MIN_RESUMED_SHARE = 0.5
_MIN_RESUMED_SHARE_AFTER_PAUSE = 0.9


class TrainedProgram(NamedTuple):
    """One process that wrote scalars into one folder."""

    base: str
    process: tuple[str, int | None]
    files: tuple[EventFile, ...]
    first_ns: int
    last_ns: int
    first_step: int | None
    last_step: int | None


def base_of(folder: str) -> str:
    """The folder of a training: `train/` and `validation/` are parts of it."""
    return _base_of_place(Path(folder))


def _base_of_place(place: Path) -> str:
    if place.name in filenames.PARTS:
        return str(place.parent)
    return str(place)


def programs_of(events: Sequence[EventFile]) -> list[TrainedProgram]:
    """The programs that wrote these files with scalars."""
    files_of: dict[tuple[str, tuple[str, int | None]], list[EventFile]] = {}
    for file in events:
        base = _base_of_place(Path(file.path).parent)
        files_of.setdefault((base, run_of(file.path)), []).append(file)
    programs = []
    for (base, process), files in files_of.items():
        program = _program(base, process, files)
        if program is not None:
            programs.append(program)
    return programs


def _program(
    base: str,
    process: tuple[str, int | None],
    files: Sequence[EventFile],
) -> TrainedProgram | None:
    """What these files of one process span; None where none of them has a record."""
    ends = [tfevents_ends.ends(file.path) for file in files]
    ends = [end for end in ends if end.first_ns is not None]
    firsts = [end.first_ns for end in ends if end.first_ns is not None]
    lasts = [end.last_ns for end in ends if end.last_ns is not None]
    first_steps = [end.first_step for end in ends if end.first_step is not None]
    last_steps = [end.last_step for end in ends if end.last_step is not None]
    if not firsts:
        return None
    return TrainedProgram(
        base=base,
        process=process,
        files=tuple(files),
        first_ns=min(firsts),
        last_ns=max([min(firsts), *lasts]),
        first_step=min(first_steps, default=None),
        last_step=max(last_steps, default=None),
    )


def span_of(programs: Sequence[TrainedProgram]) -> tuple[int, int] | None:
    """The first and the last record of some programs; None of none."""
    if not programs:
        return None
    first = min(program.first_ns for program in programs)
    return first, max(program.last_ns for program in programs)


def goes_on(turn: Sequence[TrainedProgram], later: TrainedProgram) -> bool:
    """Whether a program belongs to the training of these: it ran at their time, in their process,
    or went on from where they stopped.
    """
    last_ns = max(program.last_ns for program in turn)
    if later.first_ns <= last_ns:
        return True
    processes = {program.process for program in turn}
    if later.process[1] is not None and later.process in processes:
        return True
    last_step = max((program.last_step or 0 for program in turn), default=0)
    # A program that begins at step 0 or 1 begins a training.
    if later.first_step is None or last_step <= 0 or later.first_step <= 1:
        return False
    if later.first_step <= _MIN_RESUMED_SHARE * last_step:
        return False
    is_soon = later.first_ns - last_ns <= _MAX_PAUSE_NS
    return is_soon or later.first_step >= _MIN_RESUMED_SHARE_AFTER_PAUSE * last_step
