"""Which power logs without a profile or scalars are one measurement.

Logs in one folder may come from many machines and years. Some of them are one measurement only
where

    a host     they name the same host, and at least half of the shorter log was written at the time of the other
    a file     they are parts of one rotated log: power.csv, power.csv.1
    a folder   it holds nothing else, and logs of different sensors were begun and ended together, which name no two hosts

Times that count from a log's own start say nothing about other logs. Small logs are read whole, of
large ones both ends.
"""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from powertui.data.logdir.entries import PowerFile
from powertui.data.model import PowerSeries
from powertui.errors import PowertuiError
from powertui.opening import open_regular

_WHOLE_BYTES = (
    4 << 20
)  # reading so much of CSV takes 0.1 s; of what is larger, lines at both ends are read
_HEAD_BYTES = 256 << 10
_TAIL_BYTES = 64 << 10
# of one folder: the others stay alone, because looking into thousands of logs takes minutes
_MOST_LOGS = 500
_LEAST_OVERLAP = 0.5  # of the shorter log; less may be chance where many machines are logged
_ROOM = (
    0.1  # of the longer log between the beginnings, or the ends, of logs that were begun together …
)
_LEAST_ROOM_NS = 5_000_000_000  # … or the seconds that a person takes to start one after the other
_SHOWN = 3  # hosts in a sentence
_LINES = (
    ".csv",
    ".tsv",
    ".txt",
    ".log",
    ".prom",
    ".jsonl",
    ".ndjson",
    ".lp",
)  # files whose ends can be read alone
_ROTATED = re.compile(r"(?:\.\d{1,3}|-\d{8})(?=(?:\.gz)?$)")


@dataclass(frozen=True)
class LogGroup:
    """Power logs of one measurement."""

    logs: tuple[PowerFile, ...]
    first_ns: int | None = None  # Unix ns of the first and the last reading; None without wall time
    last_ns: int | None = None
    is_local: bool = False  # the two are local times of a zone that no log names
    reason: str = "a power log alone"


@dataclass(frozen=True)
class _Summary:
    """What a log says of itself."""

    log: PowerFile
    hosts: frozenset[str] = frozenset()
    sensors: frozenset[str] = frozenset()
    first_ns: int | None = None
    last_ns: int | None = None
    is_local: bool = False  # its times are of a zone that it does not name

    @property
    def rotated(self) -> str:
        """The name that all parts of a rotated log share."""
        return _ROTATED.sub("", self.log.path.removesuffix(".gz"))

    def overlaps(self, other: _Summary) -> bool:
        """Whether both were written at one time."""
        if (
            self.first_ns is None
            or self.last_ns is None
            or other.first_ns is None
            or other.last_ns is None
        ):
            return False
        if self.is_local is not other.is_local:
            return False
        shared = min(self.last_ns, other.last_ns) - max(self.first_ns, other.first_ns)
        shorter = min(self.last_ns - self.first_ns, other.last_ns - other.first_ns)
        return shared > 0 and shared >= _LEAST_OVERLAP * shorter

    def began_with(self, other: _Summary) -> bool:
        """Whether both were begun and ended together, as one person begins and ends them."""
        if (
            self.first_ns is None
            or self.last_ns is None
            or other.first_ns is None
            or other.last_ns is None
        ):
            return False
        length = max(self.last_ns - self.first_ns, other.last_ns - other.first_ns)
        room = max(_LEAST_ROOM_NS, round(_ROOM * length))
        together = (
            abs(self.first_ns - other.first_ns) <= room
            and abs(self.last_ns - other.last_ns) <= room
        )
        return together and self.overlaps(other)

    def continues(self, other: _Summary) -> bool:
        """Whether both are parts of one rotated log."""
        timed = (
            self.first_ns is not None
            and other.first_ns is not None
            and self.is_local is other.is_local
        )
        same = (
            self.log.dialect == other.log.dialect
            and self.hosts == other.hosts
            and bool(self.sensors & other.sensors)
        )
        return timed and same and self.rotated == other.rotated


