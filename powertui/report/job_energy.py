"""`powertui energy --job`: the joules of a job without a profile, and Slurm's own count of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from powertui import units
from powertui.data.asked import LogColumns
from powertui.data.energy.job_energy import JobEnergy, MachineEnergy, job_energy
from powertui.data.model import NS_PER_S
from powertui.data.power import fetched
from powertui.errors import PowertuiError, UsageError
from powertui.plain import plain
from powertui.power_server import (
    JOB_LABELS,
    POD_LABELS,
    USER_LABELS,
    JobPower,
    JobQuestion,
    JobServer,
)
from powertui.report import text
from powertui.report.page_style import style_of
from powertui.sampler import slurm_accounting
from powertui.sampler.slurm_accounting import SlurmEnergy

_LABELS = {
    "job": JOB_LABELS,
    "pod": POD_LABELS,
    "user": USER_LABELS,
}
_MAX_SUM_SENTENCES = 3  # what is added up differs between kinds of machines
_MAX_TABLE_ROWS = 40  # machines of a page; all are in JSON and CSV
_MAX_ROW_CHANNELS = 3  # of a machine, in its row
_HEADERS = ("machine", "channels", "ran for", "energy", "±", "mean")
_COLUMNS = ("machine", "channels", "start_unix_s", "end_unix_s", "joules", "half_j", "quality")


def tell(
    written: str,
    url: str,
    server: JobServer,
    sacct: str | None,
    form: str,
    unit: str,
) -> int:
    """Print the joules of a job. Raises PowertuiError."""
    question = _question(written)
    job = server.fetch_job(question)
    log = fetched.load(url, job.power, LogColumns())
    energy = job_energy(job, log.series)
    slurm, slurm_problem = _slurm(question, sacct)
    if form == "json":
        text.out(text.to_json(_as_json(written, job, energy, slurm)))
    elif form == "csv":
        text.emit_csv(text.to_csv(_COLUMNS, map(_csv_row, energy.machines)))
    else:
        lines = _page(written, job, energy, form, unit)
        lines += _slurm_lines(slurm, slurm_problem, energy, form, unit)
        text.out("\n".join(lines))
    return 0 if energy.joules is not None else 3


def _question(written: str) -> JobQuestion:
    """What --job means: 12345, pod=NAME, user=NAME or LABEL=VALUE."""
    label, sign, value = written.partition("=")
    if not sign:
        label, value = "job", written
    if not value or not label.replace("_", "a").isalnum() or not label.isascii():
        raise UsageError(
            f"--job {plain(written, 60)} is not a job.",
            hint="Write a Slurm job's number, pod=NAME, user=NAME or LABEL=VALUE.",
        )
    return JobQuestion(_LABELS.get(label, (label,)), value)


def _slurm(question: JobQuestion, sacct: str | None) -> tuple[SlurmEnergy | None, str]:
    """What Slurm counted, and why that is not known where it was asked in vain."""
    job = question.value
    if sacct is not None:
        return slurm_accounting.read_sacct(sacct, job), ""
    if question.labels != JOB_LABELS or not job.replace("_", "").isdigit():
        return None, ""
    try:
        return slurm_accounting.ask_sacct(job), ""
    except PowertuiError as error:
        return None, error.message


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def _page(
    written: str,
    job: JobPower,
    energy: JobEnergy,
    form: str,
    unit: str,
) -> list[str]:
    style = style_of(form)
    sentences = [
        _when_words(job),
        *_pauses(energy),
        _what_words(job, energy),
        *_doubts(job),
        *_sums(energy),
    ]
    lines = style.head(1, f"{_title(written)}: {_joules_words(energy, unit)}")
    lines += map(style.line, sentences)
    rows = [_row(machine, unit) for machine in energy.machines[:_MAX_TABLE_ROWS]]
    if len(rows) > 1:
        lines += style.head(2, "Machines")
    else:
        lines.append("")
    lines += style.table(_HEADERS, rows, (2, 3, 4, 5))
    hidden = len(energy.machines) - len(rows)
    if hidden:
        lines.append(style.line(f"{hidden} more: --csv or --json lists all."))
    return lines


def _title(written: str) -> str:
    return (
        plain(written.replace("=", " ", 1), 80) if "=" in written else f"job {plain(written, 60)}"
    )


def _joules_words(energy: JobEnergy, unit: str) -> str:
    joules = energy.joules
    if joules is None:
        missing = [machine for machine in energy.machines if machine.joules is None]
        return (
            f"not resolved for {len(missing)} of {len(energy.machines)} machines: "
            f"{missing[0].machine}: {missing[0].reason}"
        )
    half = energy.half
    shown = units.energy_interval(joules, joules - half, joules + half, unit)
    return f"{shown} (95 %), {energy.badge.value}"


def _when_words(job: JobPower) -> str:
    first_s = min(stretch.first_s for stretch in job.stretches)
    last_s = max(stretch.last_s for stretch in job.stretches)
    samples = f"Samples with {job.label}: {_wall(first_s)} to {_wall(last_s)}"
    # The job began and ended somewhere between two samples.
    spacing_s = max(stretch.spacing_s for stretch in job.stretches)
    spacing = f"up to {spacing_s:.3g} s"
    if any(stretch.is_running for stretch in job.stretches):
        return f"{samples}, and it is still running. It began {spacing} before."
    return f"{samples}. It began {spacing} before, and ended {spacing} after."


def _wall(unix_s: float) -> str:
    return text.wall(round(unix_s * NS_PER_S), 0)


def _pauses(energy: JobEnergy) -> list[str]:
    """How long the label had no samples while the job went on, or between two of them."""
    pauses_s = [part.last_s - part.first_s - part.ran_s for part in energy.machines]
    longest_s = max(pauses_s, default=0.0)
    if longest_s < 1.0:
        return []
    return [f"The label has no samples for up to {text.duration(longest_s)} of that: not counted."]


def _what_words(job: JobPower, energy: JobEnergy) -> str:
    """What the power is of."""
    count = sum(len(machine.channels) for machine in energy.machines)
    scopes = dict.fromkeys(scope for machine in energy.machines for scope in machine.scopes)
    names = ", ".join(scope.value for scope in scopes)
    machines = len(energy.machines)
    words = f"Power of {count} channel{'s' * (count != 1)} ({names}) of {machines} "
    words += f"machine{'s' * (machines != 1)}"
    if job.is_own:
        return f"{words}, from series that carry the label themselves: of this job alone."
    return f"{words}, which {job.carriers[0]} says the job ran on."


def _doubts(job: JobPower) -> list[str]:
    """What the joules hold that is not the job's."""
    if job.is_own:
        return []
    metric = job.carriers[0]
    if job.other_jobs:
        values = f"{job.other_jobs} other value{'s' * (job.other_jobs != 1)} of {job.label}"
        return [f"{metric} has {values} on these machines in that time: their power is in it."]
    return [f"{metric} has no other {job.label} on these machines in that time."]


