"""`powertui report --brief`: what matters of the runs in at most 4 kB of JSON, for scripts and
assistants, with the next command.

Every figure has its badge or the reason why there is none. What does not fit is counted, least
important first: ops, then findings, then runs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from powertui import __version__
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.integrate import Energy
from powertui.data.model import PS_PER_S
from powertui.data.opened import Opened, Profile
from powertui.data.tools import op_stats
from powertui.data.training.training import Trainings
from powertui.plain import plain
from powertui.report import text
from powertui.report.step_facts import Facts
from powertui.report.summary import load

MOST = 4096  # bytes, with the line end
_LOOKED_INTO = 20  # runs that are read; the others are counted
_OPS, _FINDINGS = 8, 8
_LONG = 120  # characters of one name


def tell(path: str, name: str | None, reading: ReadOptions, aligning: Aligning) -> int:
    """Print it. Exit code 3 when nothing of what was named could be read."""
    scan = logdir.scan(path)
    entries = scan.chosen(name)
    runs = [
        _run(opened, aligning)
        for opened in Trainings(scan, reading, aligning).each(entries[:_LOOKED_INTO])
    ]
    document = {
        "powertui": __version__,
        "path": plain(path, 300),
        "runs": runs,
        "runs_left_out": len(entries) - len(runs),
    }
    document["next"] = _next(path, runs, len(entries))
    text.out(within(document))
    return 0 if any("error" not in run for run in runs) else 3


def within(document: Facts, most: int = MOST) -> str:
    """As JSON in at most so many bytes."""
    while True:
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        if len(line.encode()) < most:
            return line
        if not _shortened(document["runs"]):
            if len(document["runs"]) <= 1:
                document = {
                    **document,
                    "runs": [],
                    "runs_left_out": document["runs_left_out"] + len(document["runs"]),
                    "path": "",
                    "next": "",
                }
                return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
            document["runs"].pop()
            document["runs_left_out"] += 1


def _shortened(runs: list[Facts]) -> bool:
    """One row less of the longest list, ops before findings; False when there is none to take."""
    for list_, least in (("top_ops", 3), ("findings", 1), ("top_ops", 0), ("notes", 0)):
        longest = max(runs, key=lambda run: len(run.get(list_, ())), default=None)
        if longest is not None and len(longest.get(list_, ())) > least:
            longest[list_].pop()
            longest[f"{list_}_left_out"] = longest.get(f"{list_}_left_out", 0) + 1
            return True
    return False


def _run(opened: Opened, aligning: Aligning) -> Facts:
    run, problem = load(opened)
    facts: Facts = {"name": plain(opened.name, _LONG)}
    if run is None or not (run.traces or run.power or run.scalars):
        return {**facts, "error": plain(problem or "nothing readable was found", 200)}
    if not run.traces:
        return {**facts, "profile": None, "power_logs": len(run.power)}
    # The host that was recorded longest stands for the run; the others are named.
    spans = [trace.span[1] - trace.span[0] for trace in run.traces]
    profile = opened.profiles[spans.index(max(spans))]
    steps = profile.steps
    facts |= {
        "host": plain(profile.host, _LONG),
        "hosts": len(run.traces),
        "devices": len(profile.trace.devices),
        "duration_s": _s(max(spans)),
        "steps": len(steps),
        "steps_marked_by": plain(steps.source, _LONG) or None,
    }
    if len(steps):
        length = steps.lengths()
        usual = sorted(length.tolist())[len(length) // 2]
        at = int(length.argmax())
        facts["step_s"] = {
            "median": _s(usual),
            "longest": _s(int(length[at])),
            "longest_step": int(steps.number[at]),
        }
    return (
        facts
        | _energy(profile, aligning)
        | _findings(profile, aligning)
        | {"top_ops": _ops(profile)}
    )


def _energy(profile: Profile, aligning: Aligning) -> Facts:
    energies = account.energy_account(profile, aligning)
    lo, hi = energies.trace.span
    epochs = [
        {"epoch": epoch.number, **_joules(epoch.energy)} for epoch in energies.epoch_energies[:4]
    ]
    alignment = energies.alignment
    placed = (
        None
        if alignment is None
        else {"status": alignment.status, "by": plain(alignment.source, 60)}
    )
    return {
        "energy": _joules(energies.energy(lo, hi)),
        "epochs": epochs,
        "a_step": _joules(energies.per_step(None)),
        "power_placed": placed,
    }


def _joules(energy: Energy | None) -> Facts:
    if energy is None:
        return {"joules": None, "why": "no power log belongs to this host"}
    if not energy.resolved:
        return {"joules": None, "why": plain(energy.reason, 160)}
    return {
        "joules": _round(energy.joules),
        "lo": _round(energy.lo),
        "hi": _round(energy.hi),
        "badge": energy.badge.value,
    }


def _findings(profile: Profile, aligning: Aligning) -> Facts:
    findings = account.findings(profile, aligning)
    out: Facts = {"findings": [_finding(finding) for finding in findings.findings[:_FINDINGS]]}
    if len(findings.findings) > _FINDINGS:
        out["findings_left_out"] = len(findings.findings) - _FINDINGS
    notes = [plain(note, 200) for note in (findings.could, findings.reason) if note]
    return out | ({"notes": notes} if notes else {})


def _finding(finding: Finding) -> Facts:
    return {
        "what": plain(finding.text, 240),
        "epoch": finding.epoch,
        "steps": [finding.step_lo, finding.step_hi],
        "start_s": _s(finding.start_ps),
        "end_s": _s(finding.end_ps),
        "watts": _round(finding.delta_watts),
        "joules": _round(finding.delta_joules),
        "seconds": _round(finding.delta_seconds),
        "p": _round(finding.p),
        "badge": finding.badge.value,
    }


def _ops(profile: Profile) -> list[Facts]:
    """Those that took most time: of the devices where there are any, else of the host; without
    those that only hold others.
    """
    stats = op_stats.op_stats(profile.trace)
    order = stats.order("self")
    shown = ~stats.wrappers[order]
    if stats.on_device.any():
        shown &= stats.on_device[order]
    side = "device" if stats.on_device.any() else "host"
    return [
        {
            "name": plain(stats[row].name, _LONG),
            "count": int(stats.count[row]),
            "self_s": _s(int(stats.self_time[row])),
            f"share_of_{side}": _round(float(stats.share[row])),
        }
        for row in order[shown][:_OPS].tolist()
    ]


def _next(path: str, runs: Sequence[Facts], count: int) -> str:
    where = shlex.quote(path)
    if any(run.get("findings") for run in runs):
        return f"powertui report {where} --tool findings --json"
    if count > 1:
        return f"powertui report {where} --run NAME --brief"
    if runs and runs[0].get("steps"):
        return f"powertui report {where} --tool step_ops --json"
    return f"powertui doctor {where}"


def _s(ps: int) -> float:
    return _round(ps / PS_PER_S) or 0.0


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
