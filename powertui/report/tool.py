"""`powertui report --tool NAME`: one tool's answer about every run that was asked for, in any form.

Knows no tool.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from powertui import __version__
from powertui.data import elsewhere, logdir, run_readers
from powertui.data.asked import Aligning, Compat, ReadOptions, ResultSource
from powertui.data.columns import text_column
from powertui.data.logdir import RunEntry
from powertui.data.opened import Opened
from powertui.data.table import Result, Table, stacked, written
from powertui.data.tools import registry
from powertui.data.tools.registry import Question, Tool
from powertui.data.training.training import Trainings
from powertui.errors import UnreadableFile, UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.report import text
from powertui.report.writers import write
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.report.export import WindowWords

_OF_TRAININGS = ("end_to_end",)  # tools that need no profile: scalars tell them enough
_ALL_HOSTS = "all"  # as the name of a host: all of them together
_MAX_WARNINGS = 3  # of a run; chosen: more of them are of one cause, and `doctor` lists them all


@dataclass(frozen=True)
class ToolRequest:
    """Which tool, about which part of each run, and by whose rules."""

    tool: str
    aligning: Aligning = field(default_factory=Aligning)
    compat: Compat = "corrected"
    match: str = ""  # a regular expression: only events with such names, where a tool asks for it
    choice: str = ""  # what exactly, of tools that can be asked about several
    start: int | None = None  # the window, ps; None: from the beginning, or to the end
    end: int | None = None
    host: str | None = None  # only this one; "all": all of them as one answer
    window: WindowWords | None = None  # in words, in place of `start` and `end`
    results: ResultSource = "ours"  # or what the profiler stored itself, or both against each other

    def question(self, opened: Opened, host: int, *, together: bool = False) -> Question:
        """The same as a question about one run.

        Raises `UsageError` where the run does not have the window.
        """
        lo, hi = self.start, self.end
        if self.window is not None:
            from powertui.report.export import profile_window

            lo, hi = profile_window(self.window, opened.run, host)
        return Question(
            opened=opened,
            host=host,
            lo=lo,
            hi=hi,
            aligning=self.aligning,
            compat=self.compat,
            match=self.match,
            choice=self.choice,
            together=together,
            results=self.results,
        )


@dataclass(frozen=True, eq=False)
class _HostAnswer:
    """The answer about one host of one run."""

    run: str
    host: str
    result: Result


def tell(
    path: str,
    run: str | None,
    reading: ReadOptions,
    request: ToolRequest,
    form: str,
) -> int:
    """Print the answers about the runs that were named.

    Raises `UnreadableFile` where none of them holds a profile.
    """
    tool = registry.get(request.tool)
    trainings = Trainings(logdir.scan(path), reading, request.aligning)
    entries = _with_answers(trainings.found.chosen(run), tool, request)
    runs = run_readers.each_run(partial(_ask_run, request), entries, trainings)
    if tool.name in _OF_TRAININGS and run is None:
        without_sessions = trainings.without_sessions()
        runs = itertools.chain(runs, (_told(opened, tool, request) for opened in without_sessions))
    answers = list(_answers(runs, request))
    text.write_reader_warnings(reading.hosts)
    if not answers:
        raise _without_answer(path, tool, trainings.found.chosen(run))
    if form == "json":
        text.out(text.to_json(_as_dict(path, tool, answers)))
    elif form == "csv":
        from powertui.report.writers import as_csv  # only for this form

        text.emit_csv(as_csv.of_table(_joined(answers)))
    else:
        several = len(answers) > 1
        text.out("\n".join(write(_titled(answer, several), form) for answer in answers))
    return 0


def _without_answer(path: str, tool: Tool, entries: Sequence[RunEntry]) -> UnreadableFile:
    """Why no run answers. Where the profiler's own results are all that is there, they do."""
    if any(entry.results for entry in entries) and not any(entry.profiles for entry in entries):
        return UnreadableFile(
            path,
            f"has no profile, and the profiler stored no result of {tool.name}",
            hint=f"What it stored: powertui report {path} --tool recorded_results",
        )
    return UnreadableFile(
        path, "has no readable profile", hint=f"See what is there: powertui doctor {path}"
    )


def _with_answers(entries: Sequence[RunEntry], tool: Tool, request: ToolRequest) -> list[RunEntry]:
    """The runs that can answer: those with a profile, and those whose profiler stored this page.

    Raises `UsageError` where recorded results are asked for and no run has them.
    """
    if request.results == "ours" and not any(entry.results for entry in entries):
        return [entry for entry in entries if entry.profiles]
    from powertui.data.tools.recorded.answers import recorded_files, recorded_tools

    recorded = [entry for entry in entries if tool.name in recorded_tools(entry)]
    if request.results == "ours":
        if tool.name == "recorded_results":
            recorded = [entry for entry in entries if recorded_files(entry)]
        return [entry for entry in entries if entry.profiles or entry in recorded]
    if not recorded:
        raise UsageError(
            f"No run here has a recorded result of {tool.name}.",
            hint="What the profiler stored: powertui report PATH --tool recorded_results",
        )
    if request.results == "differences":
        return [entry for entry in recorded if entry.profiles]
    return recorded


def names(form: str) -> int:
    """Print which tools there are."""
    tools = registry.TOOLS
    columns = (
        text_column("name", "name", [tool.name for tool in tools]),
        text_column("title", "title", [tool.title for tool in tools]),
        text_column("about", "what it shows", [tool.about for tool in tools]),
    )
    table = Table(id="tools", title="For powertui report PATH --tool NAME", columns=columns)
    document = write(
        Result(
            id="tools",
            title="Tools",
            tables=(table,),
        ),
        form,
    )
    if form == "csv":
        text.emit_csv(document)
    else:
        text.out(document)
    return 0


