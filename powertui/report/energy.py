"""`powertui energy`: joules per epoch and step, the sensors, the alignment and the findings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from powertui import __version__
from powertui.data import logdir
from powertui.data.asked import Aligning, LogColumns, ReadOptions
from powertui.data.energy import account as accounts
from powertui.data.energy import badges, host_energy, integrate, owner_notes
from powertui.data.energy import sensor as sensors
from powertui.data.energy.account import Account
from powertui.data.energy.align import Alignment
from powertui.data.energy.host_energy import RunEnergy
from powertui.data.energy.measured_energy import Energy
from powertui.data.logdir import Logdir
from powertui.data.model import NS_PER_S, PS_PER_S, Run
from powertui.data.opened import Opened
from powertui.data.power import log_columns, registry
from powertui.data.training import named_windows
from powertui.data.training.training import Training, Trainings
from powertui.data.training.training_energy import training_energy
from powertui.errors import UnreadableFile
from powertui.plain import plain
from powertui.report import summary, text, training_json, training_page
from powertui.report.energy_figures import (
    CSV_COLUMNS,
    HEADINGS,
    NO_POWER,
    csv_cells,
    finding_lines,
    joules_text,
    text_cells,
)
from powertui.report.energy_json import TraceEnergy, as_json, totals
from powertui.report.page_style import Style, style_of

# Rows of the text; JSON lists everything. Chosen, not measured.
_MAX_WINDOWS = 50
_MAX_SENSORS = 64  # a rack of GPUs; logs of whole clusters have thousands
_MAX_NAMED_LOGS = 3  # of those above the logdir


def tell(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    form: str,
    asked: named_windows.WindowRequest | None = None,
) -> int:
    """Print the joules of the runs that were named, or of one window.

    Raises `UnreadableFile` where nothing of them could be read.
    """
    trainings = Trainings(logdir.scan(path), reading, aligning)
    if asked is not None and asked.anything:
        chosen = trainings.chosen(trainings.found.chosen(name), name is None)
        _print_window(path, chosen, asked, form)
        return 0
    traces = _gather(path, name, reading, aligning, trainings)
    chosen = trainings.chosen(trainings.found.chosen(name), name is None)
    if form == "json":
        shown = [training_json.json_training(training) for training in chosen]
        text.out(text.to_json({**as_json(path, traces), "trainings": shown}))
    elif form == "csv":
        text.emit_csv(text.to_csv(_COLUMNS, _csv_rows(traces)))
    else:
        text.out("\n".join(_pages(traces, chosen, style_of(form))))
    return 0


def _pages(
    traces: Sequence[TraceEnergy], trainings: Sequence[Training], style: Style
) -> Iterator[str]:
    for trace in traces:
        yield from _page(trace, style)
    for run_name, energy in totals(traces):
        yield from _total(run_name, energy, style)
    for training in trainings:
        if training_page.deserves_page(training):
            yield from training_page.page(training, style)


def _print_window(
    path: str, chosen: Sequence[Training], asked: named_windows.WindowRequest, form: str
) -> None:
    """Print one window of each training that was named."""
    if not chosen:
        raise UnreadableFile(
            path, "holds no training", hint=f"See what is there: powertui doctor {path}"
        )
    windows = []
    for training in chosen:
        axis = training.seen_from()
        place = named_windows.find_window(axis, asked)
        windows.append((training, training_energy(axis).window(place)))
    if form == "json":
        shown = [training_json.json_named_window(training, window) for training, window in windows]
        text.out(text.to_json({"powertui": __version__, "path": path, "windows": shown}))
    elif form == "csv":
        cells = [training_page.window_cells(training, window) for training, window in windows]
        text.emit_csv(text.to_csv(training_page.WINDOW_COLUMNS, cells))
    else:
        rows = [
            [
                training.name,
                window.name,
                _seconds(window.end - window.start),
                *text_cells(window.energy),
            ]
            for training, window in windows
        ]
        headers = ("training", "window", "time", *HEADINGS)
        text.out("\n".join(style_of(form).table(headers, rows, range(2, 7))))


# ── what is there ────────────────────────────────────────────────────────────────────────────────


def _gather(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    trainings: Trainings,
) -> list[TraceEnergy]:
    """The accounts of every run that was asked for; of power logs alone where there is no run."""
    traces: list[TraceEnergy] = []
    problems: list[str] = []
    for entry in trainings.found.chosen(name):
        opened = trainings.opened(entry)
        run, problem = summary.load(opened)
        if run is None:
            problems.append(problem)
        elif run.traces or run.power:
            traces += of_run(opened, aligning)
    with_account = [trace.run for trace in traces if trace.account is not None]
    owner_notes.check(with_account, reading.power_hosts)
    if traces:
        return traces
    traces, unread = _logs_alone(trainings.found, reading)
    if not traces and len(unread) == 1:
        raise unread[0]
    for error in unread:
        text.write(sys.stderr, f"powertui: {plain(error.message)}")
        if error.hint:
            text.write(sys.stderr, f"  {plain(error.hint)}")
        problems.append(error.message)
    if not traces:
        nothing = f"{plain(path)}: holds neither a profile nor a power log that can be read"
        why = next(filter(None, problems), nothing)
        raise UnreadableFile(
            path, why.removeprefix(f"{path}: "), hint=f"See what is there: powertui doctor {path}"
        )
    return traces


def _logs_alone(
    scan: Logdir, reading: ReadOptions
) -> tuple[list[TraceEnergy], list[UnreadableFile]]:
    """Power logs without any run, each on its own clock, and why others could not be read.

    A log that was named and cannot be read is an error; one that was only found is not.
    """
    columns = reading.columns or LogColumns(tz=reading.tz, limit=reading.limit)
    paths = list(reading.power)
    if reading.find_power:
        paths += [file.path for file in scan.power]
    traces = []
    unread = []
    columns_of = log_columns.columns_by_log(paths, columns)
    for path in dict.fromkeys(paths):
        try:
            log = registry.load(path, columns_of[path])
        except UnreadableFile as error:
            if path in reading.power:
                raise
            unread.append(error)
        else:
            run = Run(path, path, (), (), (), power=log.series, warnings=log.warnings)
            problem = "there is no profile here: the power is shown on its own clock"
            traces.append(TraceEnergy(run, "", None, None, problem))
    return traces, unread


def of_run(opened: Opened, aligning: Aligning) -> list[TraceEnergy]:
    """The accounts of all hosts of a run."""
    run = opened.run
    if not run.traces:
        problem = "this run has no profile: its power is shown on its own clock"
        return [TraceEnergy(run, "", None, None, problem)]
    traces = []
    for profile in opened.profiles:
        account = accounts.energy_account(profile, aligning)
        if not run.power:
            problem = _no_power(opened)
        elif account.placed:
            problem = account.apart
        else:
            problem = f"No power belongs to {profile.host or 'this host'}."
        findings = accounts.findings(profile, aligning)
        traces.append(TraceEnergy(run, profile.host, account, findings, problem))
    return traces


def _no_power(opened: Opened) -> str:
    """That no log was found, and which ones above the logdir may be the run's."""
    above = [file.path for file in opened.entry.above]
    if not above:
        return NO_POWER
    if len(above) == 1:
        return f"{NO_POWER}. {above[0]} is above it: if it is this run's, name it"
    names = ", ".join(above[:_MAX_NAMED_LOGS])
    if len(above) > _MAX_NAMED_LOGS:
        names += f" and {len(above) - _MAX_NAMED_LOGS} more"
    return f"{NO_POWER}. {names} are above it: if one is this run's, name it"


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

