"""`powertui report PATH`: the facts of each run, as text, JSON, CSV or Markdown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from powertui import __version__, units, wrapping
from powertui.data import logdir, run_readers
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.asking_folder import path_as_typed
from powertui.data.logdir import Logdir, RunEntry
from powertui.data.model import NS_PER_S, PS_PER_S, Run
from powertui.data.opened import Opened
from powertui.data.training.training import Training, Trainings
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.report import chart, facts, run_page, step_facts, text
from powertui.report.conclusions import json_conclusions
from powertui.report.facts import Facts
from powertui.value_types import dataclass

# So many runs are also searched for findings: that takes longer than reading them. Chosen, not
# measured.
_MAX_SEARCHED_RUNS = 20
_NOT_SEARCHED: Facts = {"conclusions": None, "looked_at": None}
_MAX_MARKDOWN_EPOCHS = 200  # rows of a table; chosen, not measured


# Charts of a run for a document, as lines: what draws them stands above the reports.
Charts: TypeAlias = Callable[[Opened, Aligning], Sequence[str]]


def tell(
    path: str,
    name: str | None,
    reading: ReadOptions,
    aligning: Aligning,
    form: str,
    charts: Charts | None = None,
) -> int:
    """Print the facts of the runs that were named, and as Markdown their charts.

    Exit code 3 when nothing of them could be read.
    """
    scan = logdir.scan(path)
    entries = scan.chosen(name)
    trainings = Trainings(scan, reading, aligning)
    if form == "csv":
        return _csv(entries, trainings)
    describes = form != "json"
    answers = list(_read(entries, trainings, aligning, charts, describes=describes))
    text.write_reader_warnings(reading.hosts)
    runs = [answer.facts for answer in answers]
    chosen = trainings.chosen(entries, name is None)
    described = _described(chosen, entries, answers)
    # Scalars and power without a profile are a training; scalars alone are one whose profile is
    # missing.
    has_training_alone = any(
        not training.entry.sessions and training.logs.power for training in chosen
    )
    if form == "json":
        from powertui.report import training_json

        document = {
            "powertui": __version__,
            **facts.of_logdir(scan),
            "runs": runs,
            "trainings": training_json.json_trainings(chosen),
        }
        text.out(text.to_json(document))
    elif form == "markdown":
        text.out("\n".join(_markdown(scan, runs, described)))
    else:
        from powertui.report import training_page

        lines = []
        if runs or not has_training_alone:
            lines += _text(scan, runs)
        lines += training_page.summaries(described, with_joules=not Path(path).is_file())
        text.out("\n".join(wrapping.fitted(lines)))
    is_any_readable = any(answer.readable for answer in answers)
    return 0 if is_any_readable or has_training_alone else 3


class _Answer(NamedTuple):
    """What is said of one run."""

    facts: Facts
    readable: bool
    training_says_more: bool  # than this run, the only one of its training


def _read(
    entries: Sequence[RunEntry],
    trainings: Trainings,
    aligning: Aligning,
    charts: Charts | None,
    *,
    describes: bool,
) -> Iterator[_Answer]:
    """What is said of each run; of its training only if that is to be described.

    The traces of a run are let go of before the next.
    """
    question = _Question(
        aligning=aligning,
        charts=charts,
        describes=describes,
        searches=len(entries) <= _MAX_SEARCHED_RUNS,
    )
    return run_readers.each_run(partial(_read_run, question), entries, trainings)


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked of each of many runs."""

    aligning: Aligning
    charts: Charts | None
    describes: bool
    searches: bool  # for findings, too


def _read_run(
    question: _Question,
    entries: Sequence[RunEntry],
    trainings: Trainings,
    number: int,
) -> _Answer:
    """What is said of one of the runs."""
    entry = entries[number]
    aligning = question.aligning
    for opened in trainings.each([entry]):
        run, problem = opened.run_or_problem()
        readable = run is not None and is_readable(entry, run)
        profiles = opened.profiles if run is not None else ()
        answer = facts.of_run(entry, run, problem, profiles, aligning)
        if readable and question.searches:
            answer["findings"] = _findings(opened, aligning)
            answer |= _conclusions(opened, aligning)
            if question.charts is not None and profiles:
                answer["charts"] = question.charts(opened, aligning)
        else:
            answer["findings"] = None
            answer |= _NOT_SEARCHED
    # Asked here, where the logs of this run have been read: of thousands of runs that is in
    # another process, and the first one would read all of them again.
    training = trainings.training_for(entry) if question.describes else None
    return _Answer(answer, readable, training is not None and _says_more(training))


