"""Which power logs without a profile or scalars are one measurement.

Logs in one folder may come from many machines and years. Some of them are one measurement only
where

    a host     they name the same host, and at least half of the shorter log was written at the time
               of the other
    a file     they are parts of one rotated log: power.csv, power.csv.1
    a folder   it holds nothing else, and logs of different sensors were begun and ended together,
               which name no two hosts

Times that count from a log's own start say nothing about other logs. Small logs are read whole, of
large ones both ends.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from powertui.data.logdir.entries import PowerFile
from powertui.data.model import PowerSeries
from powertui.errors import PowertuiError
from powertui.opening import open_regular
from powertui.value_types import dataclass

# Reading so much CSV takes 0.1 s; of larger logs only lines at both ends are read.
_MAX_READ_BYTES = 4 << 20
_HEAD_BYTES = 256 << 10
_TAIL_BYTES = 64 << 10
# Of one folder; the others stay alone, because looking into thousands of logs takes minutes.
_MAX_COMPARED_LOGS = 500
# Of the shorter log. Less may be chance where many machines are logged. Chosen, not measured.
_MIN_OVERLAP_SHARE = 0.5
# Logs that one person starts together begin (and end) within a tenth of the longer one, or within
# the 5 s that it takes to start one after the other. Both are chosen, not measured.
_MAX_START_SHARE = 0.1
_START_TOLERANCE_NS = 5_000_000_000
_MAX_HOSTS_NAMED = 3  # in a sentence
# Files whose ends can be read alone.
_LINE_SUFFIXES = (".csv", ".tsv", ".txt", ".log", ".prom", ".jsonl", ".ndjson", ".lp")
_ROTATED = re.compile(r"(?:\.\d{1,3}|-\d{8})(?=(?:\.gz)?$)")


_ALONE = "a power log alone"  # the reason of a group of one log


@dataclass(frozen=True)
class LogGroup:
    """Power logs of one measurement."""

    logs: tuple[PowerFile, ...]
    first_ns: int | None = None  # Unix ns of the first and the last reading; None without wall time
    last_ns: int | None = None
    is_local: bool = False  # the two are local times of a zone that no log names
    reason: str = _ALONE


class _Measurements:
    """Logs that are joined into measurements, by their numbers."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def _root(self, number: int) -> int:
        while self._parent[number] != number:
            number = self._parent[number]
        return number

    def join(self, number: int, twin: int) -> None:
        """Make the measurements of two logs one."""
        first, second = sorted((self._root(number), self._root(twin)))
        self._parent[second] = first

    def members(self) -> list[list[int]]:
        """The logs of each measurement."""
        members: dict[int, list[int]] = {}
        for number in range(len(self._parent)):
            members.setdefault(self._root(number), []).append(number)
        return list(members.values())


@dataclass(frozen=True)
class _Summary:
    """The hosts, sensors and times that a log contains."""

    log: PowerFile
    hosts: frozenset[str] = frozenset()
    sensors: frozenset[str] = frozenset()
    span: tuple[int, int] | None = None  # Unix ns of its first and last reading
    is_local: bool = False  # its times are of a zone that it does not name

    @property
    def rotated(self) -> str:
        """The name that all parts of a rotated log share."""
        return _ROTATED.sub("", self.log.path.removesuffix(".gz"))

    def belongs_to(self, log: _Summary) -> bool:
        """Whether both are of one measurement, where there may be other logs beside them."""
        if self.continues(log):
            return True
        return not self.hosts.isdisjoint(log.hosts) and self.overlaps(log)

    def overlaps(self, log: _Summary) -> bool:
        """Whether both were written at one time."""
        if self.span is None or log.span is None:
            return False
        if self.is_local is not log.is_local:
            return False
        begin, end = self.span
        other_begin, other_end = log.span
        shared = min(end, other_end) - max(begin, other_begin)
        shorter = min(_length(self.span), _length(log.span))
        return shared > 0 and shared >= _MIN_OVERLAP_SHARE * shorter

    def began_with(self, log: _Summary) -> bool:
        """Whether both were begun and ended together, as one person begins and ends them."""
        if self.span is None or log.span is None:
            return False
        begin, end = self.span
        other_begin, other_end = log.span
        longer = max(_length(self.span), _length(log.span))
        tolerance = max(_START_TOLERANCE_NS, round(_MAX_START_SHARE * longer))
        if abs(begin - other_begin) > tolerance:
            return False
        if abs(end - other_end) > tolerance:
            return False
        return self.overlaps(log)

    def continues(self, log: _Summary) -> bool:
        """Whether both are parts of one rotated log."""
        if self.span is None or log.span is None:
            return False
        if self.is_local is not log.is_local:
            return False
        if self.log.dialect != log.log.dialect or self.rotated != log.rotated:
            return False
        return self.hosts == log.hosts and bool(self.sensors & log.sensors)


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0]


