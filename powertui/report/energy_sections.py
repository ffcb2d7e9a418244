"""The parts of a page of energies below its answer: what adds up, each device, the windows, what
differs; with `--verbose` the sensors, idle power and the alignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from powertui import units
from powertui.data.energy import badges
from powertui.data.energy import sensor as sensors
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.log_alignment import Alignment
from powertui.data.energy.trace_account import Account
from powertui.data.model import PS_PER_NS, PS_PER_S
from powertui.report.energy_figures import brief_findings, finding_lines
from powertui.report.energy_table import PageWriter
from powertui.report.energy_words import HEADINGS, EnergyWords
from powertui.report.trace_energy import TraceEnergy

# Rows of the text; JSON lists everything. Chosen, not measured.
_MAX_WINDOWS = 50
_MAX_SENSORS = 64  # a rack of GPUs; logs of whole clusters have thousands
_MAX_ROWS = 40  # of a table: about a screen


# ── what adds up ─────────────────────────────────────────────────────────────────────────────────


def rows_table(rows: Sequence[EnergyRow], writer: PageWriter) -> list[str]:
    """The rows that add up, and why some of them have no joules."""
    parts = rows[:-1]
    table = []
    for row in (*parts[:_MAX_ROWS], *rows[-1:]):  # the last one is the sum
        table.append(_row_cells(row, writer.words))
    headers = ("", "from", "time", "steps", "a step", *HEADINGS)
    lines = writer.table(headers, table)
    lines += writer.omitted(len(parts), _MAX_ROWS)
    # Many rows have no joules for the same reason, which is given once.
    names_by_reason: dict[str, str] = {}
    for row in parts:
        energy = row.energy
        if energy is not None and not energy.resolved:
            names_by_reason[energy.reason] = row.name
    for reason, name in names_by_reason.items():
        lines.append(writer.line(f"{name}: {reason}"))
    return lines


def _row_cells(row: EnergyRow, words: EnergyWords) -> list[str]:
    indent = "  " * row.level
    start = ""
    if row.start is not None:
        start = f"{row.start / PS_PER_S:.2f} s"
    steps = ""
    if row.steps:
        steps = f"{row.steps:,}"
    return [
        indent + row.name,
        start,
        units.duration(row.length),
        steps,
        _per_step(row, words),
        *words.cells(row.energy),
    ]


def _per_step(row: EnergyRow, words: EnergyWords) -> str:
    """The mean joules of a step of a row."""
    mean = row.per_step
    if mean is not None:
        if mean.joules is None:
            return ""
        return words.plain_joules(mean.joules, mean.half)
    energy = row.energy
    if not row.steps or energy is None or not energy.joules:
        return ""
    joules = energy.joules / row.steps
    half = energy.half / row.steps
    return words.plain_joules(joules, half)


def unresolved_steps(account: Account, writer: PageWriter) -> list[str]:
    """Why no step has joules of its own, where none has even a mean; every one with `--verbose`."""
    if writer.is_verbose:
        steps = account.step_energies
        unresolved = [step for step in steps if not step.resolved]
        if not unresolved:
            return []
        count = f"{len(unresolved)} of {len(steps)}"
        return [writer.line(f"single steps: {count} {unresolved[0].reason}")]
    mean = account.per_step(None)
    profile = account.energy(*account.trace.span)
    if mean is None or mean.resolved or profile is None or not profile.resolved:
        return []
    return [writer.line(f"a step: {mean.reason}")]


def findings_section(findings: Findings, writer: PageWriter) -> list[str]:
    """What differs: the costliest, or with `--verbose` everything and what could not be checked."""
    if writer.is_verbose:
        return finding_lines(findings, writer.style)
    lines = writer.lines(brief_findings(findings))
    if not lines:
        return []
    return writer.style.head(2, "Findings") + lines


def devices_section(trace: TraceEnergy, account: Account, writer: PageWriter) -> list[str]:
    """Joules of each GPU of the trace, and where it is not sure which channel is its own."""
    if not trace.devices:
        return []
    rows: list[list[str]] = []
    pairs_by_doubt: dict[str, list[str]] = {}
    for device in trace.devices:
        name = device.pair.device
        why = device.pair.why
        channel = ""
        if device.channel is not None:
            channel = device.channel.sensor.channel
        if device.account is None:
            rows.append([name, channel, "", "–", "", "", "", "", why])
            continue
        mean = device.per_step(None)
        per_step = ""
        if mean is not None and mean.joules is not None:
            per_step = writer.words.plain_joules(mean.joules, mean.half)
        profile = device.energy(*account.trace.span)
        rows.append([name, channel, per_step, *writer.words.cells(profile)])
        if not device.pair.sure:
            pairs_by_doubt.setdefault(why, []).append(f"{channel} for {name}")
    lines = writer.style.head(2, "Devices")
    lines += writer.table(("", "sensor", "a step", *HEADINGS), rows)
    for why, pairs in pairs_by_doubt.items():
        lines.append(writer.line(f"taken: {', '.join(pairs)}: {why}"))
    return lines


def windows_section(trace: TraceEnergy, writer: PageWriter) -> list[str]:
    """The windows that the recording marked, and their joules."""
    rows = []
    for window in trace.windows[:_MAX_WINDOWS]:
        mark = window.mark
        length_ns = 0  # a mark without an end is a moment
        if mark.end_ns:
            length_ns = mark.end_ns - mark.start_ns
        length = units.duration(length_ns * PS_PER_NS)
        rows.append([mark.name, length, *writer.words.cells(window.energy)])
    lines = writer.style.head(2, "Windows of the recording")
    lines += writer.table(("", "time", *HEADINGS), rows)
    lines += writer.omitted(len(trace.windows), _MAX_WINDOWS)
    return lines


# ── the evidence ─────────────────────────────────────────────────────────────────────────────────


def alignment_section(account: Account, writer: PageWriter) -> list[str]:
    """Where the log's zero is on the trace, below a heading."""
    lines = writer.style.head(2, "Alignment")
    lines += writer.lines(alignment_words(account.alignment))
    return lines


