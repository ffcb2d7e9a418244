"""Answers of `snmpget`, `snmpwalk` and `snmpbulkwalk`, as a loop in a shell gathers them.

    PowerNet-MIB::rPDU2DeviceStatusPower.1 = INTEGER: 43
    iso.3.6.1.4.1.318.1.1.12.1.16.0 = Gauge32: 430 Watts

An answer holds a bare integer; its unit is in the MIB. It is known where the MIB was at hand (the
unit is then written behind the number), where the object's name gives it, or where the object is in
the table below. An object that means power without a unit is asked about: a PDU reports watts,
tenths of watts or hundredths of kilowatts, and 43 may be any of them.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import stamps, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "snmp"
UNITS_WRITTEN = True
_LINE = re.compile(
    r"\s{0,20}((?:[A-Za-z][\w-]{0,60}::)?[A-Za-z][\w-]{0,80}|iso|)((?:\.(?:\d{1,10}|[A-Za-z][\w-]{0,60})){1,64})\s{0,9}=\s{0,9}"
    r"(?:(INTEGER|Gauge32|Gauge|Counter32|Counter64|Unsigned32|UInteger32|STRING|Opaque: Float"
    r"|Float)\s{0,9}:\s{0,9})?(.{0,200})"
)
_PLAIN_LINE = re.compile(r"([A-Za-z][\w-]{0,60}::[A-Za-z][\w-]{0,80})\s{0,9}=\s{0,9}(.{0,200})")
_VALUE = re.compile(r"\"?(-?\d{1,12}(?:\.\d{1,9})?)\"?\s{0,3}([A-Za-z][A-Za-z \-]{0,30})?\"?")
_SCALED_UNIT = re.compile(r"(tenths?|hundredths?|thousandths?|deci|centi|milli)[ -]?(?:of)?\s*(.*)")
# "hundredths of kW" in a MIB's UNITS clause.
_SCALES = {
    "tenth": 0.1,
    "deci": 0.1,
    "hundredth": 0.01,
    "centi": 0.01,
    "thousandth": 0.001,
    "milli": 0.001,
}
_ENTERPRISES = "1.3.6.1.4.1."


class _Object(NamedTuple):
    """An object of a vendor's MIB: what it is called, and how many watts or joules one is."""

    name: str
    oid: str  # below `enterprises`, without the index
    factor: float
    scope: Scope
    is_energy: bool = False


# From the vendors' MIBs, each object's UNITS or DESCRIPTION clause: PowerNet-MIB (APC),
# CPQHLTH-MIB (HPE), Sentry3-MIB and Sentry4-MIB (Server Technology), EATON-EPDU-MIB.
_OBJECTS = (
    _Object("rPDUIdentDevicePowerWatts", "318.1.1.12.1.16", 1.0, Scope.PLUG),
    _Object("rPDU2DeviceStatusPower", "318.1.1.26.4.3.1.5", 10.0, Scope.PLUG),
    _Object("rPDU2PhaseStatusPower", "318.1.1.26.6.3.1.7", 10.0, Scope.PLUG),
    _Object("rPDU2OutletMeteredStatusPower", "318.1.1.26.9.4.3.1.7", 1.0, Scope.PLUG),
    _Object("cpqHePowerMeterCurrReading", "232.6.2.15.3", 1.0, Scope.NODE),
    _Object("cpqHeFltTolPowerSupplyCapacityUsed", "232.6.2.9.3.1.7", 1.0, Scope.RAIL),
    _Object("infeedPower", "1718.3.2.2.1.12", 1.0, Scope.PLUG),
    _Object("st4OutletActivePower", "1718.4.1.8.3.1.9", 1.0, Scope.PLUG),
    _Object("st4InputCordActivePower", "1718.4.1.3.3.1.3", 1.0, Scope.PLUG),
    _Object("outletWatts", "534.6.6.7.6.5.1.3", 1.0, Scope.PLUG),
    _Object("inputTotalWatts", "534.6.6.7.3.5.1.4", 1.0, Scope.PLUG),
)
# What a name says of an object that is no reading, whatever its unit; and what it says of one that
# is no reading of power, unless watts are written behind it.
_NOT_NOW = re.compile(
    r"capacity(?!used)|rating|rated|threshold|limit|peak|max(?![a-z])|min(?![a-z])|average|config",
    re.IGNORECASE,
)
_NOT_POWER = re.compile(
    r"status$|state|percent|apparent|factor|count|reset|propert|current|volt|temp|humid|freq|"
    r"supported|number|supply|energy|module",
    re.IGNORECASE,
)


class _Answer(NamedTuple):
    """One line: the object and its index, and the value with the words behind it."""

    name: str  # without its MIB; "" of a numeric OID
    instance: str  # which of its kind: .1, .0
    oid: str
    value: str
    unit: str

    @property
    def label(self) -> str:
        """The object as the answer calls it."""
        return f"{self.name or self.oid}{self.instance if self.name else ''}".strip(".")


def sniff(head: str, _path: str) -> int:
    """By lines of an object, a type and a value: nothing else writes them so."""
    answers = [answer for line in head.split("\n") if (answer := _answer(_split(line)[1]))]
    if not answers:
        return 0
    if any(_means_power(answer) for answer in answers):
        return 96
    return 45


