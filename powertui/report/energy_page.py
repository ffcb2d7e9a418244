"""The pages of `powertui energy`: the answer in three lines, the table, what differs, what to know
of it; with `--verbose` the sensors, the alignment and the notes on files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from powertui import units
from powertui.data import elsewhere
from powertui.data.energy import energy_rows, host_energy, integrate
from powertui.data.energy import sensor as sensors
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.host_energy import RunEnergy
from powertui.data.energy.measured_energy import Energy
from powertui.data.energy.trace_account import Account
from powertui.data.model import Run, Warn
from powertui.data.training.training import Training
from powertui.data.training.training_energy import TrainingEnergy, training_energy
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.data.training.training_window import TrainingWindow
from powertui.plain import plain
from powertui.power_server import is_server
from powertui.report import energy_sections, training_page
from powertui.report.energy_table import PageWriter
from powertui.report.energy_words import (
    HEADINGS,
    EnergyWords,
    clock_line,
    sensor_words,
    unit_for,
)
from powertui.report.page_style import Style
from powertui.report.trace_energy import TraceEnergy
from powertui.value_types import dataclass

# Sensors of a page without a profile: a rack of GPUs; logs of whole clusters have thousands, and
# JSON lists them. Chosen, not measured.
_MAX_SENSORS = 64


@dataclass(frozen=True)
class PageOptions:
    """What a person asks of the pages."""

    is_verbose: bool = False
    unit: str | None = None  # of `units.ENERGY_UNITS`; None: what suits the length

    def writer(self, style: Style, lengths_ps: Iterable[int]) -> PageWriter:
        """What writes a page about stretches of these lengths."""
        unit = unit_for(self.unit, max(lengths_ps, default=0))
        return PageWriter(
            style=style,
            words=EnergyWords(unit),
            is_verbose=self.is_verbose,
        )


def pages(
    traces: Sequence[TraceEnergy],
    totals: Sequence[tuple[str, RunEnergy]],
    trainings: Sequence[Training],
    style: Style,
    options: PageOptions,
) -> Iterator[str]:
    """Everything that was asked for, the largest whole first."""
    described = [training for training in trainings if training_page.deserves_page(training)]
    measured: list[Training] = []
    is_first = True
    for training in described:
        axis = training.seen_from()  # what is found on it is worked out once
        if training_energy(axis).account.counted:
            measured.append(training)
            yield from _training_page(training, axis, style, options, is_first)
            is_first = False
    for run_name, energy in totals:
        if len(energy.hosts) > 1 and any(energy.energies):
            yield from _total(run_name, energy, style, options)
            is_first = False
    paths_on_training_pages: set[str] = set()
    for training in measured:
        paths_on_training_pages.update(session.path for session in training.entry.sessions)
    for trace in traces:
        is_part = trace.run.path in paths_on_training_pages
        yield from _page(trace, style, options, is_first, is_part)
        is_first = False
    for training in described:
        if training not in measured:
            yield from training_page.without_power(training, style)


def _head(style: Style, name: str, answer: list[str], is_first: bool) -> list[str]:
    """The name of a page and its answer. On a terminal the first page begins with the answer."""
    heading = style.head(1, name)
    if style.is_document:
        return [*heading, *answer, ""]
    if is_first:
        return [*answer, "", *heading]
    return [*heading, *answer]


def _answer(
    energy: Energy | None,
    per_step: tuple[float, float] | None,
    last_line: str,
    findings: Findings | None,
    writer: PageWriter,
    *,
    stretch: str = "",
) -> list[str]:
    """The three lines that answer: how much, what differs, how sure.

    `stretch` says what the energy is of, where the page is not about a run.
    """
    lines = []
    if energy is not None and energy.joules is None:
        lines.append(energy.reason)
    elif energy is not None:
        length = units.duration(energy.hi_ps - energy.lo_ps, 3)
        parts = [f"{writer.words.with_error(energy)} in {length}{stretch}"]
        if energy.mean_w is not None:
            parts.append(f"{units.quantity(energy.mean_w, 'W')} mean")
        if per_step is not None:
            parts.append(f"{writer.words.plain_joules(*per_step)} a step")
        parts.append(writer.words.in_the_other_unit(energy))
        lines.append("   ".join(parts))
    if findings is not None:
        lines.append(_first_finding(findings))
    if last_line:
        lines.append(last_line)
    return [writer.answer(words) for words in lines]


def _first_finding(findings: Findings) -> str:
    """The costliest finding, and how many there are beside it."""
    if not findings.findings:
        return "findings: none"
    further = len(findings.findings) - 1
    costliest = findings.findings[0].text
    if further:
        return f"{costliest} (and {further} more)"
    return costliest


# ── a training ───────────────────────────────────────────────────────────────────────────────────


def _training_page(
    training: Training,
    axis: TrainingOnAxis,
    style: Style,
    options: PageOptions,
    is_first: bool,
) -> list[str]:
    """What a whole training drew, and what it is made of."""
    energy = training_energy(axis)
    rows = energy.parts()
    writer = options.writer(style, (row.length for row in rows))
    window = energy.training() or energy.whole()
    answer = _answer(
        window.energy, _mean_step(window), _how_sure(energy.account), energy.findings, writer
    )
    answer += _loss_lines(training.warnings, writer)
    lines = _head(style, f"The whole training {training.name}", answer, is_first)
    lines += energy_sections.rows_table(rows, writer)
    if options.is_verbose:
        lines += _hours_table(energy, writer)
    lines += writer.lines(map(plain, energy.strangers))
    lines += writer.lines(training_page.unplaced_logs(axis))
    lines += energy_sections.findings_section(energy.findings, writer)
    if options.is_verbose:
        lines += style.head(2, "About the training")
        lines += writer.lines(training_page.description(training, axis))
        lines += _about(energy, writer)
    lines.append("")
    return lines


def _mean_step(window: TrainingWindow) -> tuple[float, float] | None:
    """The mean joules of a step of a training, and their ±."""
    if window.joules_per_step is None:
        return None
    joules, lo, hi = window.joules_per_step
    return joules, (hi - lo) / 2


def _hours_table(energy: TrainingEnergy, writer: PageWriter) -> list[str]:
    rows = []
    for hour in energy.hours():
        length = units.duration(hour.end - hour.start)
        rows.append([hour.name, length, *writer.words.cells(hour.energy)])
    if not rows:
        return []
    return ["", *writer.table(("", "time", *HEADINGS), rows)]


def _about(energy: TrainingEnergy, writer: PageWriter) -> list[str]:
    """Where the log is on the training, and what is counted."""
    account = energy.account
    lines = writer.lines(energy_sections.alignment_words(account.alignment))
    if account.text:
        lines.append(writer.line(f"counted: {account.text}"))
    return lines


# ── a run ────────────────────────────────────────────────────────────────────────────────────────


def _page(
    trace: TraceEnergy,
    style: Style,
    options: PageOptions,
    is_first: bool,
    is_part: bool,
) -> list[str]:
    run, account = trace.run, trace.account
    findings = trace.findings
    if is_part and findings is not None and account is not None:
        findings = _inside(findings, account.trace.span)
    name = run.name or "run"
    if trace.host:
        name = f"{name} on {trace.host}"
    if account is None:
        lines = _logs_page(trace, name, style, options, is_first)
        writer = options.writer(style, ())
    else:
        rows: list[EnergyRow] = []
        if account.counted:
            rows = energy_rows.profile_rows(account, with_epochs=not is_part)
        writer = options.writer(style, (row.length for row in rows))
        answer = _profile_answer(trace, account, rows, findings, writer)
        answer += _loss_lines(run.warnings, writer)
        lines = _head(style, name, answer, is_first)
        # Power of another time has no joules: the sentence above is all there is.
        if rows:
            lines += energy_sections.rows_table(rows, writer)
            lines += energy_sections.unresolved_steps(account, writer)
            lines += energy_sections.devices_section(trace, account, writer)
        if trace.windows:
            lines += energy_sections.windows_section(trace, writer)
        if account.counted:  # else they are the answer
            lines += writer.lines(trace.notes)
    if not options.is_verbose:
        lines += writer.lines(_server_words(run))
    if findings is not None:
        lines += energy_sections.findings_section(findings, writer)
    if options.is_verbose:
        if account is not None and account.placed:
            lines += energy_sections.sensors_section(account, writer)
            lines += energy_sections.alignment_section(account, writer)
        lines += _warnings_section(run, writer)
    lines.append("")
    return lines


def _server_words(run: Run) -> list[str]:
    """What servers were asked for and how fine their power is, each sentence once."""
    warnings = [*run.warnings, *(warn for series in run.power for warn in series.warnings)]
    words = [elsewhere.warning_text(warn) for warn in warnings if is_server(warn.file)]
    return list(dict.fromkeys(words))


def _loss_lines(warnings: Iterable[Warn], writer: PageWriter) -> list[str]:
    """Which files are not whole: joules are only of what is left of them."""
    texts = dict.fromkeys(
        elsewhere.warning_text(warning) for warning in warnings if warning.is_loss
    )
    return [writer.answer(text) for text in texts]


def _warnings_section(run: Run, writer: PageWriter) -> list[str]:
    """What was wrong with the files of a run, each sentence once."""
    warnings = list(run.warnings)
    for series in run.power:
        warnings += series.warnings
    if not warnings:
        return []
    lines = writer.style.head(2, "Notes on the files")
    lines += writer.lines(dict.fromkeys(map(elsewhere.warning_text, warnings)))
    return lines


def _profile_answer(
    trace: TraceEnergy,
    account: Account,
    rows: Sequence[EnergyRow],
    findings: Findings | None,
    writer: PageWriter,
) -> list[str]:
    """The three lines of one profile; what is wrong where it has no joules."""
    if not rows:
        notes = trace.notes or [account.apart]
        return [writer.answer(note) for note in notes if note]
    per_step = None
    mean = account.per_step(None)
    if mean is not None and mean.joules is not None:
        per_step = (mean.joules, mean.half)
    clock = account.trace.clock
    how_sure = _how_sure(account, clock.half_ns if clock.known else 0)
    return _answer(rows[-1].energy, per_step, how_sure, findings, writer)


def _how_sure(account: Account, profile_half_ns: int = 0) -> str:
    """The clock and the sensor, in one line; on a profile with the ± of its own clock."""
    channels = [channel.series for channel in account.channels]
    return f"{clock_line(account.alignment, profile_half_ns)}     {sensor_words(channels)}"


def _inside(findings: Findings, span: tuple[int, int]) -> Findings:
    """What differs in a profile, without what its training's page says already."""
    start_ps, end_ps = span
    here = []
    for finding in findings.findings:
        if finding.end_ps > start_ps and finding.start_ps < end_ps:
            here.append(finding)
    return replace(findings, findings=tuple(here), could="")