def groups(logs: Sequence[PowerFile]) -> list[LogGroup]:
    """The measurements that these logs of one folder are."""
    summaries = [_summary(log) for log in logs[:_MOST_LOGS]] + [
        _Summary(log) for log in logs[_MOST_LOGS:]
    ]
    if _is_one_measurement(summaries):
        return [_group(summaries)]
    parent = list(range(len(summaries)))

    def root(row: int) -> int:
        while parent[row] != row:
            row = parent[row]
        return row

    for row, one in enumerate(summaries):
        for number in range(row):
            other = summaries[number]
            if one.continues(other) or (one.hosts & other.hosts and one.overlaps(other)):
                first, second = sorted((root(row), root(number)))
                parent[second] = first
    members: dict[int, list[_Summary]] = {}
    for row, summary in enumerate(summaries):
        members.setdefault(root(row), []).append(summary)
    return [_group(mine) for mine in members.values()]


def _is_one_measurement(summaries: Sequence[_Summary]) -> bool:
    """Whether a folder holds the logs of different sensors alone, which were written together and
    name no two hosts.
    """
    hosts = {host for one in summaries for host in one.hosts}
    return len(hosts) < 2 and all(
        one.began_with(other) and not one.sensors & other.sensors
        for one, other in itertools.combinations(summaries, 2)
    )


def _group(mine: Sequence[_Summary]) -> LogGroup:
    first = min((one.first_ns for one in mine if one.first_ns is not None), default=None)
    last = max((one.last_ns for one in mine if one.last_ns is not None), default=None)
    is_local = any(one.is_local for one in mine)
    logs = tuple(one.log for one in mine)
    if len(mine) == 1:
        return LogGroup(logs, first, last, is_local)
    if len({one.rotated for one in mine}) == 1:
        return LogGroup(logs, first, last, is_local, "parts of one rotated power log")
    named = sorted({host for one in mine for host in one.hosts})
    hosts = f" of {', '.join(named[:_SHOWN])}" if named else ""
    return LogGroup(
        logs, first, last, is_local, f"{len(mine)} power logs{hosts}, written at the same time"
    )


# ── one log ──────────────────────────────────────────────────────────────────────────────────────


def _summary(log: PowerFile) -> _Summary:
    """What a log says of its hosts, sensors and times; nothing where it cannot be read."""
    from powertui.data.power import times  # here, as in `power_logs`: only where there is a log

    try:
        series = _series(log)
    except (PowertuiError, OSError):
        return _Summary(log)
    named = {one.sensor.host or one.sensor.logged_on for one in series}
    hosts = frozenset(_short(name) for name in named if name)
    sensors = frozenset(one.sensor.name for one in series)
    timed = [one for one in series if one.clock.known and len(one)]
    if not timed or len(timed) < len(series):
        return _Summary(log, hosts, sensors)
    first = min(one.clock.mid_ns + int(one.times[0]) for one in timed)
    last = max(one.clock.mid_ns + int(one.times[-1]) for one in timed)
    return _Summary(
        log=log,
        hosts=hosts,
        sensors=sensors,
        first_ns=first,
        last_ns=last,
        is_local=any(times.is_local(one.clock) for one in timed),
    )


def _short(host: str) -> str:
    """A host's name without its domain: node17 of NODE17.cluster. An address stays whole."""
    text = host.casefold().rstrip(".")
    return text.split(".")[0] if re.search(r"[g-z]", text) and ":" not in text else text


def _series(log: PowerFile) -> tuple[PowerSeries, ...]:
    from powertui.data.power import registry

    path = Path(log.path)
    if log.size <= _WHOLE_BYTES or path.suffix.lower() not in _LINES:
        return registry.load(log.path).series
    with tempfile.TemporaryDirectory(prefix="powertui-") as folder:
        ends = Path(folder) / path.name
        with open_regular(path) as stream, ends.open("wb") as out:
            head = stream.read(_HEAD_BYTES)
            out.write(head[: head.rfind(b"\n") + 1])
            stream.seek(-_TAIL_BYTES, 2)
            out.write(stream.read().partition(b"\n")[2])
        return registry.load(str(ends)).series