class _RunAnswers(NamedTuple):
    """What a tool says of one run."""

    answers: list[_HostAnswer]
    hosts: tuple[str, ...]  # that it could be asked about; () where one answer is about all
    messages: list[str]  # lines to stand beside the answers


def _answers(runs: Iterable[_RunAnswers], request: ToolRequest) -> Iterator[_HostAnswer]:
    """The answer about every host that was asked for, of every run that has a profile.

    Raises `UsageError` where no run has such a host.
    """
    hosts: dict[str, None] = {}  # in the order of the runs
    answered = False
    for told in runs:
        for message in told.messages:
            text.write(sys.stderr, message)
        hosts |= dict.fromkeys(told.hosts)
        answered |= bool(told.answers)
        yield from told.answers
    if hosts and not answered:
        names = ", ".join(plain(name, 80) for name in hosts)
        hint = f"There are: {names}. {_ALL_HOSTS} combines them all."
        raise UsageError(f"There is no host {plain(str(request.host), 80)!r}.", hint=hint)


def _ask_run(
    request: ToolRequest,
    entries: Sequence[RunEntry],
    trainings: Trainings,
    number: int,
) -> _RunAnswers:
    """What the tool says of one of the runs."""
    (told,) = (
        _told(opened, registry.get(request.tool), request)
        for opened in trainings.each([entries[number]])
    )
    return told


def _told(opened: Opened, tool: Tool, request: ToolRequest) -> _RunAnswers:
    """What a tool says of a run. Raises `UsageError` for a window that is none."""
    try:
        profiles = opened.profiles
    except UnreadableFile as error:  # the other runs still have answers
        return _RunAnswers(
            answers=[],
            hosts=(),
            messages=text.error_lines(error),
        )
    messages = _warnings(opened)
    asks_about_all = request.host == _ALL_HOSTS or (tool.of_run and request.host is None)
    if asks_about_all and len(profiles) > 1:
        question = request.question(opened, 0, together=not tool.of_run)
        answer = _HostAnswer(
            run=opened.name,
            host="all hosts",
            result=written(tool.answer(question)),
        )
        return _RunAnswers(
            answers=[answer],
            hosts=(),
            messages=messages,
        )
    answers = []
    hosts = _host_names(opened)
    for index, host in enumerate(hosts):
        if request.host not in (None, _ALL_HOSTS, host):
            continue
        question = request.question(opened, index)
        if profiles and question.window[0] > question.window[1]:
            raise UsageError(
                "This window ends before it begins.",
                hint="Times count from the profile's zero: --from 1.2s --to 1.5s",
            )
        answers.append(
            _HostAnswer(
                run=opened.name,
                host=host,
                result=written(tool.answer(question)),
            )
        )
    return _RunAnswers(answers=answers, hosts=hosts, messages=messages)


def _warnings(opened: Opened) -> list[str]:
    """What is missing of the profiles, to be told beside the answer: a host that is not there, or
    is cut, may be why it looks as it does.
    """
    run = opened.run
    logs = {log.path for log in (*opened.entry.power, *opened.entry.above)}
    warnings = [warning for warning in run.warnings if warning.file not in logs]
    for trace in run.traces:
        warnings += trace.warnings
    lines = []
    for warning in warnings[:_MAX_WARNINGS]:
        lines.append(f"powertui: {plain(elsewhere.warning_text(warning))}")
    more = len(warnings) - _MAX_WARNINGS
    if more > 0:
        lines.append(f"powertui: {more:,} more: powertui doctor {plain(run.path)}")
    return lines


def _host_names(opened: Opened) -> tuple[str, ...]:
    """The hosts that a tool can be asked about; without a profile, those that left results."""
    if opened.entry.profiles:
        return tuple(profile.host for profile in opened.profiles)
    if not opened.entry.results:
        return ("",)
    from powertui.data.tools.recorded.answers import recorded_hosts

    return recorded_hosts(opened.entry)


def _as_dict(path: str, tool: Tool, answers: Sequence[_HostAnswer]) -> dict[str, Any]:
    """One object for everything under a path.

    It is the answer itself where there is one, else it has a list of them.
    """
    from powertui.report.writers import as_json  # only for this form

    head = {"powertui": __version__, "path": path, "tool": tool.name}
    runs = []
    for answer in answers:
        host = {"run": answer.run, "host": answer.host}
        runs.append(host | as_json.as_dict(answer.result))
    if len(runs) == 1:
        return head | runs[0]
    return {**head, "runs": runs}


def _joined(answers: Sequence[_HostAnswer]) -> Table:
    """The first table of every answer as one; of several, run and host are its first columns."""
    if len(answers) == 1:
        return _first_table(answers[0].result)
    return stacked([_named(answer) for answer in answers])


def _first_table(result: Result) -> Table:
    return result.table or Table(
        id=result.id,
        title=result.title,
        columns=(),
    )


def _named(answer: _HostAnswer) -> Table:
    """The first table of an answer with its run and host in front."""
    table = _first_table(answer.result)
    count = len(table)
    named = (
        text_column("run", "run", [answer.run] * count),
        text_column("host", "host", [answer.host] * count),
    )
    others = [column for column in table.columns if column.id not in ("run", "host")]
    return replace(table, columns=(*named, *others))


def _titled(answer: _HostAnswer, several: bool) -> Result:
    if not several:
        return answer.result
    host = answer.host or "this host"
    return replace(answer.result, title=f"{answer.result.title}: {answer.run} on {host}")
