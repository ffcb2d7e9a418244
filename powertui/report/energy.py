"""`powertui energy`: what is asked of which runs, and in which form it is printed."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from powertui.data import logdir
from powertui.data.asked import Aligning, LogColumns, ReadOptions
from powertui.data.energy import account as accounts
from powertui.data.energy import owner_notes, scopes
from powertui.data.energy.trace_account import Account
from powertui.data.loading import Beside
from powertui.data.model import PS_PER_S, Run
from powertui.data.opened import Opened
from powertui.data.power import log_columns
from powertui.data.training import named_windows
from powertui.data.training.training import Trainings
from powertui.errors import UnreadableFile
from powertui.plain import plain
from powertui.report import energy_page, text
from powertui.report.energy_figures import CSV_COLUMNS, NO_POWER, NO_POWER_TAKEN, csv_cells
from powertui.report.energy_json import as_json, totals
from powertui.report.energy_page import PageOptions
from powertui.report.page_style import style_of
from powertui.report.trace_energy import TraceEnergy

_MAX_NAMED_LOGS = 3  # of those above the logdir; chosen, not measured
_MAX_NAMED_CHANNELS = 4  # in a command to type; chosen, not measured


def tell(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    form: str,
    asked: named_windows.WindowRequest | None = None,
    options: PageOptions | None = None,
) -> int:
    """Print the joules of the runs that were named, or of one window.

    Raises `UnreadableFile` where nothing of them could be read.
    """
    trainings = Trainings(logdir.scan(path), reading, aligning)
    if asked is not None and asked.anything:
        from powertui.report import energy_window

        chosen = trainings.chosen(trainings.found.chosen(name), name is None)
        unit = (options or PageOptions()).unit
        if asked.steps is not None or asked.of_profile:
            windows = energy_window.profile_windows(trainings, name, aligning, asked)
        else:
            # A profile that was read may place the log better than records do: a window has to say
            # what the page of all windows says.
            for entry in trainings.found.chosen(name):
                trainings.opened(entry).run_or_problem()
            windows = energy_window.training_windows(path, chosen, asked)
        energy_window.print_windows(path, windows, form, unit)
        return 0
    traces = asked_traces(path, name, reading, aligning, trainings)
    chosen = trainings.chosen(trainings.found.chosen(name), name is None)
    if form == "json":
        from powertui.report import training_json

        shown = [training_json.json_training(training) for training in chosen]
        text.out(text.to_json({**as_json(path, traces), "trainings": shown}))
    elif form == "csv":
        text.emit_csv(text.to_csv(_COLUMNS, _csv_rows(traces)))
    else:
        pages = energy_page.pages(
            traces, totals(traces), chosen, style_of(form), options or PageOptions()
        )
        text.out("\n".join(pages))
    return 0


# ── what is there ────────────────────────────────────────────────────────────────────────────────


def asked_traces(
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
        run, problem = opened.run_or_problem()
        if run is None:
            problems.append(problem)
        elif run.traces or run.power:
            traces += of_run(opened, aligning)
    with_account = [trace.run for trace in traces if trace.account is not None]
    owner_notes.check(with_account, reading.power_hosts)
    if traces:
        return traces
    traces, unread = _logs_alone(trainings, reading)
    if not traces and len(unread) == 1:
        raise unread[0]
    for error in unread:
        text.write_error(sys.stderr, error)
        problems.append(error.message)
    if not traces:
        nothing = f"{plain(path)}: holds neither a profile nor a power log that can be read"
        why = next(filter(None, problems), nothing)
        raise UnreadableFile(
            path, why.removeprefix(f"{path}: "), hint=f"See what is there: powertui doctor {path}"
        )
    return traces


def _logs_alone(
    trainings: Trainings,
    reading: ReadOptions,
) -> tuple[list[TraceEnergy], list[UnreadableFile]]:
    """Power logs without any run, each on its own clock, and why others could not be read.

    A log that was named and cannot be read is an error; one that was only found is not.
    """
    columns = reading.columns or LogColumns(tz=reading.tz, limit=reading.limit)
    found = [file.path for file in trainings.found.power]
    paths = reading.power_paths(found, is_log_alone=True)
    # A training that has the log reads it as well.
    beside = {log.path: one.beside for one in trainings.all for log in one.entry.power}
    traces = []
    unread = []
    columns_of = log_columns.columns_by_log(paths, columns)
    for path in paths:
        try:
            log = beside.get(path, Beside()).power(path, columns_of[path])
        except UnreadableFile as error:
            if path in reading.power:
                raise
            unread.append(error)
        else:
            run = Run(
                name=path,
                path=path,
                traces=(),
                steps=(),
                epochs=(),
                power=log.series,
                warnings=log.warnings,
            )
            problem = "there is no profile here: the power is shown on its own clock"
            traces.append(
                TraceEnergy(
                    run=run,
                    host="",
                    account=None,
                    findings=None,
                    problem=problem,
                )
            )
    return traces, unread


def of_run(opened: Opened, aligning: Aligning) -> list[TraceEnergy]:
    """The accounts of all hosts of a run."""
    run = opened.run
    if not run.traces:
        problem = "this run has no profile: its power is shown on its own clock"
        return [
            TraceEnergy(
                run=run,
                host="",
                account=None,
                findings=None,
                problem=problem,
            )
        ]
    traces = []
    for profile in opened.profiles:
        account = accounts.energy_account(profile, aligning)
        if not run.power:
            problem = _no_power(opened)
        elif account.apart:
            from powertui.report import unused_logs

            problem = f"{account.apart} {unused_logs.way_on(profile, account, aligning)}".rstrip()
        elif account.placed:
            problem = _nothing_counted(account, profile.host)
        else:
            problem = f"No power belongs to {profile.host or 'this host'}."
        findings = accounts.findings(profile, aligning)
        traces.append(
            TraceEnergy(
                run=run,
                host=profile.host,
                account=account,
                findings=findings,
                problem=problem,
            )
        )
    return traces


def _nothing_counted(account: Account, host: str) -> str:
    """Why none of the channels that are this host's counts, and what would make them count; empty
    where one does, or it is told of each.
    """
    if account.counted or not account.text.startswith("none: "):
        return ""
    words = account.text.removeprefix("none: ")
    if account.text.startswith(scopes.NONE_FOR_OVERLAP):
        return f"No power is counted: {words}. {_overlap_remedy(account, host)}"
    reasons = [pair.why for pair in account.pairs if pair.channel is None]
    return "No power is counted: " + "; ".join(dict.fromkeys([words, *reasons]))


def _overlap_remedy(account: Account, host: str) -> str:
    """What to type, so that channels that may overlap are added up."""
    channels = [channel.power.series for channel in account.placed]
    names = dict.fromkeys(series.sensor.name for series in channels)
    if len(names) < len(channels):
        # Logs of one channel each, which has the same name in all.
        names = dict.fromkeys(PurePath(series.path).name for series in channels)
    if len(names) < len(channels):
        return "Name the columns that count: --watts-col A,B"
    machine = host or "HOST"
    options = [f"--power-host {shlex.quote(f'{name}={machine}')}" for name in names]
    shown = " ".join(options[:_MAX_NAMED_CHANNELS])
    more = " and so on" if len(options) > _MAX_NAMED_CHANNELS else ""
    return f"To add up those that are different parts of {machine}: {shown}{more}"


def _no_power(opened: Opened) -> str:
    """That no log was found, why those beside the run are none, or which above it may be its."""
    unread = opened.entry.unread_power(opened.run.warnings)
    if unread is not None:
        return f"{NO_POWER_TAKEN}. {unread}"
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
