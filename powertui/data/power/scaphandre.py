"""Scaphandre's JSON: reports of a host, its sockets and their domains in microwatts, with Unix
times; and what its stdout prints.

What processes are said to draw is shared out of the host's power, and is no channel of its own.
"""

from __future__ import annotations

import re
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import json_docs, stamps, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "scaphandre"
UNITS_WRITTEN = True
PERIOD_S = 2.0  # the default step of its exporters
_HOST = r"Host:\s{1,20}([\d.]{1,20}) W\b.{0,200}"
# RAPL's domains inside a socket, as the kernel calls them.
_DOMAINS = {"core": Scope.CORE, "uncore": Scope.RAIL, "dram": Scope.DRAM, "psys": Scope.NODE}


def sniff(head: str, _path: str) -> int:
    """By a host with its consumption, or the line of stdout."""
    if re.search(r'"host"\s*:\s*\{[^{}]{0,200}"consumption"', head):
        return 96
    if '"consumers"' in head and '"sockets"' in head:
        return 96
    if "Socket" not in head:
        return 0
    for line in head.split("\n")[:200]:
        _, text = stamps.split_time(line)
        if re.fullmatch(_HOST, text.strip()):
            return 90
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The host, its sockets, and the domains of each."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    if '"consumption"' in source.head_text:
        for doc in json_docs.documents(source.text, notes):
            reports = doc.value if isinstance(doc.value, list) else [doc.value]
            for report in reports:
                _report(report, doc.when, doc.line, collected)
        return collected.log(NAME, options, "Scaphandre: µW")
    for line in stamps.timed_lines(source.text):
        text = line.text.strip()
        if host := re.fullmatch(_HOST, text):
            watts = host[1]
            sensor = _HOST_SENSOR
        elif socket := re.match(r"Socket(\d{1,3})\s{1,20}([\d.]{1,20}) W", text):
            number, watts = socket.groups()
            sensor = Sensor(f"socket {number}", NAME, Scope.PACKAGE)
        else:
            continue
        collected.add(sensor, line.when, watts, line.number)
    return collected.log(NAME, options, "Scaphandre: W", period_s=PERIOD_S)


_HOST_SENSOR = Sensor("host", NAME, Scope.NODE)


def _report(report: Any, when: str, line: int, collected: Collected) -> None:
    if not isinstance(report, dict):
        return
    host = report.get("host")
    now = json_docs.when_in(host, json_docs.when_in(report, when))
    if isinstance(host, dict):
        _add(collected, _HOST_SENSOR, now, host, line)
    for socket in _objects(report, "sockets"):
        number = str(socket.get("id", ""))[:20]
        label = f"socket {number}".strip()
        then = json_docs.when_in(socket, now)
        sensor = Sensor(label, NAME, Scope.PACKAGE)
        _add(collected, sensor, then, socket, line)
        for domain in _objects(socket, "domains"):
            name = str(domain.get("name", ""))
            sensor = Sensor(
                name=f"{label} {name}".strip(),
                source=NAME,
                scope=_DOMAINS.get(name, Scope.RAIL),
            )
            _add(collected, sensor, json_docs.when_in(domain, then), domain, line)


def _objects(parent: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The members of a list that are objects."""
    members = parent.get(name)
    if not isinstance(members, list):
        return []
    return [member for member in members if isinstance(member, dict)]


def _add(
    collected: Collected,
    sensor: Sensor,
    when: str,
    part: dict[str, Any],
    line: int,
) -> None:
    """What a host, a socket or a domain consumes, where it says so."""
    value = part.get("consumption")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return
    collected.add(
        sensor,
        when,
        str(value),
        line,
        unit=units.UNITS["uW"],
    )