_COLUMNS = ("run", "host", "epoch", "step", "start_s", "duration_s", "end_s", *CSV_COLUMNS)


def _csv_rows(traces: Sequence[TraceEnergy]) -> Iterator[Sequence[Any]]:
    """One row per step."""
    for trace in traces:
        account = trace.account
        if account is None:
            continue
        energies = account.step_energies
        for step in account.steps:
            yield (
                trace.run.name,
                trace.host,
                account.epoch_number(step.epoch),
                step.number if step.number >= 0 else None,
                step.start / PS_PER_S,
                step.duration / PS_PER_S,
                step.end / PS_PER_S,
                *csv_cells(energies[step.index] if energies else None),
            )


# ── text and Markdown ────────────────────────────────────────────────────────────────────────────


def _page(trace: TraceEnergy, style: Style) -> list[str]:
    run, account = trace.run, trace.account
    name = run.name or "run"
    lines = style.head(1, f"{name} on {trace.host}" if trace.host else name)
    lines += map(style.line, trace.notes)
    if account is None:
        lines += _logs(trace, style)
    elif account.placed:
        lines += _alignment(account, style) + _sensors(account, style)
        # Power of another time has no joules: the sentence above is all there is.
        if account.counted or not account.elsewhere:
            lines += _energies(account, style) + _devices(trace, account, style)
    if trace.windows:
        lines += _windows(trace, style)
    if trace.findings is not None:
        lines += finding_lines(trace.findings, style)
    warnings = list(run.warnings)
    for series in run.power:
        warnings += series.warnings
    if warnings:
        lines += style.head(2, "Notes on the files")
        lines += map(style.line, dict.fromkeys(map(str, warnings)))
    return [*lines, ""]


