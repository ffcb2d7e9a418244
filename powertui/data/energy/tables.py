"""Joules of epochs and windows, and what stands out, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui.data.asked import Aligning
from powertui.data.columns import Column, Field, columns_of, text_column
from powertui.data.energy import account, window_energy
from powertui.data.energy.findings.finding import Finding, Findings
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.window_energy import MarkEnergy
from powertui.data.model import PS_PER_NS, PS_PER_S, Mark
from powertui.data.opened import Opened, Profile
from powertui.data.table import Fact, Place, Table
from powertui.named_tuples import NamedTuple

NO_POWER = "no power log covers this profile"


class _EnergyRow(NamedTuple):
    """A stretch with a name, and what it drew."""

    name: str
    epoch: int | None  # the program's own number
    start: int  # ps
    end: int
    energy: Energy | None


_WINDOW_FIELDS: tuple[Field[_EnergyRow], ...] = (
    Field("window", "window", "text", lambda row: row.name, weight=9),
    Field("epoch", "epoch", "integer", lambda row: row.epoch, weight=0),
    Field("start_s", "start", "instant", lambda row: row.start, weight=3),
    Field("end_s", "end", "instant", lambda row: row.end, weight=3),
)


def energies(
    profile: Profile,
    aligning: Aligning | None = None,
    *,
    window: tuple[int, int] | None = None,
    epoch: int | None = None,
) -> Table:
    """Every epoch and the whole profile; or one epoch by its own number; or one window (ps)."""
    host_account = account.energy_account(profile, aligning)
    rows: list[_EnergyRow] = []
    if window is not None:
        rows.append(_EnergyRow("window", None, *window, host_account.of_window(*window)))
    else:
        for part in host_account.epoch_energies:
            if epoch is None or epoch == part.number:
                name = f"epoch {part.number}"
                rows.append(
                    _EnergyRow(
                        name=name,
                        epoch=part.number,
                        start=part.lo,
                        end=part.hi,
                        energy=part.energy,
                    )
                )
        if epoch is None:
            lo, hi = profile.trace.span
            rows.append(
                _EnergyRow(
                    name="whole",
                    epoch=None,
                    start=lo,
                    end=hi,
                    energy=host_account.energy(lo, hi),
                )
            )

    def place(row: int) -> Place:
        return Place(
            run=profile.opened.name,
            host=profile.index,
            lo=rows[row].start,
            hi=rows[row].end,
        )

    return replace(NO_ENERGIES, columns=_energy_columns(rows), place=place)


def _energy_columns(rows: Sequence[_EnergyRow]) -> tuple[Column, ...]:
    return (*columns_of(rows, _WINDOW_FIELDS), *figures([row.energy for row in rows]))


_FIGURES: tuple[Field[Energy | None], ...] = (
    Field("joules", "energy", "number", lambda part: part and part.joules, "J", 9),
    Field("lo", "from", "number", lambda part: part and part.lo, "J", 6),
    Field("hi", "to", "number", lambda part: part and part.hi, "J", 6),
    Field("mean_watts", "mean", "number", lambda part: part and part.mean_w, "W", 7),
    Field("coverage", "covered", "share", lambda part: part and part.coverage, weight=4),
    Field("badge", "badge", "text", lambda part: _badge(part), weight=8),
    Field("reason", "why unresolved", "text", lambda part: _reason(part), weight=5),
)
_FURTHER_FIGURES: tuple[Field[Energy | None], ...] = (
    Field("max_watts", "max", "number", lambda part: part and part.max_w, "W", 2),
    Field(
        "active_joules", "above idle", "number", lambda part: part and part.active_joules, "J", 2
    ),
)


def joules_fact(id: str, label: str, measured: Energy, parts: int = 1) -> Fact:
    """The joules of one of so many equal parts of an energy that is resolved."""
    assert measured.joules is not None
    lo = None if measured.lo is None else measured.lo / parts
    hi = None if measured.hi is None else measured.hi / parts
    return Fact(
        id=id,
        label=label,
        value=measured.joules / parts,
        kind="number",
        unit="J",
        badge=measured.badge,
        lo=lo,
        hi=hi,
    )


def no_joules_fact(id: str, label: str, why: str) -> Fact:
    """Joules that are not known, and why."""
    return Fact(id=id, label=label, value=None, kind="number", unit="J", why=why)


def _badge(part: Energy | None) -> str | None:
    return part.badge.value if part and part.resolved else None


def _reason(part: Energy | None) -> str:
    return part.reason if part else NO_POWER


def figures(energies: Sequence[Energy | None]) -> tuple[Column, ...]:
    """The columns that every table of energies has.

    What is not resolved has no figure, but a reason.
    """
    return columns_of(energies, _FIGURES)


def all_figures(energies: Sequence[Energy | None]) -> tuple[Column, ...]:
    """The same, with the highest reading and the energy above idle."""
    return columns_of(energies, (*_FIGURES, *_FURTHER_FIGURES))


def _log_s(ns: int) -> float:
    return ns * PS_PER_NS / PS_PER_S


def _log_end_s(mark: Mark) -> float:
    """Where a window ends on the log's clock; a moment ends where it starts."""
    return _log_s(mark.end_ns or mark.start_ns)