def _logs_page(
    trace: TraceEnergy,
    name: str,
    style: Style,
    options: PageOptions,
    is_first: bool,
) -> list[str]:
    """Power without a profile: every channel over its whole log."""
    energies = [integrate.of_series(series) for series in trace.power]
    writer = options.writer(style, (energy.hi_ps - energy.lo_ps for energy in energies))
    counted = trace.counted_logs
    last_line = sensor_words(list(counted.series))
    losses = _loss_lines(trace.run.warnings, writer)
    answer = _answer(
        energy=trace.total_of_logs,
        per_step=None,
        last_line=last_line,
        findings=None,
        writer=writer,
        stretch=", all that could be read of the log" if losses else ", the whole log",
    )
    if counted.is_doubtful:
        answer.append(writer.answer(f"counted: {plain(counted.text)}"))
    answer += losses
    lines = _head(style, name, answer, is_first)
    rows = []
    shown = trace.power[:_MAX_SENSORS]
    for series, energy in zip(shown, energies, strict=False):
        length = units.duration(energy.hi_ps - energy.lo_ps)
        rows.append([series.sensor.label, length, *writer.words.cells(energy)])
    lines += writer.table(("sensor", "time", *HEADINGS), rows)
    lines += writer.omitted(len(trace.power), _MAX_SENSORS)
    if trace.windows:
        lines += energy_sections.windows_section(trace, writer)
    lines += writer.lines(trace.notes)
    if options.is_verbose:
        lines += style.head(2, "Sensors")
        resolutions = []
        for series in shown:
            sensor = series.sensor
            resolutions.append([sensor.shown_host, sensor.name, sensors.sentence(series)])
        lines += style.table(("host", "sensor", "resolves"), resolutions, ())
    return lines


def _total(name: str, energy: RunEnergy, style: Style, options: PageOptions) -> list[str]:
    """What a run of several hosts drew: each of them, and all together."""
    measured = filter(None, energy.energies)
    writer = options.writer(style, (part.hi_ps - part.lo_ps for part in measured))
    lines = style.head(1, f"{name or 'run'} on all its hosts")
    rows = host_energy.told(energy, writer.words.cells)
    lines += writer.table(("", *HEADINGS), rows)
    lines.append("")
    return lines