def groups(logs: Sequence[PowerFile]) -> list[LogGroup]:
    """Return the measurements that these logs of one folder are."""
    summaries = [_summary(log) for log in logs[:_MAX_COMPARED_LOGS]]
    summaries += [_Summary(log) for log in logs[_MAX_COMPARED_LOGS:]]
    if _is_one_measurement(summaries):
        return [_group(summaries)]
    measurements = _Measurements(len(summaries))
    for number, later in enumerate(summaries):
        for earlier_number, earlier in enumerate(summaries[:number]):
            if later.belongs_to(earlier):
                measurements.join(number, earlier_number)
    groups_of_logs = []
    for members in measurements.members():
        groups_of_logs.append(_group([summaries[row] for row in members]))
    return groups_of_logs


def _is_one_measurement(summaries: Sequence[_Summary]) -> bool:
    """Whether a folder holds nothing but logs of different sensors that were written together and
    name no two hosts.
    """
    if len(_hosts(summaries)) > 1:
        return False
    for first, second in itertools.combinations(summaries, 2):
        if not first.began_with(second):
            return False
        if first.sensors & second.sensors:
            return False
    return True


def _hosts(summaries: Sequence[_Summary]) -> set[str]:
    """All hosts that these logs name."""
    hosts: set[str] = set()
    for summary in summaries:
        hosts |= summary.hosts
    return hosts


def _group(summaries: Sequence[_Summary]) -> LogGroup:
    firsts = []
    lasts = []
    for summary in summaries:
        if summary.span is not None:
            first, last = summary.span
            firsts.append(first)
            lasts.append(last)
    return LogGroup(
        logs=tuple(summary.log for summary in summaries),
        first_ns=min(firsts, default=None),
        last_ns=max(lasts, default=None),
        is_local=any(summary.is_local for summary in summaries),
        reason=_reason(summaries),
    )


def _reason(summaries: Sequence[_Summary]) -> str:
    """Why these logs are one measurement."""
    if len(summaries) == 1:
        return _ALONE
    if len({summary.rotated for summary in summaries}) == 1:
        return "parts of one rotated power log"
    hosts = sorted(_hosts(summaries))
    of_hosts = ""
    if hosts:
        of_hosts = f" of {', '.join(hosts[:_MAX_HOSTS_NAMED])}"
    return f"{len(summaries)} power logs{of_hosts}, written at the same time"


# ── one log ──────────────────────────────────────────────────────────────────────────────────────


def _summary(log: PowerFile) -> _Summary:
    """Return the hosts, sensors and times of a log; nothing where it cannot be read."""
    from powertui.data.power import times  # here, as in `power_logs`: only where there is a log

    try:
        channels = _series(log)
    except (PowertuiError, OSError):
        return _Summary(log)
    names = {channel.sensor.host or channel.sensor.logged_on for channel in channels}
    summary = _Summary(
        log=log,
        hosts=frozenset(_short(name) for name in names if name),
        sensors=frozenset(channel.sensor.name for channel in channels),
    )
    firsts = []
    lasts = []
    for channel in channels:
        if not channel.clock.known or not len(channel):
            return summary  # times that count from a log's own start say nothing of others
        zero_ns = times.written_zero_ns(channel.clock)
        firsts.append(zero_ns + int(channel.times[0]))
        lasts.append(zero_ns + int(channel.times[-1]))
    if not firsts:
        return summary
    is_local = any(times.is_local(channel.clock) for channel in channels)
    return replace(summary, span=(min(firsts), max(lasts)), is_local=is_local)


def _short(host: str) -> str:
    """A host's name without its domain: node17 of NODE17.cluster. An address stays whole."""
    text = host.casefold().rstrip(".")
    is_address = ":" in text or not re.search(r"[g-z]", text)
    return text if is_address else text.split(".")[0]


def _series(log: PowerFile) -> tuple[PowerSeries, ...]:
    from powertui.data.power import registry

    path = Path(log.path)
    if log.size <= _MAX_READ_BYTES or path.suffix.lower() not in _LINE_SUFFIXES:
        return registry.load_ahead(log.path).series
    import tempfile  # only here: it imports random, hashlib and lzma

    with tempfile.TemporaryDirectory(prefix="powertui-") as folder:
        ends = Path(folder) / path.name
        with open_regular(path) as stream, ends.open("wb") as out:
            head = stream.read(_HEAD_BYTES)
            after_last_line = head.rfind(b"\n") + 1
            out.write(head[:after_last_line])
            stream.seek(-_TAIL_BYTES, 2)
            _, _, tail = stream.read().partition(b"\n")
            out.write(tail)
        return registry.load(str(ends)).series
