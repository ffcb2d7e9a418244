"""Lines of any program that tell a time and watts: a script's own log, syslog, Python's logging.

    ts=2026-11-20T13:05:07Z level=info node_watts=213.4
    2026-11-20 13:05:07,250 INFO gpu power: 213.4 W
    Nov 20 13:05:07 mon1 pdu[312]: outlet 7 power=198W current=0.9A

A reading is a number with its unit, behind it or in the key before it; what stands before it names
the channel. Limits, means and
extremes are no readings. The time begins the line, stands in it, or was the whole of a line above.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from powertui.data.asked import LogColumns
from powertui.data.model import Sensor
from powertui.data.power import stamps, table, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

NAME = "log lines"
UNITS_WRITTEN = True
_MIN_CHANNEL_READINGS = 3  # readings of a channel: one line with watts in it is prose
_HINT = (
    "Write the time before each line, or name the columns: --time-col NAME --watts-col "
    "NAME --unit W"
)

_WATTS = re.compile(
    r"(?<![\w.,-])(-?\d{1,7}(?:\.\d{1,9})?)\s?(mW|kW|W|[Ww]atts?|milliwatts|kilowatts)(?![\w/·*^-])"
)
# logfmt: a key that says what is read and in which unit (`node_watts=213.4`)
_KEYED = re.compile(
    r"(?<![\w.-])(\w{0,40}(?:watts|milliwatts|(?:power|pwr|draw|consumption)_(?:m|k)?w))="
    r"\"?(-?\d{1,9}(?:\.\d{1,9})?)\"?(?![\w.])",
    re.IGNORECASE,
)
# a time that does not begin its line: behind a level, a host, or syslog's month and day
_INSIDE = re.compile(
    r"(?<![\d:.])(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?![\d:])"
)
_NOT_NOW = re.compile(
    r"\b(?:limit|cap|pwrcap|capacity|max|min|maximum|minimum|avg|average|mean|peak|lowest|highest|budget|tdp|rated|rating|default"
    r"|threshold|crit|warn\w*|idle|baseline|expected|target|requested|allowed|nominal|nompower)\b",
    re.IGNORECASE,
)
_MEANS = re.compile(
    r"power|watt|pwr|draw|consum|ppt|load|outlet|plug|node|server|system|gpu|cpu|package|socket",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"\b(?:debug|info|warning|error|notice|is|are|now|at|of|the|currently|current|reading)\b",
    re.IGNORECASE,
)
_PART = re.compile(r"[,;|(){}\[\]\t]|\s-\s|:\s")
_MARKUP = re.compile(r"\s*(?:[{<]|\[\s*[{\[\"])")  # JSON, XML


class _Found(NamedTuple):
    line: int
    when: str
    label: str
    value: str
    unit: str
    before: str = ""  # all that stands before the label on its line
    answer: int = 0  # which answer below a line with a time it is in; 0: its line has a time


# Of a log whose lines are mostly readings, and of any other.
_MOSTLY_READINGS_SCORE = 52


_FEW_READINGS_SCORE = 15


def sniff(head: str, _path: str) -> int:
    """Low: whatever knows its form comes first.

    More where most of the lines are readings, and say of what.
    """
    if not (_WATTS.search(head) or _KEYED.search(head)) or _MARKUP.match(head) or _is_table(head):
        return 0
    readings = [reading for reading in _readings(head) if reading.when]
    counts = Counter(_masked(reading.label) for reading in readings)
    is_one_thing = _are_watts_alone(head)
    channels = set()
    for label, count in counts.items():
        says_power = is_one_thing or _MEANS.search(label) is not None
        if count >= _MIN_CHANNEL_READINGS and says_power:
            channels.add(label)
    if not channels:
        return 0
    line_count = sum(1 for _ in stamps.numbered_lines(head.split("\n")))
    lines_read = {reading.line for reading in readings if _masked(reading.label) in channels}
    if 2 * len(lines_read) >= line_count:
        return _MOSTLY_READINGS_SCORE
    return _FEW_READINGS_SCORE


def _are_watts_alone(head: str) -> bool:
    """Whether each line holds a time and watts, and nothing else: they have no name to ask."""
    lines = head.split("\n")[:-1]  # the last one may be cut
    rests = [_split_time(line)[1].strip() for _, line in stamps.numbered_lines(lines)]
    return bool(rests) and all(map(_WATTS.fullmatch, rests))


def _is_table(head: str) -> bool:
    """Whether it is a table whose header says more than its cells."""
    layout = table.shape(head)
    if layout is None or not layout.named or not units.any_power(layout.names):
        return False
    first = next((line for _, line in stamps.numbered_lines(head.split("\n"))), "")
    return not (_WATTS.search(first) or _KEYED.search(first))


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel for each name that stands before readings."""
    notes = Notes(source.path)
    readings = _told_apart(_numbered_in_answers(list(_readings(source.text))))
    names = _names([reading.label for reading in readings])
    collected = Collected(source.path, notes)
    for reading in readings:
        if not reading.when:
            notes.drop(reading.line, "has no time")
        elif name := names[reading.label]:
            unit = units.unit_of_symbol(reading.unit) or units.UNITS["W"]
            collected.add(
                Sensor(name, NAME, units.scope_of(name)),
                reading.when,
                reading.value,
                reading.line,
                unit=unit,
            )
    return collected.log(NAME, options, "log lines: numbers with watts behind them", hint=_HINT)


