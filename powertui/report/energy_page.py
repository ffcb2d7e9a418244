"""The pages of `powertui energy`: the answer in three lines, the table, what differs; with
`--verbose` the sensors, the alignment and the notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from powertui import units
from powertui.data.energy import badges, energy_rows, host_energy, integrate
from powertui.data.energy import sensor as sensors
from powertui.data.energy.account import Account
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.energy.findings.finding import Findings
from powertui.data.energy.host_energy import RunEnergy
from powertui.data.energy.log_alignment import Alignment
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_NS, PS_PER_S
from powertui.data.training.training import Training
from powertui.data.training.training_energy import TrainingEnergy, training_energy
from powertui.data.training.training_on_axis import TrainingOnAxis
from powertui.plain import plain, width
from powertui.report import text, training_page
from powertui.report.energy_figures import brief_findings, finding_lines
from powertui.report.energy_json import TraceEnergy
from powertui.report.energy_words import (
    HEADINGS,
    EnergyWords,
    clock_words,
    is_plainly_measured,
    sensor_words,
    unit_for,
)
from powertui.report.page_style import Style
from powertui.value_types import dataclass

# Rows of the text; JSON lists everything. Chosen, not measured.
_MAX_WINDOWS = 50
_MAX_SENSORS = 64  # a rack of GPUs; logs of whole clusters have thousands
_MAX_ROWS = 40  # of a table: about a screen
_COLUMNS = 80  # that a table may have where no terminal says otherwise
# What a narrow table can do without, the least important first.
_SPARE = ("max", "from", "steps", "gain", "a step")


@dataclass(frozen=True)
class PageOptions:
    """What a person asks of the pages."""

    is_verbose: bool = False
    unit: str | None = None  # of `units.ENERGY_UNITS`; None: what suits the length


@dataclass(frozen=True)
class _Writer:
    """How one page is written."""

    style: Style
    words: EnergyWords
    is_verbose: bool

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
        """A table that fits the terminal; all of it with `--verbose`. The first column is text."""
        table = _Columns(list(headers), [list(row) for row in rows])
        if not self.is_verbose and not self.style.is_document:
            table.shorten("quality")
            if all(is_plainly_measured(cell) for cell in table.cells("quality")):
                table.drop("quality")
            room = text.terminal_columns() or _COLUMNS
            for header in _SPARE:
                if table.width() <= room:
                    break
                table.drop(header)
        return self.style.table(table.headers, table.rows, range(1, len(table.headers)))

    def answer(self, words: str) -> str:
        """A line of the answer, which begins where the terminal does."""
        if self.style.is_document:
            return self.style.line(words)
        return "\n".join(text.wrapped(plain(words), text.terminal_columns()))

    def line(self, words: str) -> str:
        """A sentence, broken where the terminal ends."""
        line = self.style.line(words)
        if self.style.is_document:
            return line
        indent = line[: len(line) - len(line.lstrip())]
        parts = text.wrapped(line.strip(), text.terminal_columns() - len(indent))
        return "\n".join(indent + part for part in parts)


@dataclass
class _Columns:
    """The columns of a table, while it is made to fit."""

    headers: list[str]
    rows: list[list[str]]

    def cells(self, header: str) -> list[str]:
        """The cells below a header."""
        if header not in self.headers:
            return []
        at = self.headers.index(header)
        return [row[at] for row in self.rows]

    def drop(self, header: str) -> None:
        """Leave a column out."""
        if header in self.headers:
            at = self.headers.index(header)
            for row in (self.headers, *self.rows):
                del row[at]

    def shorten(self, header: str) -> None:
        """Leave of each cell what comes before the first semicolon."""
        if header in self.headers:
            at = self.headers.index(header)
            for row in self.rows:
                row[at] = row[at].split(";", 1)[0]

    def width(self) -> int:
        """Cells that it takes, without its empty columns."""
        cells = 0
        for at, header in enumerate(self.headers):
            widest = max((width(plain(row[at])) for row in self.rows), default=0)
            if widest:
                cells += max(widest, width(header)) + 2
        return cells


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
    told = {session.path for training in measured for session in training.entry.sessions}
    for trace in traces:
        is_part = trace.run.path in told
        yield from _page(trace, style, options, is_first, is_part)
        is_first = False
    for training in described:
        if training not in measured:
            yield from training_page.without_power(training, style)


def _head(style: Style, name: str, answer: list[str], is_first: bool) -> list[str]:
    """The name of a page and its answer. On a terminal the first page begins with the answer."""
    if is_first and not style.is_document:
        return [*answer, "", *style.head(1, name)]
    return [*style.head(1, name), *answer, *([""] if style.is_document else [])]


def _answer(
    energy: Energy | None,
    per_step: tuple[float, float] | None,
    last_line: str,
    findings: Findings | None,
    writer: _Writer,
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
    others = len(findings.findings) - 1
    more = f" (and {others} more)" if others else ""
    return f"{findings.findings[0].text}{more}"


def _writer(style: Style, options: PageOptions, longest_ps: int) -> _Writer:
    return _Writer(style, EnergyWords(unit_for(options.unit, longest_ps)), options.is_verbose)


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
    writer = _writer(style, options, max((row.length for row in rows), default=0))
    window = energy.training() or energy.whole()
    per_step = None
    if window.joules_per_step is not None:
        joules, lo, hi = window.joules_per_step
        per_step = (joules, (hi - lo) / 2)
    last_line = _how_sure(energy.account)
    answer = _answer(window.energy, per_step, last_line, energy.findings, writer)
    lines = _head(style, f"The whole training {training.name}", answer, is_first)
    lines += _rows_table(rows, writer)
    hours = energy.hours()
    if hours and options.is_verbose:
        cells = [
            [hour.name, units.duration(hour.end - hour.start), *writer.words.cells(hour.energy)]
            for hour in hours
        ]
        lines += ["", *writer.table(("", "time", *HEADINGS), cells)]
    lines += [writer.line(plain(sentence)) for sentence in energy.strangers]
    lines += [writer.line(sentence) for sentence in training_page.unplaced_logs(axis)]
    lines += _findings(energy.findings, writer)
    if options.is_verbose:
        lines += style.head(2, "About the training")
        lines += [writer.line(sentence) for sentence in training_page.description(training, axis)]
        lines += _about(energy, writer)
    return [*lines, ""]


def _about(energy: TrainingEnergy, writer: _Writer) -> list[str]:
    """Where the log is on the training, and what is counted."""
    account = energy.account
    lines = [writer.line(words) for words in _alignment_words(account.alignment)]
    return [*lines, writer.line(f"counted: {account.text}")] if account.text else lines


# ── a run ────────────────────────────────────────────────────────────────────────────────────────


def _page(
    trace: TraceEnergy, style: Style, options: PageOptions, is_first: bool, is_part: bool
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
        writer = _writer(style, options, 0)
    else:
        rows: list[EnergyRow] = []
        if account.counted:
            rows = energy_rows.profile_rows(account, with_epochs=not is_part)
        writer = _writer(style, options, max((row.length for row in rows), default=0))
        answer = _profile_answer(trace, account, rows, findings, writer)
        lines = _head(style, name, answer, is_first)
        # Power of another time has no joules: the sentence above is all there is.
        if rows:
            lines += _rows_table(rows, writer)
            lines += _unresolved_steps(account, writer) + _devices(trace, account, writer)
        if trace.windows:
            lines += _windows(trace, writer)
        lines += [writer.line(note) for note in trace.notes if account.counted]
    if findings is not None:
        lines += _findings(findings, writer)
    if options.is_verbose:
        if account is not None and account.placed:
            lines += _sensors(account, writer) + _alignment(account, writer)
        warnings = list(run.warnings)
        for series in run.power:
            warnings += series.warnings
        if warnings:
            lines += style.head(2, "Notes on the files")
            lines += map(writer.line, dict.fromkeys(map(str, warnings)))
    return [*lines, ""]


def _profile_answer(
    trace: TraceEnergy,
    account: Account,
    rows: Sequence[EnergyRow],
    findings: Findings | None,
    writer: _Writer,
) -> list[str]:
    """The three lines of one profile; what is wrong where it has no joules."""
    if not rows:
        notes = trace.notes or [account.apart]
        return [writer.answer(note) for note in notes if note]
    per_step = None
    mean = account.per_step(None)
    if mean is not None and mean.joules is not None:
        per_step = (mean.joules, mean.half)
    return _answer(rows[-1].energy, per_step, _how_sure(account), findings, writer)


def _how_sure(account: Account) -> str:
    """The clock and the sensor, in one line."""
    channels = [channel.series for channel in account.channels]
    return f"{clock_words(account.alignment)}     {sensor_words(channels)}"


def _rows_table(rows: Sequence[EnergyRow], writer: _Writer) -> list[str]:
    """The rows that add up, and why some of them have no joules."""
    table = []
    for row in (*rows[:-1][:_MAX_ROWS], *rows[-1:]):
        indent = "  " * row.level
        table.append(
            [
                indent + row.name,
                f"{row.start / PS_PER_S:.2f} s" if row.start is not None else "",
                units.duration(row.length),
                f"{row.steps:,}" if row.steps else "",
                _per_step(row, writer.words),
                *writer.words.cells(row.energy),
            ]
        )
    lines = writer.table(("", "from", "time", "steps", "a step", *HEADINGS), table)
    lines += _omitted(len(rows) - 1, _MAX_ROWS, writer)
    reasons = {
        row.energy.reason: row.name
        for row in rows[:-1]
        if row.energy is not None and not row.energy.resolved
    }
    return lines + [writer.line(f"{name}: {reason}") for reason, name in reasons.items()]


def _per_step(row: EnergyRow, words: EnergyWords) -> str:
    """The mean joules of a step of a row."""
    if row.per_step is not None and row.per_step.joules is not None:
        return words.plain_joules(row.per_step.joules, row.per_step.half)
    if row.per_step is None and row.steps and row.energy is not None and row.energy.joules:
        return words.plain_joules(row.energy.joules / row.steps, row.energy.half / row.steps)
    return ""


def _unresolved_steps(account: Account, writer: _Writer) -> list[str]:
    """Why no step has joules of its own, where none has even a mean; every one with `--verbose`."""
    mean = account.per_step(None)
    if writer.is_verbose:
        steps = account.step_energies
        unresolved = [step for step in steps if not step.resolved]
        if not unresolved:
            return []
        count = f"{len(unresolved)} of {len(steps)}"
        return [writer.line(f"single steps: {count} {unresolved[0].reason}")]
    whole = account.energy(*account.trace.span)
    if mean is None or mean.resolved or whole is None or not whole.resolved:
        return []
    return [writer.line(f"a step: {mean.reason}")]


def _findings(findings: Findings, writer: _Writer) -> list[str]:
    if writer.is_verbose:
        return finding_lines(findings, writer.style)
    lines = [writer.line(words) for words in brief_findings(findings)]
    return [*writer.style.head(2, "Findings"), *lines] if lines else []


def _inside(findings: Findings, span: tuple[int, int]) -> Findings:
    """What differs in a profile, without what its training's page says already."""
    here = [
        finding
        for finding in findings.findings
        if finding.end_ps > span[0] and finding.start_ps < span[1]
    ]
    return replace(findings, findings=tuple(here), could="")