_MARK_FIELDS: tuple[Field[MarkEnergy], ...] = (
    Field("window", "window", "text", lambda row: row.mark.name, weight=9),
    Field("log_start_s", "start", "number", lambda row: _log_s(row.mark.start_ns), "s", 3),
    Field("log_end_s", "end", "number", lambda row: _log_end_s(row.mark), "s", 3),
)


def windows(opened: Opened) -> Table:
    """The windows that recordings of this run name, on the clock of each log."""
    rows = opened.cached(("windows",), lambda: window_energy.window_energies(opened.run.power))
    return Table(
        id="windows",
        title="Windows of the recording",
        columns=(
            *columns_of(rows, _MARK_FIELDS),
            *figures([row.energy for row in rows]),
            text_column("log", "log", [row.path for row in rows], weight=0),
        ),
        empty="No recording names a window.",
        noun="window",
    )


def findings(result: Findings, profile: Profile) -> Table:
    """What stands out, the largest energy first."""

    def place(row: int) -> Place:
        return Place(
            run=profile.opened.name,
            host=profile.index,
            lo=result.findings[row].start_ps,
            hi=result.findings[row].end_ps,
        )

    return replace(
        NO_FINDINGS,
        columns=columns_of(result.findings, _FINDING_FIELDS),
        place=place,
    )


_FINDING_FIELDS: tuple[Field[Finding], ...] = (
    Field("kind", "kind", "text", lambda finding: finding.kind, weight=4),
    Field("witness", "evidence", "text", lambda finding: ", ".join(finding.witnesses), weight=3),
    Field("epoch", "epoch", "integer", lambda finding: finding.epoch, weight=8),
    Field("step_lo", "first step", "integer", lambda finding: finding.step_lo, weight=7),
    Field("step_hi", "last step", "integer", lambda finding: finding.step_hi, weight=7),
    Field("start_s", "start", "instant", lambda finding: finding.start_ps, weight=5),
    Field("end_s", "end", "instant", lambda finding: finding.end_ps, weight=5),
    Field("delta_watts", "power", "number", lambda finding: finding.delta_watts, "W", 6),
    Field("lo_watts", "from", "number", lambda finding: finding.lo_watts, "W", 2),
    Field("hi_watts", "to", "number", lambda finding: finding.hi_watts, "W", 2),
    Field("delta_joules", "energy", "number", lambda finding: finding.delta_joules, "J", 6),
    Field("delta_s", "time", "number", lambda finding: finding.delta_seconds, "s", 6),
    Field("p", "p", "number", lambda finding: finding.p, weight=3),
    Field("badge", "badge", "text", lambda finding: finding.badge.value, weight=4),
    Field("explained", "explained", "flag", lambda finding: finding.explained, weight=3),
    Field("text", "what", "text", lambda finding: finding.text, weight=9),
)


NO_ENERGIES = Table(
    id="energy",
    title="Energy",
    columns=_energy_columns([]),
    empty="No epoch is in this profile.",
    key=("window",),
    noun="window",
)
NO_FINDINGS = Table(
    id="findings",
    title="Findings",
    columns=columns_of((), _FINDING_FIELDS),
    noun="finding",
    empty="No findings.",
)
