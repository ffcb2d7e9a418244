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

_MAX_SENTENCE_CELLS = 400  # five lines of a usual terminal; chosen, not measured


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
        prefix = ""
        if len(profiles) > 1:
            prefix = f"{plain(profile.host)}: "
        steps = step_facts.step_facts(profile.trace, profile.steps, profile.epochs)
        rows.append(("steps", prefix + step_facts.lines(steps)[0]))
        for line in _energy(profile, aligning):
            rows.append(("energy", prefix + line))
    for opened in runs:
        if any(profile.trace.event_count for profile in opened.profiles):
            headline = run_conclusions(opened, aligning).headline
            rows.append(("limit", plain(headline, _MAX_SENTENCE_CELLS)))
    # Hosts of one run have the same notes.
    for note in dict.fromkeys(_whose(profiles)):
        rows.append(("note", plain(note, _MAX_SENTENCE_CELLS)))
    return text.labelled(rows)


def _energy(profile: Profile, aligning: Aligning) -> list[str]:
    energies = account.energy_account(profile, aligning)
    if not energies.counted:
        if energies.elsewhere:
            return [plain(energies.apart)]
        return []
    a_step = _joules(energies.per_step(None), "a step")
    in_all = _joules(energies.energy(*energies.trace.span), "in all")
    return list(filter(None, (a_step, in_all)))


def _whose(profiles: Sequence[Profile]) -> Iterator[str]:
    """What was assumed of whose power it is, and what belongs to none of the hosts."""
    for profile in profiles:
        run = profile.opened.run
        if run.power:
            yield from owner_notes.notes(run, power_owners.of_run(run), profile.index)


def _joules(energy: Energy | None, of_what: str) -> str:
    if energy is None:
        return ""
    if energy.interval is None:
        return f"{of_what}: {plain(energy.reason, 200)}"
    joules = units.energy_interval(*energy.interval)
    quality = f"95 %, {energy.badge.value}"
    if energy.mean_w is not None:
        quality += f", mean {energy.mean_w:.1f} W"
    return f"{joules} {of_what} ({quality})"


def next_command(folder: Path) -> str:
    """What to type to look at it."""
    return f"powertui {shlex.quote(str(folder))}"