def _says_more(training: Training) -> bool:
    if len(training.entry.sessions) != 1:
        return True
    from powertui.report import training_page

    return training_page.deserves_page(training)


def _described(
    trainings: Sequence[Training],
    entries: Sequence[RunEntry],
    answers: Sequence[_Answer],
) -> list[Training]:
    """The trainings that say more than the runs in them."""
    says_more = {
        id(entry): answer.training_says_more for entry, answer in zip(entries, answers, strict=True)
    }
    described = []
    for training in trainings:
        sessions = training.entry.sessions
        if len(sessions) != 1 or says_more[id(sessions[0])]:
            described.append(training)
    return described


def is_readable(entry: RunEntry, run: Run) -> bool:
    if run.traces or run.scalars:
        return True
    # A profile that was named and cannot be read has failed, even where power is beside it.
    is_named_file = bool(entry.profiles) and Path(entry.path).is_file()
    return bool(run.power) and not is_named_file


def _findings(opened: Opened, aligning: Aligning) -> list[Facts] | None:
    """The findings in each profile that has power; None where there is none."""
    if not opened.run.power:
        return None
    from powertui.data.energy import account

    findings = []
    for profile in opened.profiles:
        for finding in account.findings(profile, aligning).findings:
            facts = {
                "host": profile.host,
                "text": finding.text,
                "epoch": finding.epoch,
                "step_lo": finding.step_lo,
                "step_hi": finding.step_hi,
                "start_s": finding.start_ps / PS_PER_S,
                "end_s": finding.end_ps / PS_PER_S,
                "watts": finding.delta_watts,
                "joules": finding.delta_joules,
                "badge": finding.badge.value,
            }
            findings.append(facts)
    return findings


def _conclusions(opened: Opened, aligning: Aligning) -> Facts:
    """What to conclude from the run, the most important first, and what was looked at."""
    from powertui.data.conclusions.run_conclusions import run_conclusions

    conclusions = run_conclusions(opened, aligning)
    return {
        "conclusions": json_conclusions(opened, conclusions),
        "looked_at": conclusions.looked_at,
    }


# ── text ─────────────────────────────────────────────────────────────────────────────────────────


def _text(scan: Logdir, runs: Sequence[Facts]) -> list[str]:
    lines: list[str] = []
    columns = chart.room()
    if not runs:
        lines += no_run(scan)
    elif len(runs) > 1:
        lines += [f"{len(runs)} runs in {plain(scan.path)}", ""]
    for index, run in enumerate(runs):
        if index:
            lines.append("")
        lines += run_page.describe(run, columns)
    for file in scan.unread:
        lines.append(f"not read: {plain(path_as_typed(file.path))} ({facts.why_unread(file)})")
    for problem in scan.problems:
        lines.append(f"note: {plain(str(problem))}")
    return lines


def no_run(scan: Logdir) -> list[str]:
    from powertui.report import checks  # not needed where there is a run

    path = plain(scan.path)
    place = "this folder" if path == "." else path
    lines = [f"No run of a profiler was found in {place}. To see why: powertui doctor {path}"]
    for check in checks.of_logdir(scan):
        if check.topic == "profile":
            lines += [f"  {plain(check.what)}", f"  → {plain(check.do)}"]
    return lines


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────

RUN_HEADERS = (
    "run",
    "hosts",
    "devices",
    "events",
    "steps",
    "median step",
    "epochs",
    "duration",
    "start",
    "clock",
)
_EPOCH_HEADERS = ("epoch", "start", "end", "length", "steps", "source")


def _markdown(scan: Logdir, runs: Sequence[Facts], trainings: Sequence[Training]) -> list[str]:
    lines: list[str] = []
    if runs:
        rows = [run_cells(run) for run in runs]
        lines += text.markdown(RUN_HEADERS, rows, right=range(1, 8))
    else:
        lines.append(f"No run of a profiler was found in {text.markdown_text(scan.path)}.")
    for run in runs:
        lines.append("")
        lines += _markdown_run(run)
    from powertui.report import training_page

    summaries = training_page.summaries(trainings)
    if summaries:
        lines.append("")
    lines += _bullets(line.strip() for line in summaries if line)
    return lines


def _bullets(sentences: Iterable[str]) -> list[str]:
    return [f"- {text.markdown_text(sentence)}" for sentence in sentences]


