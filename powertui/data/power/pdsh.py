"""What a tool printed on many machines, gathered by pdsh, clush, xdsh or xCAT: each line begins
with the name of its machine.

    node01: Instantaneous power reading:  220 Watts
    node02: Instantaneous power reading:  180 Watts

Without the names it is a log of the tool, one for each machine; lines with a time alone, of the
loop around it, are of all machines.
"""

from __future__ import annotations

import re
from dataclasses import replace

from powertui.data.asked import LogColumns
from powertui.data.model import Scope
from powertui.data.power import registry, stamps, units
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "pdsh"
_LINE = re.compile(r"([A-Za-z][\w.-]{0,80}): (.*)")
_MAX_HOSTS = 4096  # of a log; more names are no machines. Chosen, not measured
_CERTAIN_SCORE = 99
# From this score on only machines can have said it: no GPU answers IPMI.
_TOOL_SCORE = 90
_PARTS = (Scope.GPU, Scope.PACKAGE, Scope.CORE, Scope.DRAM, Scope.RAIL, Scope.PLUG)


def sniff(head: str, path: str) -> int:
    """As sure as of the text without its names, where each line has one."""
    texts = _by_host(head)
    if not texts:
        return 0
    readers = registry.readers(next(iter(texts.values())), path, without=NAME)
    surest = max(readers, key=lambda reader: reader.score, default=None)
    if surest is None or surest.score < registry.IS_POWER:
        return 0
    if surest.score >= _TOOL_SCORE or all(map(_could_be_host, texts)):
        return _CERTAIN_SCORE
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The channels of each machine."""
    logs: list[PowerLog] = []
    problem: UnreadableFile | None = None
    for host, text in _by_host(source.text).items():
        own = replace(options, host=host)
        try:
            logs.append(registry.load_text(source, text, own, without=NAME))
        except UnreadableFile as error:  # a machine that did not answer
            problem = error
    if not logs:
        raise problem or UnreadableFile(source.path, "holds no machine's answer")
    return PowerLog(
        path=source.path,
        dialect=logs[0].dialect,
        series=tuple(channel for log in logs for channel in log.series),
        warnings=tuple(dict.fromkeys(warning for log in logs for warning in log.warnings)),
        guess=f"{logs[0].guess}; hosts by the names that begin the lines",
    )


def _by_host(text: str) -> dict[str, str]:
    """Each machine's text; nothing where some line has no name."""
    texts: dict[str, list[str]] = {}
    common: list[str] = []  # of the loop, for machines that speak later
    for _, line in stamps.numbered_lines(text.split("\n")):
        if stamps.time_of_line(line):
            common.append(line)
            for lines in texts.values():
                lines.append(line)
            continue
        # One line without a name is enough: it is the log of one machine.
        match = _LINE.fullmatch(line)
        if match is None or len(texts) > _MAX_HOSTS:
            return {}
        host, line_of_host = match.groups()
        lines = texts.setdefault(host, list(common))
        lines.append(line_of_host)
    by_host = {}
    for host, lines in texts.items():
        by_host[host] = "\n".join(lines) + "\n"
    return by_host


def _could_be_host(name: str) -> bool:
    """Whether a name is a machine's, not a part's or a word of a sentence."""
    if not re.search(r"\d|[.-]", name):
        return False
    if units.scope_of(name) in _PARTS:
        return False
    return not units.means_power(name)
