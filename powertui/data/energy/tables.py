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
    host_account = account.energy_account(profile, aligning)
    windows: list[_Asked] = []
    if window is not None:
        windows.append(("window", None, *window, host_account.of_window(*window)))
    else:
        for epoch_energy in host_account.epoch_energies:
            if epoch is None or epoch == epoch_energy.number:
                windows.append(
                    (
                        f"epoch {epoch_energy.number}",
                        epoch_energy.number,
                        epoch_energy.lo,
                        epoch_energy.hi,
                        epoch_energy.energy,
                    )
                )
        if epoch is None:
            windows.append(
                ("whole", None, *profile.trace.span, host_account.energy(*profile.trace.span))
            )

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


def figures(energies: Sequence[Energy | None]) -> tuple[Column, ...]:
    """The columns that every table of energies has.

    What is not resolved has no figure, but a reason.
    """
    return (
        optional(
            "joules",
            "energy",
            "number",
            [part.joules if part else None for part in energies],
            unit="J",
            weight=9,
        ),
        optional(
            "lo",
            "from",
            "number",
            [part.lo if part else None for part in energies],
            unit="J",
            weight=6,
        ),
        optional(
            "hi",
            "to",
            "number",
            [part.hi if part else None for part in energies],
            unit="J",
            weight=6,
        ),
        optional(
            "mean_watts",
            "mean",
            "number",
            [part.mean_w if part else None for part in energies],
            unit="W",
            weight=7,
        ),
        optional(
            "coverage",
            "covered",
            "share",
            [part.coverage if part else None for part in energies],
            weight=4,
        ),
        text_column(
            "badge",
            "badge",
            [part.badge.value if part and part.resolved else None for part in energies],
            weight=8,
        ),
        text_column(
            "reason",
            "why unresolved",
            [part.reason if part else NO_POWER for part in energies],
            weight=5,
        ),
    )


def windows(opened: Opened) -> Table:
    """The windows that recordings of this run name, on the clock of each log."""
    mark_energies = opened.cached(
        ("windows",), lambda: window_energy.window_energies(opened.run.power)
    )
    seconds = [
        (
            marked.mark.start_ns * PS_PER_NS / PS_PER_S,
            (marked.mark.end_ns or marked.mark.start_ns) * PS_PER_NS / PS_PER_S,
        )
        for marked in mark_energies
    ]
    columns = (
        text_column("window", "window", [marked.mark.name for marked in mark_energies], weight=9),
        optional(
            "log_start_s", "start", "number", [start for start, _ in seconds], unit="s", weight=3
        ),
        optional("log_end_s", "end", "number", [end for _, end in seconds], unit="s", weight=3),
        *figures([marked.energy for marked in mark_energies]),
        text_column("log", "log", [marked.path for marked in mark_energies], weight=0),
    )
    return Table(
        "windows",
        "Windows of the recording",
        columns,
        empty="No recording names a window.",
        noun="window",
    )


def findings(result: Findings, profile: Profile) -> Table:
    """What stands out, the largest energy first."""

    def place(row: int) -> Place:
        return Place(
            profile.opened.name,
            profile.index,
            result.findings[row].start_ps,
            result.findings[row].end_ps,
        )

    return replace(NO_FINDINGS, columns=_finding_columns(result.findings), place=place)


def _finding_columns(findings: Sequence[Finding]) -> tuple[Column, ...]:
    return (
        text_column("kind", "kind", [finding.kind for finding in findings], weight=4),
        text_column(
            "witness", "evidence", [", ".join(finding.witnesses) for finding in findings], weight=3
        ),
        optional("epoch", "epoch", "integer", [finding.epoch for finding in findings], weight=8),
        optional(
            "step_lo", "first step", "integer", [finding.step_lo for finding in findings], weight=7
        ),
        optional(
            "step_hi", "last step", "integer", [finding.step_hi for finding in findings], weight=7
        ),
        optional(
            "start_s", "start", "instant", [finding.start_ps for finding in findings], weight=5
        ),
        optional("end_s", "end", "instant", [finding.end_ps for finding in findings], weight=5),
        optional(
            "delta_watts",
            "power",
            "number",
            [finding.delta_watts for finding in findings],
            unit="W",
            weight=6,
        ),
        optional(
            "lo_watts",
            "from",
            "number",
            [finding.lo_watts for finding in findings],
            unit="W",
            weight=2,
        ),
        optional(
            "hi_watts",
            "to",
            "number",
            [finding.hi_watts for finding in findings],
            unit="W",
            weight=2,
        ),
        optional(
            "delta_joules",
            "energy",
            "number",
            [finding.delta_joules for finding in findings],
            unit="J",
            weight=6,
        ),
        optional(
            "delta_s",
            "time",
            "number",
            [finding.delta_seconds for finding in findings],
            unit="s",
            weight=6,
        ),
        optional("p", "p", "number", [finding.p for finding in findings], weight=3),
        text_column("badge", "badge", [finding.badge.value for finding in findings], weight=4),
        optional(
            "explained", "explained", "flag", [finding.explained for finding in findings], weight=3
        ),
        text_column("text", "what", [finding.text for finding in findings], weight=9),
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
