"""What a capture recorded, in a few lines for the terminal, and the next command.

The lines are the steps, the joules of a step, and what limits the speed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from powertui import units
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account, owner_notes, power_owners
from powertui.data.energy.measured_energy import Energy
from powertui.data.opened import Opened, Profile
from powertui.errors import PowertuiError
from powertui.plain import plain
from powertui.report import step_facts, text

__all__ = ["lines", "next_command"]


def lines(folder: Path, reading: ReadOptions | None = None) -> list[str]:
    """Of every host whose profile is in this session's folder."""
    aligning = Aligning()
    try:
        entries = logdir.scan(str(folder)).runs
        runs = [Opened(entry, reading) for entry in entries]
        profiles = [profile for opened in runs for profile in opened.profiles]
    except PowertuiError as error:
        return [plain(error.message)]
    rows: list[tuple[str, str]] = []
    for profile in profiles:
        if not profile.trace.event_count:
            continue
        prefix = f"{plain(profile.host)}: " if len(profiles) > 1 else ""
        steps = step_facts.step_facts(profile.trace, profile.steps, profile.epochs)
        rows.append(("steps", prefix + step_facts.lines(steps)[0]))
        rows += [("energy", prefix + line) for line in _energy(profile, aligning)]
    for opened in runs:
        if any(profile.trace.event_count for profile in opened.profiles):
            rows.append(("limit", plain(run_conclusions(opened, aligning).headline, 400)))
    rows += [("note", plain(note, 400)) for note in dict.fromkeys(_whose(profiles))]
    return text.labelled(rows)


def _energy(profile: Profile, aligning: Aligning) -> list[str]:
    energies = account.energy_account(profile, aligning)
    if not energies.counted:
        return [plain(energies.apart)] if energies.elsewhere else []
    step, profile_energy = energies.per_step(None), energies.energy(*energies.trace.span)
    lines = (_joules(step, "a step"), _joules(profile_energy, "in all"))
    return [line for line in lines if line]


def _whose(profiles: Sequence[Profile]) -> Iterator[str]:
    """What was assumed of whose power it is, and what belongs to none of the hosts."""
    for profile in profiles:
        run = profile.opened.run
        if run.power:
            yield from owner_notes.notes(run, power_owners.of_run(run), profile.index)


def _joules(energy: Energy | None, of_what: str) -> str:
    if energy is None:
        return ""
    if not energy.resolved or energy.joules is None or energy.lo is None or energy.hi is None:
        return f"{of_what}: {plain(energy.reason, 200)}"
    joules, half = units.quantity(energy.joules, "J"), (energy.hi - energy.lo) / 2
    mean = f", mean {energy.mean_w:.1f} W" if energy.mean_w is not None else ""
    quality = f"95 %, {energy.badge.value}{mean}"
    return f"{joules} ± {units.quantity(half, 'J', 2)} {of_what} ({quality})"


def next_command(folder: Path, words: Sequence[str] = ()) -> str:
    """What to type to look at it."""
    return " ".join(["powertui", *words, shlex.quote(str(folder))])