def _markdown_run(run: Facts) -> list[str]:
    """The steps and epochs of every host below the name of the run, and its warnings."""
    profiles = run["profiles"]
    conclusions = run["conclusions"] or ()  # None where there were too many runs to look
    lines = [f"## {text.markdown_text(run['name'])}", ""]
    lines += _bullets(conclusion["sentence"] for conclusion in conclusions)
    if conclusions:
        lines.append("")
    if run.get("charts"):
        lines += ["```text", *run["charts"], "```", ""]
    for profile in profiles:
        if len(profiles) > 1:
            lines += [f"### {text.markdown_text(profile['host'])}", ""]
        lines += _bullets(_step_lines(profile["steps"]))
        lines += _markdown_epochs(profile["epochs"])
    for warning in run["warnings"]:
        lines.append(f"- warning: {text.markdown_text(warning)}")
    return lines


def _step_lines(steps: Facts) -> list[str]:
    """As below the word "steps" of the text: here the first line has it."""
    first, *others = step_facts.lines(steps)
    return [f"steps: {first}", *others]


def run_cells(run: Facts) -> list[str]:
    spreads = [profile["steps"]["step_s"] for profile in run["profiles"]]
    spread = next(filter(None, spreads), None)
    median_step = ""
    if spread is not None:
        median_step = text.duration(spread["median_s"])
    duration = ""
    if run["duration_s"] is not None:
        duration = text.duration(run["duration_s"])
    return [
        run["name"],
        str(len(run["hosts"])),
        str(len(run["devices"])),
        f"{run['events']:,}",
        str(run["steps"]),
        median_step,
        str(run["epochs"]),
        duration,
        run_page.start_time(run),
        run["clock"]["source"],
    ]


def _markdown_epochs(epochs: Facts) -> list[str]:
    if not epochs["count"]:
        return []
    rows = []
    for row in epochs["rows"][:_MAX_MARKDOWN_EPOCHS]:
        rows.append([*run_page.epoch_cells(row), run_page.recorded_steps(row), row["source"]])
    return ["", *text.markdown(_EPOCH_HEADERS, rows, right=range(5)), ""]


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

_CSV_COLUMNS = (
    "run",
    "host",
    "epoch",
    "step",
    "name",
    "start_s",
    "duration_s",
    "start_to_start_s",
    "unix_start_s",
    "clock_half_width_s",
    "host_s",
    "device_s",
    "step_s",
)


def _csv(entries: Sequence[RunEntry], trainings: Trainings) -> int:
    """Print one row per step. Warnings would break the table: they go to standard error."""
    readable = False
    rows: list[Sequence[Any]] = []
    for steps in run_readers.each_run(_read_steps, entries, trainings):
        if steps.problem:
            text.write(sys.stderr, f"powertui: {plain(steps.problem)}")
        readable = readable or steps.readable
        rows += steps.rows
    text.write_reader_warnings(trainings.options.hosts)
    text.emit_csv(text.to_csv(_CSV_COLUMNS, rows))
    return 0 if readable else 3


class _RunSteps(NamedTuple):
    """The steps of one run as rows, or why it was not read."""

    rows: list[Sequence[Any]]
    readable: bool
    problem: str


def _read_steps(entries: Sequence[RunEntry], trainings: Trainings, number: int) -> _RunSteps:
    entry = entries[number]
    run, problem = Opened(entry, trainings.options).run_or_problem()
    if run is None:
        why = problem or f"{entry.name}: {facts.why_no_timeline(entry)}"
        return _RunSteps(
            rows=[],
            readable=False,
            problem=why,
        )
    return _RunSteps(
        rows=list(_step_rows(run)),
        readable=bool(run.traces),
        problem="",
    )


def _step_rows(run: Run) -> Iterator[Sequence[Any]]:
    for trace, steps, epochs in zip(run.traces, run.steps, run.epochs, strict=True):
        half = None
        if trace.clock.known:
            half = _exact(trace.clock.half_ns, NS_PER_S, 6)
        for step in steps:
            epoch_number = None
            if step.epoch is not None:
                epoch_number = epochs[step.epoch].number
            unix_ns = facts.unix_ns(trace.clock, step.start)
            yield (
                run.name,
                trace.host,
                epoch_number,
                step.number if step.number >= 0 else None,
                step.name,
                _exact_seconds(step.start),
                _exact_seconds(step.duration),
                _exact_seconds(step.start_to_start),
                _exact(unix_ns, NS_PER_S, 9),
                half,
                _exact_seconds(step.host),
                _exact_seconds(step.device),
                _exact_seconds(step.step),
            )


def _exact(value: int | None, size: int, digits: int) -> text.ExactNumber | None:
    if value is None:
        return None
    return text.ExactNumber(units.fixed(value, size, digits))


def _exact_seconds(ps: int | None) -> text.ExactNumber | None:
    """Seconds with all twelve decimals: picoseconds lose nothing."""
    return _exact(ps, PS_PER_S, 12)
