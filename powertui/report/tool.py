"""`powertui report --tool NAME`: one tool's answer about every run that was asked for, in any form.

Knows no tool.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from powertui import __version__
from powertui.data import logdir
from powertui.data.asked import Aligning, Compat, ReadOptions
from powertui.data.opened import Opened
from powertui.data.table import Result, Table, stacked, text_column
from powertui.data.tools import registry
from powertui.data.tools.registry import Question, Tool
from powertui.data.training.training import Trainings
from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain
from powertui.report import text
from powertui.report.writers import as_csv, as_json, as_markdown, as_text, write

_ALL = "all"  # what names all hosts together


@dataclass(frozen=True, eq=False)
class _HostAnswer:
    """What one tool said about one host of one run."""

    run: str
    host: str
    result: Result


def tell(
    path: str,
    run: str | None,
    reading: ReadOptions,
    name: str,
    form: str,
    aligning: Aligning | None = None,
    compat: Compat = "corrected",
    match: str = "",
    window: tuple[int | None, int | None] = (None, None),
    host: str | None = None,
) -> int:
    """Print the answers about the runs that were named.

    Raises `UnreadableFile` where none of them holds a profile.
    """
    tool = registry.get(name)
    around = Trainings(logdir.scan(path), reading, aligning)
    runs = around.each(entry for entry in around.found.chosen(run) if entry.profiles)
    answers = list(_ask(runs, tool, aligning, compat, match, window, host))
    if not answers:
        raise UnreadableFile(
            path, "has no readable profile", hint=f"See what is there: powertui doctor {path}"
        )
    if form == "json":
        text.out(text.to_json(_as_dict(path, tool, answers)))
    elif form == "csv":
        text.emit_csv(as_csv.of_table(_joined(answers)))
    elif form == "markdown":
        text.out("\n".join(as_markdown.write(_titled(one, len(answers) > 1)) for one in answers))
    else:
        text.out("\n".join(as_text.write(_titled(one, len(answers) > 1)) for one in answers))
    return 0


def names(form: str) -> int:
    """Print which tools there are."""
    tools = registry.TOOLS
    columns = (
        text_column("name", "name", [tool.name for tool in tools]),
        text_column("title", "title", [tool.title for tool in tools]),
        text_column("about", "what it shows", [tool.about for tool in tools]),
    )
    written = write(
        Result(
            "tools", "Tools", (Table("tools", "For powertui report PATH --tool NAME", columns),)
        ),
        form,
    )
    text.emit_csv(written) if form == "csv" else text.out(written)
    return 0


def _ask(
    opened: Iterable[Opened],
    tool: Tool,
    aligning: Aligning | None = None,
    compat: Compat = "corrected",
    match: str = "",
    window: tuple[int | None, int | None] = (None, None),
    host: str | None = None,
) -> Iterator[_HostAnswer]:
    """Every host of every run that has a profile; or the one of this name, or all of them as one
    (`all`). Raises `UsageError` where no run has it.
    """
    seen: dict[str, None] = {}
    found = False
    for one in opened:
        try:
            profiles = one.profiles
        except UnreadableFile as error:  # the others can still be told of
            text.write(sys.stderr, f"powertui: {plain(str(error))}")
            continue
        if host == _ALL and len(profiles) > 1:
            found = True
            question = Question(
                one, 0, *window, aligning or Aligning(), compat, match, together=True
            )
            yield _HostAnswer(one.name, "all hosts", tool.answer(question))
            continue
        for profile in profiles:
            seen[profile.host] = None
            if host not in (None, _ALL, profile.host):
                continue
            found = True
            question = Question(one, profile.index, *window, aligning or Aligning(), compat, match)
            if question.window[0] > question.window[1]:
                raise UsageError(
                    "This window ends before it begins.",
                    hint="Times count from the profile's zero: --from 1.2s --to 1.5s",
                )
            yield _HostAnswer(one.name, profile.host, tool.answer(question))
    if not found and seen:
        names = ", ".join(plain(name, 80) for name in seen)
        hint = f"There are: {names}. {_ALL} combines them all."
        raise UsageError(f"There is no host {plain(str(host), 80)!r}.", hint=hint)


def _as_dict(path: str, tool: Tool, answers: Sequence[_HostAnswer]) -> dict[str, Any]:
    """One object for everything under a path: the answer itself where there is one, else a list of
    them.
    """
    told = [{"run": one.run, "host": one.host, **as_json.as_dict(one.result)} for one in answers]
    head = {"powertui": __version__, "path": path, "tool": tool.name}
    return {**head, **told[0]} if len(told) == 1 else {**head, "runs": told}


def _joined(answers: Sequence[_HostAnswer]) -> Table:
    """The first table of every answer as one, with run and host in front where there are
    several.
    """
    tables = [one.result.table or Table(one.result.id, one.result.title, ()) for one in answers]
    if len(answers) == 1:
        return tables[0]
    return stacked([_named(one, table) for one, table in zip(answers, tables, strict=True)])


def _named(one: _HostAnswer, table: Table) -> Table:
    count = len(table)
    named = (
        text_column("run", "run", [one.run] * count),
        text_column("host", "host", [one.host] * count),
    )
    return replace(
        table,
        columns=(*named, *(column for column in table.columns if column.id not in ("run", "host"))),
    )


def _titled(one: _HostAnswer, several: bool) -> Result:
    return (
        replace(one.result, title=f"{one.result.title}: {one.run} on {one.host or 'this host'}")
        if several
        else one.result
    )