def _readings(text: str) -> Iterator[_Found]:
    above = ""
    answer = 0
    for number, line in stamps.numbered_lines(text.split("\n")):
        if stamp := stamps.time_of_line(line):
            above = stamp
            answer += 1
            continue
        when, rest = _split_time(line[:_MAX_LINE_CHARS])
        begin = 0
        for match in _WATTS.finditer(rest):
            label = _label(rest[begin : match.start()])
            begin = match.end()
            if label is not None:
                before = _before_label(rest[: match.start()], label)
                yield _Found(
                    line=number,
                    when=when or above,
                    label=label,
                    value=match[1],
                    unit=match[2],
                    before=before,
                    answer=0 if when else answer,
                )
        for match in _KEYED.finditer(rest):
            unit = units.unit_of_name(match[1])
            label = _label(match[1])
            if unit is not None and label is not None:
                yield _Found(
                    line=number,
                    when=when or above,
                    label=units.without_unit(label),
                    value=match[2],
                    unit=unit.name,
                    answer=0 if when else answer,
                )


_MAX_LINE_CHARS = 2000  # of a line that are looked at; chosen, not measured


def _split_time(line: str) -> tuple[str, str]:
    """(the time of a line, the rest): programs write it first, or behind their own name."""
    when, rest = stamps.split_time(line)
    inside = None if when else _INSIDE.search(rest)
    if inside is not None:
        return inside[1].replace(",", "."), rest[inside.end() :]
    return when, rest


def _label(before: str) -> str | None:
    """What the last words before a reading call it; None for limits and the like."""
    parts = [part.strip(" =:->'\"#*~≈") for part in _PART.split(before)]
    last = next((part for part in reversed(parts) if part), "")
    last = " ".join(_NOISE.sub(" ", last).split())[-40:]
    return None if _NOT_NOW.search(units.spaced(last)) else last


def _before_label(text: str, label: str) -> str:
    """What a line says before a label, without numbers of processes."""
    if label:
        head = text[: text.rfind(label.split(" ")[0])]
    else:
        head = text
    return " ".join(re.sub(r"\[\d{1,8}\]|[^\w.-]+", " ", head).split())[-40:]


def _numbered_in_answers(readings: list[_Found]) -> list[_Found]:
    """The readings, where a tool says one name several times in each of its answers: for the supply
    of each module, or each card, in the same order.
    """
    repeated = stamps.repeated_in_answers(
        (reading.answer, (reading.label, reading.before)) for reading in readings if reading.answer
    )
    seen: Counter[tuple[str, str, int]] = Counter()
    numbered = []
    for reading in readings:
        if reading.answer and (reading.label, reading.before) in repeated:
            place = (reading.label, reading.before, reading.answer)
            seen[place] += 1
            reading = reading._replace(label=f"{reading.label} {seen[place]}".strip())
        numbered.append(reading)
    return numbered


def _told_apart(readings: list[_Found]) -> list[_Found]:
    """The readings, where one name stands for several things at one moment by what stands before
    it: a host, a device.
    """
    alike: defaultdict[str, list[_Found]] = defaultdict(list)
    for reading in readings:
        alike[reading.label].append(reading)
    ambiguous = {label for label, group in alike.items() if _are_of_several(group)}
    distinct = []
    for reading in readings:
        if reading.label in ambiguous:
            label = f"{reading.before} {reading.label}".strip()
            reading = reading._replace(label=label)
        distinct.append(reading)
    return distinct


def _are_of_several(readings: list[_Found]) -> bool:
    """Whether readings of one name are of several things, each of which comes again."""
    moments = Counter(reading.when for reading in readings)
    owners = Counter(reading.before for reading in readings)
    if max(moments.values()) < 2 or len(owners) < 2:
        return False
    return min(owners.values()) >= _MIN_CHANNEL_READINGS


def _masked(label: str) -> str:
    return " ".join(re.sub(r"\d+(?:[.,]\d+)*", " ", label).split())


def _names(labels: list[str]) -> dict[str, str]:
    """The channel of each label; "" for those that came too seldom. Numbers tell devices apart
    where they come again, and count steps where they do not.
    """
    counts = Counter(labels)
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for label in counts:
        alike[_masked(label)].append(label)
    names = {}
    for masked, group in alike.items():
        are_devices = all(counts[label] >= _MIN_CHANNEL_READINGS for label in group)
        is_frequent = sum(counts[label] for label in group) >= _MIN_CHANNEL_READINGS
        for label in group:
            if not is_frequent:
                names[label] = ""
            else:
                names[label] = (label if are_devices else masked) or "watts"
    return names