def _logs(trace: TraceEnergy, style: Style) -> list[str]:
    """Every channel over its whole log: there is no trace to align it with."""
    rows = [
        [
            series.sensor.host,
            series.sensor.name,
            sensors.sentence(series),
            *text_cells(integrate.of_series(series)),
        ]
        for series in trace.power[:_MAX_SENSORS]
    ]
    lines = style.table(("host", "sensor", "resolves", *HEADINGS), rows, range(3, 7))
    return lines + _omitted(len(trace.power), _MAX_SENSORS, style)


def _omitted(count: int, shown: int, style: Style) -> list[str]:
    """How many rows a table leaves out."""
    if count <= shown:
        return []
    return [style.line(f"… and {count - shown:,} more (--json lists them)")]


def _total(name: str, energy: RunEnergy, style: Style) -> list[str]:
    """What a run of several hosts drew: each of them, and all together."""
    if len(energy.hosts) < 2 or not any(energy.energies):
        return []
    lines = style.head(1, f"{name or 'run'} on all its hosts")
    lines += style.table(("", *HEADINGS), host_energy.told(energy, text_cells), range(1, 5))
    return [*lines, ""]


def _alignment(account: Account, style: Style) -> list[str]:
    lines = style.head(2, "Alignment")
    return lines + [style.line(words) for words in _alignment_words(account.alignment)]


def _alignment_words(alignment: Alignment | None) -> Sequence[str]:
    """Where the log's zero is on the trace, and the evidence."""
    if alignment is None:
        return ["no channel has a reading"]
    if alignment.elsewhere:  # the first piece of evidence is at the top of the page
        return ["none", *alignment.evidence[1:]]
    if alignment.offset_s is None or alignment.lo_s is None or alignment.hi_s is None:
        return ["none: the power log cannot be aligned with this trace", *alignment.evidence]
    interval = f"95% interval {alignment.lo_s:.3f} … {alignment.hi_s:.3f} s"
    place = (
        f"{alignment.status}, {alignment.source}: the log's zero is at "
        f"{alignment.offset_s:.3f} s of the trace ({interval})"
    )
    if alignment.ppm:
        place += f", drift {alignment.ppm:+.0f} ppm"
    return [place, *alignment.evidence]


def _sensors(account: Account, style: Style) -> list[str]:
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
    lines = style.head(2, "Sensors")
    lines += style.table(("host", "sensor", "scope", "source", "resolves", "placed"), rows, ())
    lines += _omitted(len(account.placed), _MAX_SENSORS, style)
    if account.text:
        lines.append(style.line(f"counted: {account.text}"))
    idle = _idle_power(account)
    if idle:
        lines.append(style.line(f"idle power: {idle}"))
    return lines


def _idle_power(account: Account) -> str:
    """Idle power and where it is from; why there is none; or ""."""
    if account.idle is None:
        return account.idle_text
    where = ""
    if account.idle_text:
        where = f"{',' if account.idle_at_most else ''} {account.idle_text}"
    return f"{account.idle.value:.1f} W ({account.idle.badge.value}{where})"


