"""Power from a BMC over the network: DCMI's power reading, or sensors of its repository.

DCMI comes first because it counts in whole watts; a sensor of the repository has one byte for its
whole range (the AC922's "Total Power" moves in steps of 7 W). What was found is said in `Info`. A
BMC that restarts forgets its sessions: the next readings say so, and the source logs in again by
itself: at once, then after 0.25 s, and 5 s at most.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.named_tuples import NamedTuple
from powertui.sampler import clocks, crypto_probe, dcmi, limits
from powertui.sampler.bmc_sensors import DCMI_CHANNEL, covers_machine, pick_sensors
from powertui.sampler.ipmi_client import KNOWN_SUITES, LEVELS, Connection, Transient
from powertui.sampler.ipmitool import IpmitoolSource
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, machine_of, none
from powertui.sampler.urls import Address, join_host_port

__all__ = ["IpmiSource", "WattsSensor", "make"]

_UNIT_WATTS = 6  # the unit's code in a sensor record (IPMI 2.0, table 43-15)
_DCMI_QUANTUM_W = 1.0  # DCMI counts in whole watts
_SENSOR_NETFN, _GET_READING = 0x04, 0x2D  # IPMI 2.0, section 35.14
_READING_UNAVAILABLE, _SCANNING_ENABLED = 0x20, 0x40  # bits of the second byte of its answer
# Between two tries to log in again: doubled each time, so that a BMC that starts is not flooded.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 5.0
_MIN_CLOCK_DRIFT_S = 60.0  # of a BMC's clock, to be worth a note
_MIN_WAIT_S = 0.01  # s: too short for an answer
_LIMIT_PERIOD_S = 30.0  # between two questions for the limit: a BMC has little time for each
_PERMANENT_CODES = (0xC1, 0xC9, 0xCC, 0xCD, 0xD4, 0xD6)  # answers that stay
# After a restart a BMC may refuse a login that is right: few tries, far apart, as accounts lock.
_MAX_REFUSED_LOGINS = 3
_LOGIN_PAUSE_S = 30.0


class WattsSensor(NamedTuple):
    """One sensor that measures watts."""

    name: str
    number: int
    lun: int
    quantum: float | None
    convert: Any  # raw byte → watts
    most: float | None = None  # where its range ends, when the record says so


def _unit_is_watts(record: Any) -> bool:
    """A full sensor record in plain watts (no rate, no modifier, no percentage, analog)."""
    return bool(
        record.units_2 == _UNIT_WATTS
        and not record.percentage
        and not record.modifier_unit
        and record.analog_data_format != 3
    )


def _watts_sensor(record: Any) -> WattsSensor:
    linear = record.linearization == 0
    if linear:
        quantum = abs(record.m * 10.0**record.k2)
    else:
        quantum = None
    name = (
        "".join(c if c.isprintable() else "?" for c in str(record.device_id_string)).strip()
        or f"sensor {record.number}"
    )
    return WattsSensor(
        name=name,
        number=record.number,
        lun=record.owner_lun,
        quantum=quantum,
        convert=record.convert_sensor_raw_to_value,
        most=_range_end_w(record),
    )


def _range_end_w(record: Any) -> float | None:
    """The largest reading that the record states. Many state none, or one that is no range."""
    try:
        low, high = (
            float(record.convert_sensor_raw_to_value(raw))
            for raw in (record.sensor_minimum_reading, record.sensor_maximum_reading)
        )
    except (AttributeError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return high if high > max(low, 0.0) else None


class IpmiSource:
    """One BMC. `name` is what was asked for, so that two hosts are told apart."""

    min_period = 0.1

    def __init__(self, address: Address, options: Options) -> None:
        if options.level not in LEVELS:
            raise UsageError(
                f"The privilege level {options.level!r} is not one of {', '.join(LEVELS)}."
            )
        port = address.port or 623
        self.name = join_host_port(address.host, address.port)
        self.channels: tuple[Channel, ...] = ()
        self.reconnects = 0
        self._url = str(
            Address(
                scheme="ipmi",
                host=address.host,
                port=address.port,
                user=options.user,
                query=address.query,
            )
        )
        self._options = options
        self._host = machine_of(address, options)
        suites = tuple(int(s) for s in address.query.get("suite", "").split(",") if s.isdigit())
        if not set(suites) <= KNOWN_SUITES:
            raise UsageError(
                f"Cipher suite {address.query['suite']} is not supported.",
                hint="Choose among 1, 2, 3, 15, 16 and 17.",
            )
        more = {"suites": suites} if suites else {}
        self._link = Connection(
            address.host,
            port,
            options.user,
            options.password,
            level=options.level,
            kg=options.kg,
            timeout=options.timeout,
            name=self._host,
            **more,
        )
        # Channel → sensor. A channel that is not here is DCMI's.
        self._records: dict[str, WattsSensor] = {}
        self._no_limits = False  # the BMC does not know the question
        self._limits_at = 0.0  # when it is asked again
        self._backoff = 0.0
        self._retry_at = 0.0
        self._logins_refused = 0
        self._last_fault = ""

    # opening

    def open(self) -> Info:
        try:
            self._link.open(self._options.open_within)
            return self._look_around()
        except Transient as fault:
            self._link.drop()
            raise SensorError(
                f"{self._host} does not answer as a BMC: {fault} (UDP port {self._link.port}).",
                hint=(
                    "Check the address, that IPMI over LAN is enabled, and that no firewall "
                    "drops UDP. Or try redfish://."
                ),
            ) from None
        except SensorError:
            self._link.close()
            raise

    def _look_around(self) -> Info:
        """Which channels this BMC has: DCMI's reading, the sensors that were asked for, or the
        sensor that measures the machine where DCMI cannot be used.
        """
        named = [s for s in self._options.sensors if s.casefold() not in ("dcmi", DCMI_CHANNEL)]
        asks_dcmi = len(named) < len(self._options.sensors) or not named or "*" in named
        facts = {"cipher suite": str(self._link.suite), "privilege": self._link.level.upper()}
        notes: list[str] = []
        channels: list[Channel] = []
        why_not = self._probe_dcmi(facts) if asks_dcmi else "not asked for"
        if not why_not:
            channels.append(self._dcmi_channel("DCMI power reading, whole watts"))
        sensors: list[WattsSensor] = []
        if named or why_not:
            sensors = [_watts_sensor(r) for r in self._link.records() if _unit_is_watts(r)]
            channels += self._sensor_channels(sensors, named)
        if asks_dcmi and why_not:
            facts["DCMI"] = why_not
            if channels and not named:
                notes.append(
                    f"No DCMI power reading ({why_not}); the sensor {channels[0].name!r} is "
                    "read instead."
                )
        if not channels and asks_dcmi and why_not == dcmi.NOT_ACTIVE:
            channels.append(self._dcmi_channel("DCMI power reading, not active yet"))
            notes.append(f"DCMI answers, but {why_not}")
        if not channels:
            raise self._nothing_measures_power(why_not, sensors)
        self.channels = tuple(channels)
        source = self._source_words()
        return Info(
            source=source,
            url=self._url,
            host=self._host,
            channels=self.channels,
            facts=facts,
            notes=tuple(notes),
        )

    def _dcmi_channel(self, note: str) -> Channel:
        return Channel(
            name=DCMI_CHANNEL,
            host=self._host,
            scope="node",
            quantum_w=_DCMI_QUANTUM_W,
            note=note,
        )

    def _sensor_channels(self, sensors: list[WattsSensor], named: list[str]) -> list[Channel]:
        """The channels of the sensors that are read; they are remembered for reading."""
        channels = []
        for name in pick_sensors([sensor.name for sensor in sensors], named):
            sensor = next(sensor for sensor in sensors if sensor.name == name)
            self._records[name] = sensor
            note = f"sensor {sensor.number:#04x}"
            if sensor.quantum:
                note += f", steps of {sensor.quantum:g} W"
            channels.append(
                Channel(
                    name=name,
                    host=self._host,
                    scope="node" if covers_machine(name) else "unknown",
                    quantum_w=sensor.quantum,
                    note=note,
                    most_w=sensor.most,
                )
            )
        return channels

    def _source_words(self) -> str:
        if not self._records:
            return "ipmi DCMI"
        if len(self._records) == len(self.channels):
            return "ipmi sensor"
        return "ipmi DCMI and sensors"

    def _nothing_measures_power(self, why_not: str, sensors: list[WattsSensor]) -> NotSupported:
        hint = "None of its sensors is in watts. Try redfish:// or another level."
        if sensors:
            names = ", ".join(sensor.name for sensor in sensors)
            hint = f"Choose with --sensor among: {names}."
        return NotSupported(
            f"{self._host} has no DCMI power reading ({why_not}) and no sensor that is "
            "clearly the machine's power.",
            hint=hint,
        )

    def _probe_dcmi(self, facts: dict[str, str]) -> str:
        """Why DCMI cannot be used here, "" when it can. Notes what the BMC's clock says."""
        code, payload = self._ask(dcmi.NETFN, dcmi.POWER_READING, dcmi.REQUEST)
        if code:
            return dcmi.completion(code)
        try:
            reading = dcmi.decode(payload)
        except ValueError as error:
            return str(error)
        drift = reading.bmc_time - time.time()
        if abs(drift) >= _MIN_CLOCK_DRIFT_S:
            facts["BMC clock"] = (
                f"{abs(drift) / 3600:.1f} h {'ahead of' if drift > 0 else 'behind'} this host "
                "(not used)"
            )
        if reading.period_ms > 1:
            facts["statistics period"] = (
                f"{reading.period_ms / 1000:g} s (its minimum, maximum and mean are not used)"
            )
        return dcmi.verdict(reading)

    def _ask(self, netfn: int, command: int, data: bytes, lun: int = 0) -> tuple[int, bytes]:
        return self._exchange(netfn, command, data, lun)[1:]

    def _exchange(
        self,
        netfn: int,
        command: int,
        data: bytes,
        lun: int,
    ) -> tuple[Stamp, int, bytes]:
        """(when it was asked, completion code, answer). A request or an answer that is lost is no
        reason to go without: it is sent again, each time with a new stamp, as often as fits into
        the timeout.
        """
        until = clocks.steady_s() + self._options.timeout
        wait = self._link.patience
        while True:
            stamp = Stamp.now()
            timeout = max(min(wait, until - stamp.mono), _MIN_WAIT_S)
            try:
                answer = self._link.raw(netfn, command, data, lun=lun, timeout=timeout)
                return stamp, *answer
            except Transient as fault:
                if "listens" in str(fault) or until - clocks.steady_s() < _MIN_WAIT_S:
                    raise
                wait *= 2

    # reading

    def read(self) -> list[Reading]:
        if not self._link.is_open:
            fault = self._reconnect()
            if fault:
                stamp = Stamp.now()
                return [self._gap(c.name, stamp, fault) for c in self.channels]
        readings: list[Reading] = []
        for channel in self.channels:
            # A channel before this one may have lost the connection.
            if self._link.is_open:
                readings.append(self._read_one(channel.name))
            else:
                readings.append(self._gap(channel.name, Stamp.now(), self._last_fault))
        return readings

    def _gap(self, channel: str, stamp: Stamp, reason: str) -> Reading:
        return stamp.middle().gap(self.name, channel, reason)

    def _read_one(self, channel: str) -> Reading:
        record = self._records.get(channel)
        first = Stamp.now()
        try:
            if record is None:
                stamp, code, payload = self._exchange(
                    dcmi.NETFN, dcmi.POWER_READING, dcmi.REQUEST, 0
                )
            else:
                stamp, code, payload = self._exchange(
                    _SENSOR_NETFN, _GET_READING, bytes([record.number]), record.lun
                )
        except Transient as fault:
            self._lose(str(fault))
            return self._gap(channel, first, self._last_fault)
        answered = stamp.middle()
        if code:
            return answered.gap(self.name, channel, dcmi.completion(code))
        if record is None:
            watts, quality = _dcmi_value(payload)
        else:
            watts, quality = _sensor_value(record, payload)
        return answered.reading(self.name, channel, watts, quality)

    def limits(self) -> list[PowerLimit]:
        """What DCMI's power limit holds the machine to.

        A BMC that does not know the question is not asked again.
        """
        measured = [channel.name for channel in self.channels if channel.name not in self._records]
        if (
            not measured
            or self._no_limits
            or not self._link.is_open
            or time.monotonic() < self._limits_at
        ):
            return []
        self._limits_at = time.monotonic() + _LIMIT_PERIOD_S
        try:
            code, payload = self._ask(dcmi.NETFN, limits.DCMI_LIMIT, limits.DCMI_REQUEST)
        except Transient:  # the next reading finds out
            return []
        self._no_limits = code in _PERMANENT_CODES
        if self._no_limits:
            return []
        return [PowerLimit(measured[0], limits.dcmi_limit_w(code, payload))]

    # the connection

    def _lose(self, fault: str) -> None:
        self._link.drop()
        self._last_fault = fault
        self._retry_at = time.monotonic() + self._backoff
        self._backoff = min(max(self._backoff * 2, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)

    def _reconnect(self) -> str:
        """Try to log in when it is time to. Returns why there is still no connection."""
        if self._logins_refused >= _MAX_REFUSED_LOGINS or time.monotonic() < self._retry_at:
            return self._last_fault
        try:
            self._link.open()
        except Transient as fault:
            self._lose(str(fault))
        except SensorError as error:
            # It worked before, so this may be a BMC that is still starting. Few tries, far apart.
            self._lose(error.message.rstrip("."))
            self._retry_at = time.monotonic() + _LOGIN_PAUSE_S
            self._logins_refused += isinstance(error, AuthenticationFailed)
            if self._logins_refused >= _MAX_REFUSED_LOGINS:
                self._last_fault += (
                    "; given up after three refusals, to keep the account from being locked"
                )
        else:
            self.reconnects += 1
            self._backoff = 0.0
            self._logins_refused = 0
            self._last_fault = ""
            return ""
        return self._last_fault

    def close(self) -> None:
        self._link.close()


def _dcmi_value(payload: bytes) -> tuple[float | None, str]:
    try:
        reading = dcmi.decode(payload)
    except ValueError as error:
        return None, none(str(error))
    problem = dcmi.verdict(reading)
    if problem:
        return None, none(problem)
    return float(reading.watts), OK


def _sensor_value(record: WattsSensor, payload: bytes) -> tuple[float | None, str]:
    if len(payload) < 2:
        return None, none("a sensor reading of fewer than two bytes")
    if payload[1] & _READING_UNAVAILABLE or not payload[1] & _SCANNING_ENABLED:
        return None, none("the sensor has no reading (is the host on?)")
    try:
        return float(record.convert(payload[0])), OK
    except (ValueError, ZeroDivisionError, OverflowError):
        return None, none(f"the sensor's value {payload[0]} has no meaning")


def make(address: Address, options: Options) -> IpmiSource | IpmitoolSource:
    if not address.host:
        raise UsageError(
            "ipmi: needs a host.",
            hint="Write ipmi://bmc, or ipmitool:open for this machine's own BMC.",
        )
    if why := crypto_probe.trouble():
        note = (
            f"{why} ipmitool is used instead. To do without it, use the distribution's "
            "python3-cryptography in this environment."
        )
        return IpmitoolSource(replace(address, scheme="ipmitool"), options, note)
    return IpmiSource(address, options)
