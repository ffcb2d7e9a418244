"""`powertui doctor [PATH]`: what was found where, what is missing and why, and the next command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from powertui import __version__, units
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.logdir import Logdir, PowerFile, RunEntry
from powertui.data.opened import Opened
from powertui.data.table import Result, Table, text_column
from powertui.data.training.training import Training, Trainings
from powertui.plain import plain
from powertui.report import checks, facts, many, text
from powertui.report import runs as listing
from powertui.report.checks import Check
from powertui.report.runs import KnownRun
from powertui.report.summary import load
from powertui.report.writers import write

_FILES_SHOWN = 12
_CHECKS_SHOWN = 12  # of one topic and state: the thirteenth of a kind tells nobody more
_RUNS_SHOWN = 200  # a screen or two for each; --json has them all

_Examined: TypeAlias = tuple[RunEntry, list[Check], KnownRun]


def tell(path: str | None, reading: ReadOptions, form: str) -> int:
    """Print what was found; without a path, of the power logs that were named.

    Exit code 3 when nothing readable was.
    """
    found = logdir.scan(path) if path is not None else _alone(reading.power)
    largest = max((entry.size for entry in found.runs), default=0)
    trainings = Trainings(found, reading)
    examined = list(many.each(lambda entry: _examine(entry, trainings), found.runs, largest))
    if path is None:  # that no profile is there was asked for
        examined = [
            (entry, [check for check in said if check.topic != "timeline"], known)
            for entry, said, known in examined
        ]
    whole = [*checks.of_program(), *checks.of_logdir(found)]
    if form == "json":
        text.out(
            text.to_json(
                {
                    "powertui": __version__,
                    "path": found.path,
                    "entries": found.entries,
                    "checks": [_json(check) for check in whole],
                    "runs": [
                        {
                            "name": entry.name,
                            "path": entry.path,
                            "readable": known.readable,
                            "found": _found(entry),
                            "checks": [_json(check) for check in said],
                        }
                        for entry, said, known in examined
                    ],
                }
            )
        )
    elif form == "csv":
        text.emit_csv(write(_as_result(found, examined, whole), form))
    elif form == "markdown":
        text.out(write(_as_result(found, examined, whole), form))
    else:
        text.out("\n".join(_text(found, examined, whole)))
    return 0 if any(known.readable for _, _, known in examined) else 3


def _alone(named: Sequence[str]) -> Logdir:
    """Power logs as a run of nothing else."""
    files = [Path(path) for path in named]
    logs = tuple(
        PowerFile(str(file), "", file.stat().st_size if file.exists() else 0) for file in files
    )
    name = files[0].name if len(named) == 1 else f"{len(named)} power logs"
    return Logdir(", ".join(named), (RunEntry(name, named[0], power=logs),), power=logs)


def _as_result(found: Logdir, examined: Sequence[_Examined], whole: Sequence[Check]) -> Result:
    """The checks, those of the path first, and the list of runs."""
    said = [("", check) for check in _ordered(whole)]
    said += [(entry.name, check) for entry, checked, _ in examined for check in _ordered(checked)]
    checked = Table(
        "checks",
        "Checks",
        (
            text_column("run", "run", [run for run, _ in said], weight=7),
            text_column("topic", "topic", [check.topic for _, check in said]),
            text_column("state", "state", [check.state for _, check in said], weight=9),
            text_column("what", "what was found", [check.what for _, check in said], weight=9),
            text_column("do", "what to do", [check.do for _, check in said], weight=8),
        ),
        empty="Nothing to report.",
        noun="check",
    )
    runs = listing.table([entry for entry, _, _ in examined], [known for _, _, known in examined])
    return Result("doctor", f"Doctor: {found.path}", (checked, runs))


def _examine(entry: RunEntry, trainings: Trainings) -> _Examined:
    """(the run, its findings, what is known of it now)."""
    said = list(checks.of_entry(entry))
    training = trainings.training_for(entry)
    opened = trainings.opened(entry)
    loaded, problem = load(opened)
    if loaded is None:
        if problem:
            said = [
                check for check in said if check.topic != "level"
            ]  # where it lies does not matter: it is no profile
            said.append(Check("profile", "problem", problem))
        return entry, said, listing.unreadable(entry, problem)
    said += checks.of_run(entry, loaded, _around_ns(opened, training))
    readable = bool(loaded.traces or loaded.scalars or loaded.power)
    known = listing.read(opened) if readable else listing.unreadable(entry, "")
    if training is not None:
        training.let_go(entry)
    return entry, said, known


def _around_ns(opened: Opened, training: Training | None) -> tuple[int, int] | None:
    """When the training around a run ran, as far as its profiles' clocks agree with that.

    Without power nobody asks.
    """
    if training is None or not opened.run.power:
        return None
    if not opened.profiles:
        return training.extent_ns
    return next(
        (
            around
            for profile in opened.profiles
            if (around := training.around_ns(profile)) is not None
        ),
        None,
    )


def _json(check: Check) -> dict[str, str]:
    return {"topic": check.topic, "state": check.state, "what": check.what, "do": check.do}


def _found(entry: RunEntry) -> list[dict[str, Any]]:
    rows: list[tuple[str, str, int]] = []
    for kind, files in (
        ("profile", entry.profiles),
        ("second form", entry.alternates),
        ("result", entry.results),
        ("unread", entry.unread),
    ):
        rows += [(kind, file.path, file.size) for file in files]
    rows += [
        (
            f"tfevents {event.group}".rstrip() if event.kind == "scalars" else event.kind,
            event.path,
            event.size,
        )
        for event in entry.tfevents
    ]
    rows += [("power", log.path, log.size) for log in entry.power]
    return [{"kind": kind, "path": path, "size": size} for kind, path, size in rows]


_ORDER = {"problem": 0, "missing": 1, "note": 2, "ok": 3}


def _text(found: Logdir, examined: Sequence[_Examined], whole: Sequence[Check]) -> list[str]:
    count = text.plural(len(found.runs), "run") if found.runs else "no run"
    if found.runs and not found.entries and found.power:  # nothing was searched for them
        count = text.plural(len(found.power), "power log")
    seen = (
        f" ({text.plural(found.entries, 'name')} searched)"
        if found.path != "-" and found.entries
        else ""
    )
    lines = [f"{plain(found.path) if found.path != '-' else 'standard input'}: {count}{seen}"]
    lines += _checks(whole)
    for entry, said, _ in examined[:_RUNS_SHOWN]:
        lines += ["", plain(entry.name)]
        files = _found(entry)
        rows = [("found", _file(file)) for file in files[:_FILES_SHOWN]]
        if len(files) > _FILES_SHOWN:
            rows.append(
                ("found", f"… and {len(files) - _FILES_SHOWN} more files (--json lists them)")
            )
        lines += text.labelled(rows)
        lines += _checks(said)
    if len(examined) > _RUNS_SHOWN:
        lines += ["", f"… and {len(examined) - _RUNS_SHOWN:,} more runs (--json lists them)"]
    return lines


def _file(file: dict[str, Any]) -> str:
    if file["path"] == "-":
        return "profile: standard input"
    return f"{file['kind']}: {plain(facts.shown(file['path']))} ({units.size(file['size'])})"


def _ordered(said: Sequence[Check]) -> list[Check]:
    return sorted(dict.fromkeys(said), key=lambda check: _ORDER[check.state])


def _checks(said: Sequence[Check]) -> list[str]:
    """What needs doing first. The next step stands under its finding."""
    kinds: dict[tuple[str, str], list[Check]] = {}
    for check in _ordered(said):
        kinds.setdefault((check.state, check.topic), []).append(check)
    lines: list[str] = []
    for (state, topic), checked in kinds.items():
        for check in checked[:_CHECKS_SHOWN]:
            lines += text.labelled([(state.ljust(7), f"{topic}: {plain(check.what)}")])
            if check.do:
                lines += text.labelled([(" " * 7, f"→ {plain(check.do)}")])
        if len(checked) > _CHECKS_SHOWN:
            lines += text.labelled(
                [(" " * 7, f"… and {len(checked) - _CHECKS_SHOWN:,} more (--json lists them)")]
            )
    return lines
