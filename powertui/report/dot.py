"""`powertui report --tool graph_viewer --dot`: a program of XLA in Graphviz's language."""

from __future__ import annotations

from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.hlo_graph import program_dot
from powertui.data.opened import Opened
from powertui.data.tools import graph_viewer
from powertui.data.tools.registry import Question
from powertui.errors import UnreadableFile, UsageError
from powertui.plain import plain
from powertui.report import text


def tell(
    path: str,
    run: str | None,
    reading: ReadOptions,
    choice: str,
    host: str | None,
) -> int:
    """Print the program of one run; with an op, what is around that."""
    entries = [entry for entry in logdir.scan(path).chosen(run) if entry.profiles]
    if not entries:
        raise UnreadableFile(
            path, "has no readable profile", hint=f"See what is there: powertui doctor {path}"
        )
    if len(entries) > 1:
        raise UsageError(
            f"There are {len(entries):,} runs with profiles.",
            hint="A graph shows one of them: --run NAME",
        )
    opened = Opened(entries[0], reading)
    question = Question(
        opened=opened,
        host=_host(opened, host),
        choice=choice,
    )
    graph, name = graph_viewer.chosen(question)
    names = None
    if "/" in choice:
        near = graph.neighbors(name, graph_viewer.DEPTH, graph_viewer.MAX_NEIGHBORS)
        names = {name, *(neighbor.name for neighbor in near)}
    text.out(program_dot(graph, names))
    return 0


def _host(opened: Opened, host: str | None) -> int:
    """The number of the host with this name. Raises `UsageError` where there is none."""
    hosts = [profile.host for profile in opened.profiles]
    if host is None:
        return 0
    if host not in hosts:
        raise UsageError(
            f"There is no host {plain(host, 80)!r}.",
            hint=f"There are: {', '.join(plain(name, 80) for name in hosts)}.",
        )
    return hosts.index(host)