def _logs_page(
    trace: TraceEnergy, name: str, style: Style, options: PageOptions, is_first: bool
) -> list[str]:
    """Power without a profile: every channel over its whole log."""
    energies = [integrate.of_series(series) for series in trace.power]
    longest = max((energy.hi_ps - energy.lo_ps for energy in energies), default=0)
    writer = _writer(style, options, longest)
    total = trace.total_of_logs
    last_line = sensor_words([trace.power[row] for row in trace.counted_logs])
    answer = _answer(total, None, last_line, None, writer, stretch=", the whole log")
    lines = _head(style, name, answer, is_first)
    rows = []
    shown = zip(trace.power[:_MAX_SENSORS], energies, strict=False)
    for series, energy in shown:
        length = units.duration(energy.hi_ps - energy.lo_ps)
        rows.append([series.sensor.label, length, *writer.words.cells(energy)])
    lines += writer.table(("sensor", "time", *HEADINGS), rows)
    lines += _omitted(len(trace.power), _MAX_SENSORS, writer)
    if trace.windows:
        lines += _windows(trace, writer)
    lines += map(writer.line, trace.notes)
    if options.is_verbose:
        lines += style.head(2, "Sensors")
        resolutions = [
            [one.sensor.host, one.sensor.name, sensors.sentence(one)] for one in trace.power
        ]
        lines += style.table(("host", "sensor", "resolves"), resolutions[:_MAX_SENSORS], ())
    return lines