def _energies(account: Account, style: Style) -> list[str]:
    lo, hi = account.trace.span
    profile = account.energy(lo, hi)
    rows = _epoch_rows(account)
    rows.append(["the whole profile", _seconds(hi - lo), *text_cells(profile)])
    lines = style.head(2, "Energy")
    lines += style.table(("", "time", *HEADINGS), rows, range(1, 6))
    if profile is not None:
        lines += map(style.line, _idle_and_gain(profile, account))
    steps = account.step_energies
    unresolved = [step for step in steps if not step.resolved]
    if unresolved:
        reason = unresolved[0].reason
        lines.append(style.line(f"single steps: {len(unresolved)} of {len(steps)} {reason}"))
    epochs = [epoch.energy for epoch in account.epoch_energies]
    return [*lines, style.line(badges.legend([profile, *unresolved[:1], *epochs]))]


def _epoch_rows(account: Account) -> list[list[str]]:
    """Every epoch, and below it a mean step of it."""
    rows = []
    for epoch in account.epoch_energies:
        length = _seconds(epoch.hi - epoch.lo)
        rows.append([f"epoch {epoch.number}", length, *text_cells(epoch.energy)])
        mean = account.per_step(epoch.index)
        if mean is not None:
            count = int((account.steps.epoch == epoch.index).sum())
            rows.append([f"  mean step (of {count})", "", *text_cells(mean)])
    return rows


def _seconds(ps: int) -> str:
    return f"{ps / PS_PER_S:.2f} s"


def _idle_and_gain(profile: Energy, account: Account) -> Iterator[str]:
    """What an idle machine would have drawn, and by how much the sensor may be off."""
    if profile.active_joules is not None and profile.idle_joules is not None:
        idle, active = joules_text(profile.idle_joules), joules_text(profile.active_joules)
        if account.idle_at_most:
            idle, active = f"at most {idle}", f"at least {active}"
        yield (
            f"an idle machine would have drawn {idle} over the whole profile; {active} came on top"
        )
    if profile.gain_j:
        yield (
            f"the sensor's own gain: ± {joules_text(profile.gain_j)} on the whole profile, "
            "systematic, not in the intervals"
        )


def _devices(trace: TraceEnergy, account: Account, style: Style) -> list[str]:
    """Joules of each GPU of the trace, and where it is not sure which channel is its own."""
    if not trace.devices:
        return []
    rows: list[list[str]] = []
    doubts: dict[str, list[str]] = {}  # device and channel by what makes them unsure
    for device in trace.devices:
        name, why = device.pair.device, device.pair.why
        channel = device.channel.sensor.channel if device.channel is not None else ""
        if device.account is None:
            rows.append([name, channel, "–", "", "", "", why])
        else:
            profile = device.energy(*account.trace.span)
            rows.append([name, channel, *text_cells(profile)])
            if not device.pair.sure:
                doubts.setdefault(why, []).append(f"{channel} for {name}")
        mean = device.per_step(None)
        if mean is not None:
            rows.append([f"  mean step (of {len(account.steps)})", "", *text_cells(mean)])
    lines = style.head(2, "Devices")
    lines += style.table(("", "sensor", *HEADINGS), rows, range(2, 6))
    for why, pairs in doubts.items():
        lines.append(style.line(f"taken: {', '.join(pairs)}: {why}"))
    return lines


def _windows(trace: TraceEnergy, style: Style) -> list[str]:
    rows = []
    for window in trace.windows[:_MAX_WINDOWS]:
        mark = window.mark
        length_ns = mark.end_ns - mark.start_ns if mark.end_ns else 0
        rows.append([mark.name, f"{length_ns / NS_PER_S:.2f} s", *text_cells(window.energy)])
    lines = style.head(2, "Windows of the recording")
    lines += style.table(("", "time", *HEADINGS), rows, range(1, 6))
    return lines + _omitted(len(trace.windows), _MAX_WINDOWS, style)
