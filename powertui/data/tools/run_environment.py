"""The run environment in full: where and how the program ran, as far as its files say, and every
fact that they hold. Values that look like secrets stay hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from powertui.data.columns import Field, columns_of
from powertui.data.model import Stat
from powertui.data.opened import Opened, Profile
from powertui.data.secret_values import shown_value
from powertui.data.table import Fact, Result, Table
from powertui.data.tools import environment
from powertui.data.tools.framework import framework_of
from powertui.data.tools.registry import Question
from powertui.named_tuples import NamedTuple

_MISSING = "not in this file"
# What a reader of this page looks for, and what it is called where facts have it.
_WANTED = {
    "command_line": "command line",
    "software": "software",
    "devices": "devices",
    "device_core_count": "device count",
    "device_cores": "cores of a device",
    "device_memory": "memory of a device",
    "batch_size": "batch size",
}
_VERSION = re.compile(r"_version$")
_MAX_TEXT_CHARS = 4000  # of one value


class _Host(NamedTuple):
    profile: Profile

    @property
    def process_id(self) -> str:
        """The process that was profiled, as the file says."""
        ids = []
        for _, stat in _stats(self.profile):
            if stat.name == "process_id":
                ids.append(str(stat.value))
        return ids[0] if ids else ""


class _Stated(NamedTuple):
    """One thing that a file says."""

    host: str
    process: str
    name: str
    value: str


def answer(question: Question) -> Result:
    """What the files of all hosts say of where the program ran."""
    opened = question.opened
    stated = [row for profile in opened.profiles for row in _stated(profile)]
    tables = (
        Table(
            id="hosts",
            title="Hosts",
            columns=columns_of([_Host(profile) for profile in opened.profiles], _HOST_FIELDS),
            key=("host_name",),
            noun="host",
        ),
        Table(
            id="stated",
            title="Everything that the files say",
            columns=columns_of(stated, _STATED_FIELDS),
            empty="The files contain nothing but events.",
            key=("host_name", "process", "name"),
            noun="fact",
        ),
    )
    return Result(
        id="run_environment",
        title="Run environment",
        tables=tables,
        facts=tuple(_facts(opened, question.profile)),
    )


def _facts(opened: Opened, profile: Profile) -> Iterator[Fact]:
    known = {fact.id: fact for fact in environment.facts(opened, profile)}
    versions = {}
    for _, stat in _stats(profile):
        if _VERSION.search(stat.name):
            versions[stat.name] = str(stat.value)
    if versions:
        programs = []
        for name, value in versions.items():
            program = _VERSION.sub("", name)
            programs.append(f"{program} {value}")
        words = ", ".join(programs)
        known["software"] = Fact("software", "software", words)
    yield Fact("framework", "framework", framework_of(profile.trace).value)
    yield known["hosts"]
    for id, label in _WANTED.items():
        fact = known.get(id)
        if fact is None or fact.value is None:
            yield Fact(id, label, None, why=_MISSING)
        elif isinstance(fact.value, str):
            yield Fact(id, label, shown_value(id, fact.value))
        else:
            yield fact
    yield Fact("start", "clock", profile.clock.source)
    hidden = sorted({name for part in opened.profiles for name in part.trace.secret_names})
    if hidden:
        yield Fact("secrets", "secrets hidden", ", ".join(hidden))


def _stats(profile: Profile) -> Iterator[tuple[str, Stat]]:
    """(process, stat) of every plane of a profile."""
    for process in profile.trace.processes:
        for stat in process.stats:
            yield process.name, stat


def _stated(profile: Profile) -> Iterator[_Stated]:
    for process, stat in _stats(profile):
        if isinstance(stat.value, bytes):
            value = f"({len(stat.value):,} bytes)"
        else:
            value = str(shown_value(stat.name, stat.value))
        yield _Stated(
            host=profile.host,
            process=process,
            name=stat.name,
            value=value[:_MAX_TEXT_CHARS],
        )


_HOST_FIELDS = (
    Field[_Host]("host_name", "host", "text", lambda row: row.profile.host, weight=9),
    Field[_Host]("machine", "machine", "text", lambda row: row.profile.trace.machine, weight=6),
    Field[_Host]("process_id", "process", "text", lambda row: row.process_id, weight=4),
    Field[_Host]("format", "format", "text", lambda row: row.profile.trace.format, weight=5),
    Field[_Host](
        "devices", "devices", "integer", lambda row: len(row.profile.trace.devices), weight=6
    ),
    Field[_Host](
        "events", "events", "integer", lambda row: row.profile.trace.event_count, weight=7
    ),
    Field[_Host](
        "length_s",
        "length",
        "duration",
        lambda row: row.profile.trace.span[1] - row.profile.trace.span[0],
        weight=7,
    ),
)
_STATED_FIELDS = (
    Field[_Stated]("name", "name", "text", lambda row: row.name, weight=9),
    Field[_Stated]("value", "value", "text", lambda row: row.value, weight=9),
    Field[_Stated]("process", "from", "text", lambda row: row.process, weight=5),
    Field[_Stated]("host_name", "host", "text", lambda row: row.host, weight=3),
)
