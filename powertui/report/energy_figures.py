"""Joules and findings as figures: in JSON, as cells of CSV and as words for a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from powertui import units
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.energy.findings import finding_texts
from powertui.data.energy.findings.finding import DetectionLimit, Finding, Findings
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_S
from powertui.report.page_style import Style

NO_POWER = "no power log was found with this run; name one with --power FILE"
NO_POWER_TAKEN = "no power log beside this run was taken"

# Of a power log of a week that switches every hour there are fifty: a screen holds a dozen. Chosen.
_MAX_BRIEF_FINDINGS = 12

# The columns of CSV that `csv_cells` fills.
CSV_COLUMNS = ("joules", "lo_joules", "hi_joules", "mean_watts", "badge", "reason")


# ── for programs ─────────────────────────────────────────────────────────────────────────────────


def json_energy(energy: Energy | None, why: str = NO_POWER) -> dict[str, Any]:
    """Joules with all that belongs to them; where there are none, null for each key, and why."""
    if energy is None:
        return {
            "joules": None,
            "mean_watts": None,
            "max_watts": None,
            "lo": None,
            "hi": None,
            "held_joules": None,
            "gain_joules": None,
            "idle_joules": None,
            "active_joules": None,
            "coverage": None,
            "extrapolated": None,
            "badge": None,
            "reason": why,
        }
    return {
        "joules": energy.joules,
        "mean_watts": energy.mean_w,
        "max_watts": energy.max_w,
        "lo": energy.lo,
        "hi": energy.hi,
        "held_joules": energy.other_joules,
        "gain_joules": energy.gain_j,
        "idle_joules": energy.idle_joules,
        "active_joules": energy.active_joules,
        "coverage": energy.coverage,
        "extrapolated": energy.is_filled,
        "badge": _badge_word(energy),
        "reason": energy.reason or None,
    }


def json_rows(rows: Sequence[EnergyRow]) -> list[dict[str, Any]]:
    """Rows that add up, level by level; the last one is all of it."""
    shown = []
    for row in rows:
        facts = {
            "kind": row.kind,
            "name": row.name,
            "level": row.level,
            "epoch": row.epoch,
            "start_s": row.start / PS_PER_S if row.start is not None else None,
            "seconds": row.length / PS_PER_S,
            "steps": row.steps,
            **json_energy(row.energy),
        }
        shown.append(facts)
    return shown


def csv_cells(energy: Energy | None, why: str = NO_POWER) -> list[Any]:
    """The cells of `CSV_COLUMNS`. An empty cell is unknown, and the last one says why."""
    if energy is None:
        return [None, None, None, None, None, why]
    return [energy.joules, energy.lo, energy.hi, energy.mean_w, _badge_word(energy), energy.reason]


def _badge_word(energy: Energy) -> str | None:
    """How sure the joules are; None where they could not be resolved."""
    return energy.badge.value if energy.resolved else None


def json_finding(finding: Finding) -> dict[str, Any]:
    """One stretch whose power or time differs."""
    share_lo, share_hi = finding.share if finding.share is not None else (None, None)
    return {
        "kind": finding.kind,
        "witness": ", ".join(finding.witnesses),
        "epoch": finding.epoch,
        "epochs": _epochs(finding),
        "step_lo": finding.step_lo,
        "step_hi": finding.step_hi,
        "start_s": finding.start_ps / PS_PER_S,
        "end_s": finding.end_ps / PS_PER_S,
        "start_lo_s": finding.start_within[0] / PS_PER_S,
        "start_hi_s": finding.start_within[1] / PS_PER_S,
        "end_lo_s": finding.end_within[0] / PS_PER_S,
        "end_hi_s": finding.end_within[1] / PS_PER_S,
        "elsewhere": _json_other_epochs(finding),
        "delta_watts": finding.delta_watts,
        "lo_watts": finding.lo_watts,
        "hi_watts": finding.hi_watts,
        "delta_joules": finding.delta_joules,
        "lo_joules": finding.lo_joules,
        "hi_joules": finding.hi_joules,
        "delta_seconds": finding.delta_seconds,
        "p": finding.p,
        "badge": finding.badge.value,
        "explained": finding.explained,
        "ops": _json_ops(finding),
        "text": finding.text,
        "step_half": finding.step_half,
        "share_lo": share_lo,
        "share_hi": share_hi,
    }


def _json_other_epochs(finding: Finding) -> list[dict[str, Any]]:
    """Where the same batches were in other epochs."""
    stretches = []
    for epoch, start_ps, end_ps in finding.elsewhere:
        stretch = {"epoch": epoch, "start_s": start_ps / PS_PER_S, "end_s": end_ps / PS_PER_S}
        stretches.append(stretch)
    return stretches


def _json_ops(finding: Finding) -> list[dict[str, Any]]:
    ops = []
    for op in finding.ops:
        seconds = {"seconds": op.more_s, "usual_s": op.usual_s, "here_s": op.here_s}
        ops.append({"name": op.name, **seconds})
    return ops


def _epochs(finding: Finding) -> list[int]:
    """The epochs that it lies in."""
    if finding.epochs:
        return list(finding.epochs)
    if finding.epoch is not None:
        return [finding.epoch]
    return []


def json_findings(findings: Findings) -> dict[str, Any]:
    """All findings, and what could have been found."""
    return {
        "findings": list(map(json_finding, findings.findings)),
        "smaller_findings": list(map(json_finding, findings.smaller)),
        "could_find": list(map(_json_limit, findings.limits)),
        "could_find_smaller": list(map(_json_limit, findings.seen)),
        "could_find_except": [{"start_s": start, "end_s": end} for start, end in findings.apart],
        "could_find_text": findings.could,
    }


def _json_limit(limit: DetectionLimit) -> dict[str, float]:
    return {"watts": limit.watts, "seconds": limit.seconds}


def notes_on(findings: Findings) -> list[str]:
    """What has to be known to read the findings, and why epochs were not compared."""
    notes = list(findings.notes)
    if findings.reason:
        notes.append(findings.reason)
    return notes


# ── for a person ─────────────────────────────────────────────────────────────────────────────────


def brief_findings(findings: Findings) -> list[str]:
    """What there is beside the first finding, which stands in the answer: one line each."""
    lines = [finding.text for finding in findings.findings[1 : 1 + _MAX_BRIEF_FINDINGS]]
    more = len(findings.findings) - 1 - len(lines)
    if more > 0:
        lines.append(f"{more} more (--verbose lists them)")
    if findings.smaller:
        lines.append(_smaller_line(findings))
    if findings.could:
        lines.append(findings.could)
    return lines


def _smaller_line(findings: Findings) -> str:
    """How many findings are too small to be listed."""
    count = len(findings.smaller)
    listed = "it" if count == 1 else "them"
    return f"{finding_texts.folded(count)} (--json lists {listed})"


def finding_lines(findings: Findings, style: Style) -> list[str]:
    """The part of a page that lists the findings."""
    lines = style.head(2, "Findings")
    if not findings.findings:
        lines.append(style.line("none"))
    for finding in findings.findings:
        lines.append(style.line(finding.text))
        lines.append(style.line(_evidence(finding), deeper=True))
    if findings.smaller:
        lines.append(style.line(_smaller_line(findings)))
    if findings.could:
        lines.append(style.line(findings.could))
    if findings.reason:
        lines.append(style.line(f"epochs were not compared: {findings.reason}"))
    lines += map(style.line, findings.notes)
    return lines


def _evidence(finding: Finding) -> str:
    """When it was, and how sure that is."""
    parts = []
    if finding.p:  # 0: it was not inferred from noise
        probability = f"p ≤ {finding.p:.2g}"
        if finding.lo_watts is not None and finding.hi_watts is not None:
            lo = units.difference(finding.lo_watts, "W")
            hi = units.difference(finding.hi_watts, "W")
            probability += f", 95 % {lo} … {hi}"
        parts.append(probability)
    parts.append(finding.badge.value)
    parts.append(f"evidence: {', '.join(finding.witnesses)}")
    cut = finding_texts.cut_clause(finding)
    if cut:
        parts.append(cut)
    start_s = finding.start_ps / PS_PER_S
    end_s = finding.end_ps / PS_PER_S
    return f"at {start_s:.2f} … {end_s:.2f} s of the trace ({'; '.join(parts)})"