class _Unread(NamedTuple):
    """Objects that were not read, each once."""

    without_unit: dict[str, None]  # they mean power
    bare: dict[str, None]  # OIDs that nothing names


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per object and index."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    given = units.UNITS.get(options.unit or "")
    unread = _Unread({}, {})
    when = ""
    for number, line in stamps.numbered_lines(source.text.split("\n")):
        if stamp := stamps.time_of_line(line):
            when = stamp
            continue
        written_when, rest = _split(line)
        answer = _answer(rest)
        if answer is None:
            notes.drop(number, "is not an answer of SNMP")
            continue
        unit = _read_as(answer, given, unread)
        if unit is not None:
            collected.add(_sensor(answer), written_when or when, answer.value, number, unit=unit)
    without_unit, bare = unread
    if not len(collected) and (without_unit or bare):
        raise _without_unit(source.path, [*without_unit, *bare])
    if without_unit:
        labels = ", ".join(without_unit)[:200]
        notes.say(f"{labels} is left out: its unit is in its MIB (--unit W)")
    return collected.log(
        NAME,
        options,
        "SNMP: an object and index each, unit by its MIB",
        hint="Write the time before each answer: date +%s >> FILE; snmpget … >> FILE",
    )


def _read_as(answer: _Answer, given: units.Unit | None, unread: _Unread) -> units.Unit | None:
    """The unit in which an answer is read; None where it is none of power, or its unit is not
    known.
    """
    # A bare OID says nothing: it is read where a person gave its unit.
    is_bare = not answer.name and not answer.unit and _object(answer) is None
    if not _means_power(answer) and not (is_bare and given is not None):
        if is_bare:
            unread.bare[answer.label] = None
        return None
    unit = given or _unit(answer)
    if unit is None:
        unread.without_unit[answer.label] = None
    return unit


def _without_unit(path: str, labels: list[str]) -> UnreadableFile:
    """What to raise where no object's unit is known."""
    return UnreadableFile(
        path,
        f"does not contain the unit of {labels[0][:80]}: SNMP reports watts, tenths of watts or "
        "hundredths of kW",
        hint="If its MIB gives watts, add: --unit W (or dW, mW, kW).",
    )


def _split(line: str) -> tuple[str, str]:
    """(the time before an answer, the answer): a numeric OID is no time."""
    when, rest = stamps.split_time(line)
    return (when, rest) if when else ("", line)


def _answer(text: str) -> _Answer | None:
    match = _LINE.fullmatch(text.rstrip())
    if match is None:
        plain = _PLAIN_LINE.fullmatch(text.strip())
        if plain is None:
            return None
        symbol = plain[1]
        digits = ""
        written = plain[2]
    else:
        symbol = match[1]
        digits = match[2]
        written = match[4]
        if not match[3] and not symbol:
            return None
    value = _VALUE.fullmatch(written.strip())
    if value is None:
        return None
    name = symbol.rpartition("::")[2]
    if name in ("iso", "enterprises", ""):
        oid = {"iso": "1", "enterprises": _ENTERPRISES.rstrip("."), "": ""}[name]
        return _Answer(
            name="",
            instance="",
            oid=(oid + digits).strip("."),
            value=value[1],
            unit=(value[2] or "").strip(),
        )
    if re.search("[A-Za-z]", digits):
        # An index may be a word, which tells what was read: "SensorValue.1.1.activePower".
        return _Answer(
            name=name + digits,
            instance="",
            oid="",
            value=value[1],
            unit=(value[2] or "").strip(),
        )
    return _Answer(
        name=name,
        instance=digits,
        oid="",
        value=value[1],
        unit=(value[2] or "").strip(),
    )


def _object(answer: _Answer) -> _Object | None:
    """The table's row about an object."""
    below = answer.oid.removeprefix(_ENTERPRISES) + "."
    for row in _OBJECTS:
        if answer.name == row.name or (answer.oid and below.startswith(f"{row.oid}.")):
            return row
    return None


def _means_power(answer: _Answer) -> bool:
    """Whether an object is, or may be, a reading of power or energy."""
    if _object(answer) is not None:
        return True
    if _NOT_NOW.search(answer.name):
        return False
    if answer.unit:
        return _written_unit(answer.unit) is not None
    if _NOT_POWER.search(answer.name):
        return False
    return re.search("power|watt|pwr", answer.name, re.IGNORECASE) is not None


def _written_unit(words: str) -> units.Unit | None:
    """The unit behind a value, as a MIB's UNITS clause writes it: "Watts", "hundredths of kW"."""
    words = words.strip()
    if scaled := _SCALED_UNIT.fullmatch(words.lower()):
        unit = units.unit_of_symbol(scaled[2].strip())
        factor = _SCALES[scaled[1].rstrip("s")]
        if unit is None:
            return None
        return units.Unit(words, unit.quantity, unit.factor * factor)
    return units.unit_of_symbol(words)


def _unit(answer: _Answer) -> units.Unit | None:
    """The unit of an object: as written behind it, by the table, or by its own name."""
    if answer.unit:
        return _written_unit(answer.unit)
    known = _object(answer)
    if known is not None:
        return units.Unit(known.name, "energy" if known.is_energy else "power", known.factor)
    return units.unit_of_name(answer.name)


def _sensor(answer: _Answer) -> Sensor:
    known = _object(answer)
    if known is None:
        return Sensor(answer.label, NAME, units.scope_of(answer.name))
    index = answer.instance
    if answer.oid:
        index = answer.oid.removeprefix(f"{_ENTERPRISES}{known.oid}")
    return Sensor(f"{known.name}{index}".removesuffix(".0"), NAME, known.scope)