def alignment_words(alignment: Alignment | None) -> Sequence[str]:
    """Where the log's zero is on the trace, and the evidence."""
    if alignment is None:
        return ["no channel has a reading"]
    if alignment.elsewhere:  # the first piece of evidence is at the top of the page
        return ["none", *alignment.evidence[1:]]
    if alignment.offset_s is None or alignment.lo_s is None or alignment.hi_s is None:
        return ["none: the power log cannot be aligned with this trace", *alignment.evidence]
    interval = f"95 % interval {alignment.lo_s:.3f} … {alignment.hi_s:.3f} s"
    place = (
        f"{alignment.status}, {alignment.source}: the log's zero is at "
        f"{alignment.offset_s:.3f} s of the trace ({interval})"
    )
    if alignment.ppm:
        place += f", drift {alignment.ppm:+.0f} ppm"
    return [place, *alignment.evidence]


def sensors_section(account: Account, writer: PageWriter) -> list[str]:
    """Each sensor, what it resolves and how it is aligned; what is counted; idle power."""
    rows = []
    for placement in account.placed[:_MAX_SENSORS]:
        series = placement.power.series
        alignment = placement.alignment
        row = [
            series.sensor.shown_host,
            series.sensor.name,
            series.sensor.scope.value,
            series.sensor.source,
            sensors.sentence(series),
            "not used" if alignment.elsewhere else alignment.status,
        ]
        rows.append(row)
    style = writer.style
    lines = style.head(2, "Sensors")
    lines += style.table(("host", "sensor", "scope", "source", "resolves", "placed"), rows, ())
    lines += writer.omitted(len(account.placed), _MAX_SENSORS)
    if account.text:
        lines.append(writer.line(f"counted: {account.text}"))
    lines += writer.lines(_idle_words(account, writer.words))
    energies = [account.energy(*account.trace.span)]
    energies += [epoch.energy for epoch in account.epoch_energies]
    legend = badges.legend(energies)
    if legend:
        lines.append(writer.line(legend))
    return lines


def _idle_words(account: Account, words: EnergyWords) -> Iterator[str]:
    """Idle power, where it is from, and what an idle machine would have drawn."""
    if account.idle is None:
        if account.idle_text:
            yield f"idle power: {account.idle_text}"
        return
    where = ""
    if account.idle_text:
        comma = "," if account.idle_at_most else ""
        where = f"{comma} {account.idle_text}"
    yield f"idle power: {account.idle.value:.1f} W ({account.idle.badge.value}{where})"
    profile = account.energy(*account.trace.span)
    if profile is None or profile.active_joules is None or profile.idle_joules is None:
        return
    idle = words.plain_joules(profile.idle_joules)
    active = words.plain_joules(profile.active_joules)
    if account.idle_at_most:
        idle = f"at most {idle}"
        active = f"at least {active}"
    yield f"an idle machine would have drawn {idle} over the whole profile; {active} came on top"