def _sums(energy: JobEnergy) -> list[str]:
    """What was added up, and what was left out of it; machines of one kind share a sentence."""
    sentences = dict.fromkeys(
        part.left_out.removeprefix(f"{part.machine}: ") for part in energy.machines
    )
    sentences.pop("", None)
    return [f"Counted: {words}." for words in list(sentences)[:_MAX_SUM_SENTENCES]]


def _row(machine: MachineEnergy, unit: str) -> tuple[str, ...]:
    name = plain(machine.machine, 40)
    channels = ", ".join(plain(channel, 24) for channel in machine.channels[:_MAX_ROW_CHANNELS])
    hidden = len(machine.channels) - _MAX_ROW_CHANNELS
    if hidden > 0:
        channels += f" + {hidden} more"
    ran = text.duration(machine.ran_s)
    joules = machine.joules
    if joules is None:
        return name, channels, ran, "not resolved", "", ""
    half = _machine_half(machine)
    mean = ""
    if machine.ran_s:
        mean = units.quantity(joules / machine.ran_s, "W")
    shown = units.energy(joules, unit, half)
    error = units.energy_error_alone(half, joules, unit)
    return name, channels, ran, shown, error, mean


def _machine_half(machine: MachineEnergy) -> float:
    """Half of one machine's 95 % interval."""
    return JobEnergy((machine,), machine.badge).half


def _slurm_lines(
    slurm: SlurmEnergy | None,
    problem: str,
    energy: JobEnergy,
    form: str,
    unit: str,
) -> list[str]:
    """Slurm's own count beside ours, with its known faults."""
    if slurm is None and not problem:
        return []
    style = style_of(form)
    if slurm is None:
        return [*style.head(2, f"Slurm's own count: not known. {problem}")]
    if slurm.joules is None:
        return [*style.head(2, "Slurm's own count: none"), *map(style.line, slurm.faults)]
    words = f"Slurm's own count: {units.energy(slurm.joules, unit)}"
    if slurm.step:
        words += f" (step {plain(slurm.step, 40)})"
    if energy.joules:
        share = slurm.joules / energy.joules - 1
        side = "more" if share >= 0 else "less"
        words += f", {units.percent(abs(share), 1)} {side} than the power of the server gives"
    return [*style.head(2, f"{words}."), *map(style.line, slurm.faults)]


# ── JSON and CSV ─────────────────────────────────────────────────────────────────────────────────


def _as_json(
    written: str,
    job: JobPower,
    energy: JobEnergy,
    slurm: SlurmEnergy | None,
) -> Mapping[str, Any]:
    joules = energy.joules
    return {
        "job": written,
        "label": job.label,
        "metrics": job.carriers,
        "own_series": job.is_own,
        "other_jobs": job.other_jobs,
        "joules": joules,
        "lo": None if joules is None else joules - energy.half,
        "hi": None if joules is None else joules + energy.half,
        "quality": energy.badge.value,
        "machines": [_machine_json(machine) for machine in energy.machines],
        "slurm": None if slurm is None else slurm._asdict(),
    }


def _machine_json(machine: MachineEnergy) -> Mapping[str, Any]:
    return {
        "machine": machine.machine,
        "channels": machine.channels,
        "scopes": [scope.value for scope in machine.scopes],
        "first_unix_s": machine.first_s,
        "last_unix_s": machine.last_s,
        "ran_s": machine.ran_s,
        "is_running": machine.is_running,
        "joules": machine.joules,
        "half": None if machine.joules is None else _machine_half(machine),
        "quality": machine.badge.value,
        "reason": machine.reason,
    }


def _csv_row(machine: MachineEnergy) -> Sequence[Any]:
    half = None if machine.joules is None else _machine_half(machine)
    return (
        machine.machine,
        " + ".join(machine.channels),
        machine.first_s,
        machine.last_s,
        machine.joules,
        half,
        machine.badge.value,
    )