def _omitted(count: int, shown: int, writer: _Writer) -> list[str]:
    """How many rows a table leaves out."""
    if count <= shown:
        return []
    return [writer.line(f"… and {count - shown:,} more (--json lists them)")]


def _total(name: str, energy: RunEnergy, style: Style, options: PageOptions) -> list[str]:
    """What a run of several hosts drew: each of them, and all together."""
    longest = max((part.hi_ps - part.lo_ps for part in energy.energies if part), default=0)
    writer = _writer(style, options, longest)
    lines = style.head(1, f"{name or 'run'} on all its hosts")
    rows = host_energy.told(energy, writer.words.cells)
    lines += writer.table(("", *HEADINGS), rows)
    return [*lines, ""]


# ── parts of a page ──────────────────────────────────────────────────────────────────────────────


def _alignment(account: Account, writer: _Writer) -> list[str]:
    lines = writer.style.head(2, "Alignment")
    return lines + [writer.line(words) for words in _alignment_words(account.alignment)]


def _alignment_words(alignment: Alignment | None) -> Sequence[str]:
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


def _sensors(account: Account, writer: _Writer) -> list[str]:
    rows = []
    for placement in account.placed[:_MAX_SENSORS]:
        series, alignment = placement.power.series, placement.alignment
        row = [
            series.sensor.host,
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
    lines += _omitted(len(account.placed), _MAX_SENSORS, writer)
    if account.text:
        lines.append(writer.line(f"counted: {account.text}"))
    lines += [writer.line(words) for words in _idle_words(account, writer.words)]
    shown = [epoch.energy for epoch in account.epoch_energies]
    legend = badges.legend([account.energy(*account.trace.span), *shown])
    return [*lines, writer.line(legend)] if legend else lines


def _idle_words(account: Account, words: EnergyWords) -> Iterator[str]:
    """Idle power, where it is from, and what an idle machine would have drawn."""
    if account.idle is None:
        if account.idle_text:
            yield f"idle power: {account.idle_text}"
        return
    where = ""
    if account.idle_text:
        where = f"{',' if account.idle_at_most else ''} {account.idle_text}"
    yield f"idle power: {account.idle.value:.1f} W ({account.idle.badge.value}{where})"
    profile = account.energy(*account.trace.span)
    if profile is None or profile.active_joules is None or profile.idle_joules is None:
        return
    idle, active = (
        words.plain_joules(profile.idle_joules),
        words.plain_joules(profile.active_joules),
    )
    if account.idle_at_most:
        idle, active = f"at most {idle}", f"at least {active}"
    yield f"an idle machine would have drawn {idle} over the whole profile; {active} came on top"


def _devices(trace: TraceEnergy, account: Account, writer: _Writer) -> list[str]:
    """Joules of each GPU of the trace, and where it is not sure which channel is its own."""
    if not trace.devices:
        return []
    rows: list[list[str]] = []
    doubts: dict[str, list[str]] = {}  # device and channel by what makes them unsure
    for device in trace.devices:
        name, why = device.pair.device, device.pair.why
        channel = device.channel.sensor.channel if device.channel is not None else ""
        mean = device.per_step(None)
        per_step = ""
        if mean is not None and mean.joules is not None:
            per_step = writer.words.plain_joules(mean.joules, mean.half)
        if device.account is None:
            rows.append([name, channel, "", "–", "", "", "", "", why])
        else:
            profile = device.energy(*account.trace.span)
            rows.append([name, channel, per_step, *writer.words.cells(profile)])
            if not device.pair.sure:
                doubts.setdefault(why, []).append(f"{channel} for {name}")
    lines = writer.style.head(2, "Devices")
    lines += writer.table(("", "sensor", "a step", *HEADINGS), rows)
    for why, pairs in doubts.items():
        lines.append(writer.line(f"taken: {', '.join(pairs)}: {why}"))
    return lines


def _windows(trace: TraceEnergy, writer: _Writer) -> list[str]:
    rows = []
    for window in trace.windows[:_MAX_WINDOWS]:
        mark = window.mark
        length_ns = mark.end_ns - mark.start_ns if mark.end_ns else 0
        time = units.duration(length_ns * PS_PER_NS)
        rows.append([mark.name, time, *writer.words.cells(window.energy)])
    lines = writer.style.head(2, "Windows of the recording")
    lines += writer.table(("", "time", *HEADINGS), rows)
    return lines + _omitted(len(trace.windows), _MAX_WINDOWS, writer)
