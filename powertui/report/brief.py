"""`powertui report --brief`: what matters of the runs in at most 4 kB of JSON.

For scripts and assistants: every figure has its badge, or the reason why there is none, and the
next command is named. What does not fit is counted: ops are left out first, then findings and
conclusions, then runs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from powertui import __version__
from powertui.data import elsewhere, logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.conclusions.conclusion import Conclusion
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_S, Steps
from powertui.data.opened import Opened, Profile
from powertui.data.tools import op_stats
from powertui.data.training.training import Trainings
from powertui.plain import plain
from powertui.report import text
from powertui.report.step_facts import Facts

MAX_BYTES = 4096  # with the line end
# Chosen so that an ordinary run fits into `MAX_BYTES`; not measured.
_MAX_RUNS = 20  # that are read; the others are counted
_MAX_EPOCHS = 4
_MAX_OPS = 8
_MAX_FINDINGS = 8
_MAX_CONCLUSIONS = 5
_MAX_WARNINGS = 3
_MAX_NAME_CHARACTERS = 120
# How rows leave the document until it fits: from which list, as long as it has more than how many.
_SHORTENING = (
    ("top_ops", 3),
    ("findings", 1),
    ("conclusions", 2),
    ("top_ops", 0),
    ("notes", 0),
    ("warnings", 1),
    ("conclusions", 1),
    ("warnings", 0),
)


def tell(path: str, name: str | None, reading: ReadOptions, aligning: Aligning) -> int:
    """Print it. Exit code 3 when nothing of what was named could be read."""
    scan = logdir.scan(path)
    entries = scan.chosen(name)
    trainings = Trainings(scan, reading, aligning)
    runs = [_run(opened, aligning) for opened in trainings.each(entries[:_MAX_RUNS])]
    document = {
        "powertui": __version__,
        "path": plain(path, 300),
        "runs": runs,
        "runs_left_out": len(entries) - len(runs),
        "next": _next(path, runs, len(entries), reading),
    }
    text.out(within(document))
    return 0 if any("error" not in run for run in runs) else 3


def within(document: Facts, max_bytes: int = MAX_BYTES) -> str:
    """The document as JSON of fewer bytes than that, the line end to come; rows are left out."""
    line = _dense_json(document)
    while len(line.encode()) >= max_bytes:
        runs = document["runs"]
        if not _shorten(runs):
            if len(runs) <= 1:  # one run alone does not fit
                left_out = document["runs_left_out"] + len(runs)
                empty = {"runs": [], "runs_left_out": left_out, "path": "", "next": ""}
                return _dense_json({**document, **empty})
            runs.pop()
            document["runs_left_out"] += 1
        line = _dense_json(document)
    return line


def _dense_json(document: Facts) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _shorten(runs: list[Facts]) -> bool:
    """Take a row from the longest list; False when there is none to take."""
    for key, min_rows in _SHORTENING:
        lengths = [len(run.get(key, ())) for run in runs]
        if max(lengths, default=0) <= min_rows:
            continue
        run = runs[lengths.index(max(lengths))]
        run[key].pop()
        left_out = f"{key}_left_out"
        run[left_out] = run.get(left_out, 0) + 1
        return True
    return False


def _run(opened: Opened, aligning: Aligning) -> Facts:
    run, problem = opened.run_or_problem()
    facts: Facts = {"name": plain(opened.name, _MAX_NAME_CHARACTERS)}
    if run is None or not (run.traces or run.power or run.scalars):
        return {**facts, "error": plain(problem or "nothing readable was found", 200)}
    if not run.traces:
        facts |= {"profile": None, "power_logs": len(run.power)}
        return facts | _conclusions(opened, aligning)
    # The host that was recorded longest stands for the run; the others are named.
    spans = [trace.span[1] - trace.span[0] for trace in run.traces]
    profile = opened.profiles[spans.index(max(spans))]
    steps = profile.steps
    facts |= _conclusions(opened, aligning)
    facts |= {
        "host": plain(profile.host, _MAX_NAME_CHARACTERS),
        "hosts": len(run.traces),
        "devices": len(profile.trace.devices),
        "duration_s": _seconds(max(spans)),
        "steps": len(steps),
        "steps_marked_by": plain(steps.source, _MAX_NAME_CHARACTERS) or None,
    }
    if len(steps):
        facts["step_s"] = _step_lengths(steps, profile.epochs.tracing)
    facts |= _energy(profile, aligning)
    facts |= _findings(profile, aligning)
    facts |= _warnings(opened)
    return facts | {"top_ops": _ops(profile)}


def _conclusions(opened: Opened, aligning: Aligning) -> Facts:
    """The first conclusions, the most important first."""
    conclusions = run_conclusions(opened, aligning)
    shown = conclusions.items[:_MAX_CONCLUSIONS]
    facts: Facts = {"conclusions": [_conclusion(conclusion) for conclusion in shown]}
    if len(conclusions) > len(shown):
        facts["conclusions_left_out"] = len(conclusions) - len(shown)
    if not shown:
        facts["looked_at"] = plain(conclusions.looked_at, 200)
    return facts


def _conclusion(conclusion: Conclusion) -> Facts:
    return {
        "kind": conclusion.kind.value,
        "sentence": plain(conclusion.sentence, 300),
        "share": _six_digits(conclusion.cost.share),
        "joules": _six_digits(conclusion.cost.joules),
        "confidence": conclusion.confidence.value,
        "next": plain(conclusion.next, 160),
    }


def _warnings(opened: Opened) -> Facts:
    """What could not be read or believed; no key where there is nothing."""
    warnings = opened.warnings
    if not warnings:
        return {}
    facts: Facts = {
        "warnings": [
            plain(elsewhere.warning_text(warning), 200) for warning in warnings[:_MAX_WARNINGS]
        ]
    }
    if len(warnings) > _MAX_WARNINGS:
        facts["warnings_left_out"] = len(warnings) - _MAX_WARNINGS
    return facts


def _step_lengths(steps: Steps, tracing: tuple[int, int] | None) -> Facts:
    lengths = steps.lengths()
    is_usual = steps.begin_outside(tracing)
    has_length = lengths >= 0
    known = sorted(lengths[has_length & is_usual].tolist() or lengths[has_length].tolist())
    median = known[len(known) // 2]
    longest = int(lengths.argmax())
    return {
        "median": _seconds(median),
        "longest": _seconds(int(lengths[longest])),
        "longest_step": int(steps.number[longest]),
    }


def _energy(profile: Profile, aligning: Aligning) -> Facts:
    energies = account.energy_account(profile, aligning)
    epochs = []
    for epoch in energies.epoch_energies[:_MAX_EPOCHS]:
        epochs.append({"epoch": epoch.number, **_joules(epoch.energy)})
    placed = None
    alignment = energies.alignment
    if alignment is not None:
        placed = {"status": alignment.status, "by": plain(alignment.source, 60)}
    return {
        "energy": _joules(energies.energy(*energies.trace.span)),
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
        "joules": _six_digits(energy.joules),
        "lo": _six_digits(energy.lo),
        "hi": _six_digits(energy.hi),
        "badge": energy.badge.value,
    }


def _findings(profile: Profile, aligning: Aligning) -> Facts:
    findings = account.findings(profile, aligning)
    shown = findings.findings[:_MAX_FINDINGS]
    facts: Facts = {"findings": [_finding(finding) for finding in shown]}
    if len(findings.findings) > len(shown):
        facts["findings_left_out"] = len(findings.findings) - len(shown)
    notes = filter(None, (findings.could, findings.reason))
    shortened = [plain(note, 200) for note in notes]
    if shortened:
        facts["notes"] = shortened
    return facts


def _finding(finding: Finding) -> Facts:
    return {
        "what": plain(finding.text, 240),
        "epoch": finding.epoch,
        "steps": [finding.step_lo, finding.step_hi],
        "start_s": _seconds(finding.start_ps),
        "end_s": _seconds(finding.end_ps),
        "watts": _six_digits(finding.delta_watts),
        "joules": _six_digits(finding.delta_joules),
        "seconds": _six_digits(finding.delta_seconds),
        "p": _six_digits(finding.p),
        "badge": finding.badge.value,
    }


def _ops(profile: Profile) -> list[Facts]:
    """The ops that took most time, of the devices where there are any, else of the host.

    Ops that only hold others are left out, and events whose names a cut or damaged file lost: their
    number tells nobody what they are.
    """
    stats = op_stats.op_stats(profile.trace)
    order = stats.order("self")
    is_shown = ~stats.wrappers[order]
    side = "host"
    if stats.on_device.any():
        side = "device"
        is_shown &= stats.on_device[order]
    lost_names = {profile.trace.names.full(name) for name in profile.trace.lost_names}
    ops: list[Facts] = []
    for row in order[is_shown].tolist():
        if len(ops) == _MAX_OPS:
            break
        if lost_names and stats[row].name in lost_names:
            continue
        op = {
            "name": plain(stats[row].name, _MAX_NAME_CHARACTERS),
            "count": int(stats.count[row]),
            "self_s": _seconds(int(stats.self_time[row])),
            f"share_of_{side}": _six_digits(float(stats.share[row])),
        }
        ops.append(op)
    return ops


def _next(path: str, runs: Sequence[Facts], count: int, reading: ReadOptions) -> str:
    """The command to ask next, of the same logs."""
    words = [path]
    for log in reading.power:
        words += ["--power", log]
    where = " ".join(map(shlex.quote, words))
    if any(run.get("findings") for run in runs):
        return f"powertui report {where} --tool findings --json"
    if count > 1:
        return f"powertui report {where} --run NAME --brief"
    if runs and runs[0].get("steps"):
        return f"powertui report {where} --tool step_ops --json"
    return f"powertui doctor {where}"


def _seconds(ps: int) -> float:
    return _six_digits(ps / PS_PER_S) or 0.0


def _six_digits(value: float | None) -> float | None:
    """Short enough for 4 kB, and more than any clock or sensor is good for."""
    if value is None:
        return None
    return float(f"{value:.6g}")
