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
    has_host = re.search(r'"host"\s*:\s*\{[^{}]{0,200}"consumption"', head)
    if has_host or ('"consumers"' in head and '"sockets"' in head):
        return 96
    lines = (stamps.split_time(line)[1].strip() for line in head.split("\n")[:200])
    if "Socket" in head and any(re.fullmatch(_HOST, line) for line in lines):
        return 90
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The host, its sockets, and the domains of each."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    if '"consumption"' in source.head_text:
        for doc in json_docs.documents(source.text, notes):
            for report in doc.value if isinstance(doc.value, list) else [doc.value]:
                _report(report, doc.when, doc.line, collected)
        return collected.log(NAME, options, "Scaphandre: µW")
    for line in stamps.timed_lines(source.text):
        text = line.text.strip()
        if host := re.fullmatch(_HOST, text):
            sensor = Sensor("host", NAME, Scope.NODE)
            collected.add(sensor, line.when, host[1], line.number)
        elif socket := re.match(r"Socket(\d{1,3})\s{1,20}([\d.]{1,20}) W", text):
            sensor = Sensor(f"socket {socket[1]}", NAME, Scope.PACKAGE)
            collected.add(sensor, line.when, socket[2], line.number)
    return collected.log(NAME, options, "Scaphandre: W", period_s=PERIOD_S)


def _report(report: Any, when: str, line: int, collected: Collected) -> None:
    if not isinstance(report, dict):
        return
    host = report.get("host")
    now = json_docs.when_in(host, json_docs.when_in(report, when))
    if isinstance(host, dict):
        _add(collected, Sensor("host", NAME, Scope.NODE), now, host.get("consumption"), line)
    for socket in report.get("sockets") or []:
        if not isinstance(socket, dict):
            continue
        label = f"socket {str(socket.get('id', ''))[:20]}".strip()
        then = json_docs.when_in(socket, now)
        _add(collected, Sensor(label, NAME, Scope.PACKAGE), then, socket.get("consumption"), line)
        for domain in socket.get("domains") or []:
            if isinstance(domain, dict):
                name = str(domain.get("name", ""))
                sensor = Sensor(f"{label} {name}".strip(), NAME, _DOMAINS.get(name, Scope.RAIL))
                _add(
                    collected,
                    sensor,
                    json_docs.when_in(domain, then),
                    domain.get("consumption"),
                    line,
                )


def _add(collected: Collected, sensor: Sensor, when: str, value: Any, line: int) -> None:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        collected.add(sensor, when, str(value), line, unit=units.UNITS["uW"])
