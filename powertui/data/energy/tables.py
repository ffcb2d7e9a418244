"""Joules of epochs and windows, and what stands out, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from powertui.data.asked import Aligning
from powertui.data.energy import account, window_energy
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.energy.integrate import Energy
from powertui.data.model import PS_PER_NS, PS_PER_S
from powertui.data.opened import Opened, Profile
from powertui.data.table import Column, Place, Table, optional, text_column

NO_POWER = "no power log covers this profile"

# name, epoch's number, start, end (ps), what it drew
_Asked: TypeAlias = "tuple[str, int | None, int, int, Energy | None]"


def energies(
    profile: Profile,
    aligning: Aligning | None = None,
    *,
    window: tuple[int, int] | None = None,
    epoch: int | None = None,
) -> Table:
    """Every epoch and the whole profile; or one epoch by its own number; or one window (ps)."""
    found = account.energy_account(profile, aligning)
    windows: list[_Asked] = []
    if window is not None:
        windows.append(("window", None, *window, found.of_window(*window)))
    else:
        for one in found.epoch_energies:
            if epoch is None or epoch == one.number:
                windows.append((f"epoch {one.number}", one.number, one.lo, one.hi, one.energy))
        if epoch is None:
            windows.append(("whole", None, *profile.trace.span, found.energy(*profile.trace.span)))

    def place(row: int) -> Place:
        return Place(profile.opened.name, profile.index, windows[row][2], windows[row][3])

    return replace(NO_ENERGIES, columns=_energy_columns(windows), place=place)


def _energy_columns(windows: Sequence[_Asked]) -> tuple[Column, ...]:
    return (
        text_column("window", "window", [name for name, *_ in windows], weight=9),
        optional("epoch", "epoch", "integer", [number for _, number, *_ in windows], weight=0),
        optional("start_s", "start", "instant", [lo for _, _, lo, _, _ in windows], weight=3),
        optional("end_s", "end", "instant", [hi for _, _, _, hi, _ in windows], weight=3),
        *figures([energy for *_, energy in windows]),
    )


def figures(found: Sequence[Energy | None]) -> tuple[Column, ...]:
    """The columns that every table of energies has.

    What is not resolved has no figure, but a reason.
    """
    return (
        optional(
            "joules",
            "energy",
            "number",
            [e.joules if e else None for e in found],
            unit="J",
            weight=9,
        ),
        optional("lo", "from", "number", [e.lo if e else None for e in found], unit="J", weight=6),
        optional("hi", "to", "number", [e.hi if e else None for e in found], unit="J", weight=6),
        optional(
            "mean_watts",
            "mean",
            "number",
            [e.mean_w if e else None for e in found],
            unit="W",
            weight=7,
        ),
        optional(
            "coverage", "covered", "share", [e.coverage if e else None for e in found], weight=4
        ),
        text_column(
            "badge", "badge", [e.badge.value if e and e.resolved else None for e in found], weight=8
        ),
        text_column(
            "reason", "why unresolved", [e.reason if e else NO_POWER for e in found], weight=5
        ),
    )


def windows(opened: Opened) -> Table:
    """The windows that recordings of this run name, on the clock of each log."""
    found = opened.cached(("windows",), lambda: window_energy.window_energies(opened.run.power))
    seconds = [
        (
            one.mark.start_ns * PS_PER_NS / PS_PER_S,
            (one.mark.end_ns or one.mark.start_ns) * PS_PER_NS / PS_PER_S,
        )
        for one in found
    ]
    columns = (
        text_column("window", "window", [one.mark.name for one in found], weight=9),
        optional(
            "log_start_s", "start", "number", [start for start, _ in seconds], unit="s", weight=3
        ),
        optional("log_end_s", "end", "number", [end for _, end in seconds], unit="s", weight=3),
        *figures([one.energy for one in found]),
        text_column("log", "log", [one.path for one in found], weight=0),
    )
    return Table(
        "windows",
        "Windows of the recording",
        columns,
        empty="No recording names a window.",
        noun="window",
    )


def findings(found: Findings, profile: Profile) -> Table:
    """What stands out, the largest energy first."""

    def place(row: int) -> Place:
        return Place(
            profile.opened.name,
            profile.index,
            found.findings[row].start_ps,
            found.findings[row].end_ps,
        )

    return replace(NO_FINDINGS, columns=_finding_columns(found.findings), place=place)


def _finding_columns(all: Sequence[Finding]) -> tuple[Column, ...]:
    return (
        text_column("kind", "kind", [one.kind for one in all], weight=4),
        text_column("witness", "evidence", [", ".join(one.witnesses) for one in all], weight=3),
        optional("epoch", "epoch", "integer", [one.epoch for one in all], weight=8),
        optional("step_lo", "first step", "integer", [one.step_lo for one in all], weight=7),
        optional("step_hi", "last step", "integer", [one.step_hi for one in all], weight=7),
        optional("start_s", "start", "instant", [one.start_ps for one in all], weight=5),
        optional("end_s", "end", "instant", [one.end_ps for one in all], weight=5),
        optional(
            "delta_watts", "power", "number", [one.delta_watts for one in all], unit="W", weight=6
        ),
        optional("lo_watts", "from", "number", [one.lo_watts for one in all], unit="W", weight=2),
        optional("hi_watts", "to", "number", [one.hi_watts for one in all], unit="W", weight=2),
        optional(
            "delta_joules",
            "energy",
            "number",
            [one.delta_joules for one in all],
            unit="J",
            weight=6,
        ),
        optional(
            "delta_s", "time", "number", [one.delta_seconds for one in all], unit="s", weight=6
        ),
        optional("p", "p", "number", [one.p for one in all], weight=3),
        text_column("badge", "badge", [one.badge.value for one in all], weight=4),
        optional("explained", "explained", "flag", [one.explained for one in all], weight=3),
        text_column("text", "what", [one.text for one in all], weight=9),
    )


NO_ENERGIES = Table(
    "energy",
    "Energy",
    _energy_columns([]),
    empty="No epoch lies in this profile.",
    key=("window",),
    noun="window",
)
NO_FINDINGS = Table(
    "findings",
    "What stands out",
    _finding_columns([]),
    noun="finding",
    empty="Nothing stands out that matters.",
)
