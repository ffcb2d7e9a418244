"""`powertui doctor [PATH]`: what was found where, what is missing and why, and the next command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powertui import __version__, units, wrapping
from powertui.data import logdir, run_readers
from powertui.data.asked import ReadOptions
from powertui.data.asking_folder import path_as_typed
from powertui.data.columns import text_column
from powertui.data.logdir import Logdir, PowerFile, RunEntry
from powertui.data.opened import Opened
from powertui.data.table import Result, Table
from powertui.data.training.training import Training, Trainings
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.report import checks, run_checks, run_table, text
from powertui.report import runs as listing
from powertui.report.checks import Check, CheckState
from powertui.report.runs import KnownRun
from powertui.report.writers import write

# Bounds of the text; JSON lists everything. Chosen, not measured.
_MAX_FILES = 12
_MAX_CHECKS = 12  # of one topic and state: the thirteenth of a kind shows nothing new
_MAX_RUNS = 200  # a screen or two for each


class _ExaminedRun(NamedTuple):
    """A run, what `doctor` has to say of it, and what reading it showed."""

    entry: RunEntry
    checks: list[Check]
    facts: KnownRun


def tell(path: str | None, reading: ReadOptions, form: str) -> int:
    """Print what was found; without a path, of the power logs that were named.

    Exit code 3 when nothing readable was.
    """
    if path is not None:
        scan = logdir.scan(path)
    else:
        scan = _logs_alone(reading.power)
    runs = list(run_readers.each_run(_examine_run, scan.runs, Trainings(scan, reading)))
    text.write_reader_warnings(reading.hosts)
    if path is None:  # nobody asked for a profile: that there is none is no finding
        runs = [run._replace(checks=_without(run.checks, "timeline")) for run in runs]
    path_checks = [*checks.of_program(), *checks.of_logdir(scan)]
    if form == "json":
        text.out(text.to_json(_as_dict(scan, runs, path_checks)))
    elif form == "csv":
        text.emit_csv(write(_as_result(scan, runs, path_checks), form))
    elif form == "markdown":
        text.out(write(_as_result(scan, runs, path_checks), form))
    else:
        text.out("\n".join(wrapping.fitted(_text(scan, runs, path_checks))))
    if any(run.facts.readable for run in runs):
        return 0
    return 3


def _logs_alone(paths: Sequence[str]) -> Logdir:
    """Power logs as a run of nothing else."""
    logs = []
    for path in paths:
        file = Path(path)
        size = file.stat().st_size if file.exists() else 0
        logs.append(
            PowerFile(
                path=str(file),
                dialect="",
                size=size,
            )
        )
    if len(paths) == 1:
        name = Path(paths[0]).name
    else:
        name = f"{len(paths)} power logs"
    power = tuple(logs)
    entry = RunEntry(
        name=name,
        path=paths[0],
        power=power,
    )
    return Logdir(
        path=", ".join(paths),
        runs=(entry,),
        power=power,
    )


def _as_dict(
    scan: Logdir,
    runs: Sequence[_ExaminedRun],
    path_checks: Sequence[Check],
) -> dict[str, Any]:
    return {
        "powertui": __version__,
        "path": scan.path,
        "entries": scan.entries,
        "checks": [check._asdict() for check in path_checks],
        "runs": [_run_as_dict(run) for run in runs],
    }


def _as_result(scan: Logdir, runs: Sequence[_ExaminedRun], path_checks: Sequence[Check]) -> Result:
    """The checks, those of the path first, and the list of runs."""
    shown = _ordered(path_checks)
    names = [""] * len(shown)
    for run in runs:
        ordered = _ordered(run.checks)
        shown += ordered
        names += [run.entry.name] * len(ordered)
    columns = (
        text_column("run", "run", names, weight=7),
        text_column("topic", "topic", [check.topic for check in shown]),
        text_column("state", "state", [check.state for check in shown], weight=9),
        text_column("what", "what was found", [check.what for check in shown], weight=9),
        text_column("do", "what to do", [check.do for check in shown], weight=8),
    )
    table = Table(
        id="checks",
        title="Checks",
        columns=columns,
        empty="Nothing to report.",
        noun="check",
    )
    listed = run_table.table([run.entry for run in runs], [run.facts for run in runs])
    return Result(
        id="doctor",
        title=f"Doctor: {scan.path}",
        tables=(table, listed),
    )


def _examine_run(entries: Sequence[RunEntry], trainings: Trainings, number: int) -> _ExaminedRun:
    """Read one of the runs and check it."""
    entry = entries[number]
    entry_checks = list(checks.of_entry(entry))
    training = trainings.training_for(entry)
    opened = trainings.opened(entry)
    run, problem = opened.run_or_problem()
    if run is None:
        if problem:  # it is no profile: then it does not matter on which level it is
            entry_checks = _without(entry_checks, "level")
            topic = "power" if entry.power and not entry.profiles else "profile"
            entry_checks.append(Check(topic=topic, state="problem", what=problem))
        return _ExaminedRun(
            entry=entry,
            checks=entry_checks,
            facts=listing.unreadable(entry, problem),
        )
    entry_checks += run_checks.of_run(entry, run, _around_ns(opened, training))
    if run.traces or run.scalars or run.power:
        run_facts = listing.read(opened)
    else:
        run_facts = listing.unreadable(entry, "")
    if training is not None:
        training.let_go(entry)
    return _ExaminedRun(entry=entry, checks=entry_checks, facts=run_facts)


def _without(checks: Sequence[Check], topic: str) -> list[Check]:
    return [check for check in checks if check.topic != topic]


def _around_ns(opened: Opened, training: Training | None) -> tuple[int, int] | None:
    """When the training around a run ran, as far as its profiles' clocks agree with that.

    Only power is compared with it: None without power.
    """
    if training is None or not opened.run.power:
        return None
    if not opened.profiles:
        return training.extent_ns
    spans_ns = map(training.around_ns, opened.profiles)
    return next((span_ns for span_ns in spans_ns if span_ns is not None), None)


def _run_as_dict(run: _ExaminedRun) -> dict[str, Any]:
    return {
        "name": run.entry.name,
        "path": run.entry.path,
        "readable": run.facts.readable,
        "found": _files(run.entry),
        "checks": [check._asdict() for check in run.checks],
    }


def _files(entry: RunEntry) -> list[dict[str, Any]]:
    """What belongs to a run: the kind, path and size of every file."""
    files: list[dict[str, Any]] = []

    def add(kind: str, file: Any) -> None:
        files.append({"kind": kind, "path": file.path, "size": file.size})

    for profile in entry.profiles:
        add("profile", profile)
    for alternate in entry.alternates:
        add("second form", alternate)
    for result in entry.results:
        add("result", result)
    for unread in entry.unread:
        add("unread", unread)
    for event in entry.tfevents:
        if event.kind == "scalars":
            add(f"tfevents {event.group}".rstrip(), event)
        else:
            add(event.kind, event)
    for log in entry.power:
        add("power", log)
    return files


def _text(scan: Logdir, runs: Sequence[_ExaminedRun], path_checks: Sequence[Check]) -> list[str]:
    lines = [_heading(scan), *_check_lines(path_checks)]
    for run in runs[:_MAX_RUNS]:
        lines += ["", plain(run.entry.name)]
        lines += _found_lines(_files(run.entry))
        lines += _check_lines(run.checks)
    omitted = len(runs) - _MAX_RUNS
    if omitted > 0:
        lines += ["", f"… and {omitted:,} more runs (--json lists them)"]
    return lines


def _found_lines(files: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("found", _file(file)) for file in files[:_MAX_FILES]]
    omitted = len(files) - _MAX_FILES
    if omitted > 0:
        rows.append(("found", f"… and {omitted} more files (--json lists them)"))
    return text.labelled(rows)


def _heading(scan: Logdir) -> str:
    """How many runs were found where."""
    path = plain(scan.path) if scan.path != "-" else "standard input"
    if not scan.runs:
        count = "no run"
    elif scan.power and not scan.entries:  # they were named: nothing was searched for them
        count = text.plural(len(scan.power), "power log")
    else:
        count = text.plural(len(scan.runs), "run")
    if scan.path == "-" or not scan.entries:
        return f"{path}: {count}"
    searched = text.plural(scan.entries, "name")
    return f"{path}: {count} ({searched} searched)"


def _file(file: dict[str, Any]) -> str:
    if file["path"] == "-":
        return "profile: standard input"
    path = plain(path_as_typed(file["path"]))
    return f"{file['kind']}: {path} ({units.size(file['size'])})"


_STATES: tuple[CheckState, ...] = ("problem", "missing", "note", "ok")  # worst first
_STATE_CELLS = max(map(len, _STATES))


def _ordered(checks: Sequence[Check]) -> list[Check]:
    """Each check once, what needs doing first."""
    return sorted(dict.fromkeys(checks), key=lambda check: _STATES.index(check.state))


def _check_lines(checks: Sequence[Check]) -> list[str]:
    """The checks, what needs doing first, and below each of them the next step."""
    kinds: dict[tuple[str, str], list[Check]] = {}
    for check in _ordered(checks):
        kind = (check.state, check.topic)
        kinds.setdefault(kind, []).append(check)
    lines: list[str] = []
    for (state, topic), checks_of_kind in kinds.items():
        for check in checks_of_kind[:_MAX_CHECKS]:
            what = plain(check.what)
            lines += _labelled(state, f"{topic}: {what}")
            if check.do:
                lines += _labelled("", f"→ {plain(check.do)}")
        omitted = len(checks_of_kind) - _MAX_CHECKS
        if omitted > 0:
            lines += _labelled("", f"… and {omitted:,} more (--json lists them)")
    return lines


def _labelled(state: str, words: str) -> list[str]:
    # Padded, so that the texts of all states line up though each line is laid out alone.
    return text.labelled([(state.ljust(_STATE_CELLS), words)])
