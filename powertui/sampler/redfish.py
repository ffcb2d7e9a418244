"""Power from a BMC's Redfish service (HTTPS, JSON).

Tried in this order on each chassis: EnvironmentMetrics (newer), Power (deprecated; what POWER9 and
POWER10 machines have), and a sensor of the Sensors collection that is called total power. Links are
followed, ids never guessed. A value that is null or an answer of 404 means that there is no value
(OpenBMC shows total power only while the host runs), not zero. Session slots are few: the session
is ended when the source is closed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.named_tuples import NamedTuple
from powertui.sampler import limits
from powertui.sampler.http import Http, Reply, basic, link, number
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp, machine_of
from powertui.sampler.urls import Address, join_host_port

__all__ = ["RedfishSource", "make"]

_ROOT_PATH = "/redfish/v1/"
_SESSIONS_PATH = "/redfish/v1/SessionService/Sessions"
_MAX_MEMBERS = 64  # of a collection that are looked at: chosen, more than any chassis has sensors
_MAX_REFUSED_LOGINS = 3  # in a row, after which we stop: accounts lock
_LOGIN_PAUSE_S = 30.0  # after a refused login: a BMC that starts may refuse everybody
_MAX_TOKEN_CHARS = 4096  # of a session
_DISCOVERY_S = 30.0  # for all the resources of a service that are looked at
_MIN_PAUSE_S, _MAX_PAUSE_S = 0.25, 5.0  # between two tries to connect again


class _ValuePlace(NamedTuple):
    """Where a value is: a resource, and the keys that lead to it."""

    path: str
    keys: tuple[str | int, ...]
    how: str  # "EnvironmentMetrics", "Power", "Sensor"
    name: str
    scope: str
    range_end_w: float | None = None  # where its range ends, when it says so

    @property
    def limit_index(self) -> int | None:
        """The PowerControl whose limit applies to this value."""
        if self.how == "Power":
            index = self.keys[1]
        else:
            index = None
        return index if isinstance(index, int) else None


def _why_no_value(answer: Reply) -> str:
    if answer.refused:
        return answer.refused
    # Some BMCs take the resource away while the host is off, others leave it without a value.
    if answer.status in (200, 404):
        return "no value (is the host on?)"
    return f"status {answer.status}"


def _value_at(body: Any, keys: tuple[str | int, ...]) -> Any:
    for key in keys:
        try:
            body = body[key]
        except (KeyError, IndexError, TypeError):
            return None
    return body


def _range_end_w(sensor: Any) -> float | None:
    range_end = number(_value_at(sensor, ("ReadingRangeMax",)))
    if range_end is not None and range_end > 0:
        return range_end
    return None


def _name(value: Any, default: str) -> str:
    if not isinstance(value, str):
        return default
    return "".join(c for c in value if c.isprintable()).strip()[:60] or default


def _last_segment(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


class RedfishSource:
    min_period = 0.2

    def __init__(self, address: Address, options: Options) -> None:
        self._options = options
        self._host = machine_of(address, options)
        self.name = join_host_port(address.host, address.port)
        self.channels: tuple[Channel, ...] = ()
        self.reconnects = 0
        self._url = str(Address("redfish", address.host, address.port, options.user))
        self._http = Http(
            address.host,
            address.port or 443,
            tls=True,
            insecure=options.insecure,
            timeout=options.open_within or options.timeout,
        )
        self._places: dict[str, _ValuePlace] = {}
        self._limits: dict[str, float | None] = {}
        self._session = ""
        self._lost = ""
        self._retry_at = 0.0
        self._backoff = 0.0
        self._logins_refused = 0
        self._discovery_end = 0.0  # monotonic
        self._refused: list[str] = []  # resources whose answers were not accepted

    # opening

    def open(self) -> Info:
        self._discovery_end = time.monotonic() + _DISCOVERY_S
        self._refused = []
        try:
            root = self._http.request("GET", _ROOT_PATH)
            if root.refused:
                raise OSError(root.refused)
            if root.status != 200 or not isinstance(root.body, dict):
                raise NotSupported(f"{self._host} has no Redfish service (status {root.status}).")
            self._login(root.body)
            places = list(self._find(root.body))
        except OSError as error:
            self._http.close()
            raise SensorError(
                f"{self._host} does not answer as a Redfish service: {error}.",
                hint="Check the address and that HTTPS is enabled on the BMC.",
            ) from None
        except SensorError:
            self.close()
            raise
        if not places:
            self.close()
            raise self._nothing_found()
        self._http.timeout = self._options.timeout
        self._places = {place.name: place for place in places}
        self.channels = tuple(self._channel(place) for place in places)
        facts = {
            "Redfish": _name(root.body.get("RedfishVersion"), "?"),
            "TLS": "not checked" if self._options.insecure else "checked",
        }
        return Info(
            source="redfish " + places[0].how,
            url=self._url,
            host=self._host,
            channels=self.channels,
            facts=facts,
        )

    def _nothing_found(self) -> SensorError:
        """Why the service has no value for us."""
        if self._refused:
            return SensorError(
                f"{self._host} has no power reading that can be used: "
                f"{'; '.join(self._refused[:3])}."
            )
        sensors = self._options.sensors
        if sensors:
            called = " called " + " or ".join(sensors)
        else:
            called = ""
        return NotSupported(
            f"The Redfish service of {self._host} has no power reading{called}.",
            hint="Some have it only while the host is on.",
        )

    def _channel(self, place: _ValuePlace) -> Channel:
        return Channel(
            name=place.name,
            host=self._host,
            scope=place.scope,
            note=f"Redfish {place.how}",
            most_w=place.range_end_w,
        )

    def _login(self, root: dict[str, Any]) -> None:
        user = self._options.user
        password = self._options.password
        path = link(_value_at(root, ("Links", "Sessions"))) or _SESSIONS_PATH
        self._http.headers.pop("X-Auth-Token", None)
        login = {"UserName": user, "Password": password.reveal() if password else ""}
        answer = self._http.request("POST", path, login)
        token = answer.headers.get("x-auth-token", "")
        if (
            answer.status in (200, 201)
            and token.isprintable()
            and 0 < len(token) <= _MAX_TOKEN_CHARS
        ):
            self._http.headers["X-Auth-Token"] = token
            location = answer.headers.get("location", "").partition("/redfish")
            self._session = link({"@odata.id": "".join(location[1:])}) or link(answer.body)
        elif answer.status in (400, 401, 403):
            raise AuthenticationFailed(f"{self._host} refuses the user {user!r} or the password.")
        elif answer.status in (404, 405, 501):  # a service without sessions
            self._http.headers["Authorization"] = basic(user, password)
        else:
            raise SensorError(
                f"{self._host} opens no session (status {answer.status}).",
                hint="Its session slots may be used up. Wait a few minutes.",
            )

    def _get(self, path: str) -> Any:
        """A resource; an empty one where there is none."""
        if time.monotonic() > self._discovery_end:
            raise TimeoutError(f"its resources were not read within {_DISCOVERY_S:g} s")
        if not path:
            return {}
        answer = self._http.request("GET", path)
        if answer.status in (401, 403):
            raise AuthenticationFailed(
                f"{self._host} does not let {self._options.user!r} read {path}."
            )
        if answer.refused:
            self._refused.append(f"{path}: {answer.refused}")
        if answer.status == 200 and isinstance(answer.body, dict):
            return answer.body
        return {}

    def _find(self, root: dict[str, Any]) -> Iterator[_ValuePlace]:
        """The values that are asked for, or those of each chassis as a whole."""
        chassis_paths = [link(member) for member in _members(self._get(link(root.get("Chassis"))))]
        is_first = True
        for path in chassis_paths:
            chassis = self._get(path)
            if self._options.sensors:
                yield from self._chosen_sensors(chassis)
                continue
            label = ""
            if len(chassis_paths) > 1:
                label = _name(chassis.get("Id"), _last_segment(path))
            # A second chassis may be inside the first.
            scope = "node" if is_first else "unknown"
            place = self._chassis_power(chassis, f"{label} power".strip(), scope)
            if place is not None:
                is_first = False
                yield place

    def _chassis_power(self, chassis: dict[str, Any], name: str, scope: str) -> _ValuePlace | None:
        """The value of a whole chassis, from the best of its resources that has one."""
        path = link(chassis.get("EnvironmentMetrics"))
        power = self._get(path).get("PowerWatts")
        keys: tuple[str | int, ...]
        if number(_value_at(power, ("Reading",))) is not None:
            keys = ("PowerWatts", "Reading")
            return _ValuePlace(
                path=path,
                keys=keys,
                how="EnvironmentMetrics",
                name=name,
                scope=scope,
                range_end_w=_range_end_w(power),
            )
        path = link(chassis.get("Power"))
        controls = self._get(path).get("PowerControl")
        for index, control in enumerate(controls if isinstance(controls, list) else []):
            if number(_value_at(control, ("PowerConsumedWatts",))) is not None:
                keys = ("PowerControl", index, "PowerConsumedWatts")
                return _ValuePlace(
                    path=path,
                    keys=keys,
                    how="Power",
                    name=name,
                    scope=scope,
                )
        for path, sensor in self._power_sensors(chassis):
            if "total" in _name(sensor.get("Name"), path).casefold():
                return _sensor_place(path, sensor, name, scope)
        return None

    def _chosen_sensors(self, chassis: dict[str, Any]) -> Iterator[_ValuePlace]:
        for path, sensor in self._power_sensors(chassis):
            name = _name(sensor.get("Name"), _last_segment(path))
            if self._options.selects(name):
                scope = "node" if "total" in name.casefold() else "unknown"
                yield _sensor_place(path, sensor, name, scope)

    def _power_sensors(self, chassis: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        for member in _members(self._get(link(chassis.get("Sensors")))):
            path = link(member)
            if "power" not in path.casefold() and "watt" not in path.casefold():
                continue
            sensor = self._get(path)
            is_power = sensor.get("ReadingType") in ("Power", None)
            if is_power and sensor.get("ReadingUnits") in ("W", None) and "Reading" in sensor:
                yield path, sensor

    # reading

    def read(self) -> list[Reading]:
        if self._lost and not self._reconnect():
            stamp = Stamp.now()
            return [stamp.middle().gap(self.name, name, self._lost) for name in self._places]
        # Several values may be in one resource: it is asked for once.
        answers: dict[str, tuple[Stamp, Reply]] = {}
        return [self._read_one(name, place, answers) for name, place in self._places.items()]

    def _read_one(
        self,
        name: str,
        place: _ValuePlace,
        answers: dict[str, tuple[Stamp, Reply]],
    ) -> Reading:
        stamp = Stamp.now()
        if self._lost:
            return stamp.middle().gap(self.name, name, self._lost)
        try:
            if place.path not in answers:
                answers[place.path] = stamp, self._http.request("GET", place.path)
        except (OSError, SensorError) as error:
            self._lose(error.message if isinstance(error, SensorError) else str(error))
            return stamp.middle().gap(self.name, name, self._lost)
        stamp, answer = answers[place.path]
        if answer.status == 401:
            self._session = ""
            self._lose("the session has ended")
            self._retry_at = 0.0
            return stamp.middle().gap(self.name, name, self._lost)
        if answer.status == 200:
            watts = self._watts_in(answer, name, place)
        else:
            watts = None
        if watts is not None:
            return stamp.middle().reading(self.name, name, watts)
        return stamp.middle().gap(self.name, name, _why_no_value(answer))

    def _watts_in(self, answer: Reply, name: str, place: _ValuePlace) -> float | None:
        # The limit is beside the value: to ask for it by itself would double the BMC's work.
        if place.how != "Sensor":
            self._limits[name] = limits.redfish_limit_w(answer.body, place.limit_index)
        return number(_value_at(answer.body, place.keys))

    def limits(self) -> list[PowerLimit]:
        """The limits beside the last readings: no further request is made."""
        return [PowerLimit(name, watts) for name, watts in self._limits.items()]

    def _lose(self, why: str) -> None:
        self._lost = why
        self._http.close()
        self._retry_at = time.monotonic() + self._backoff
        self._backoff = min(max(self._backoff * 2, _MIN_PAUSE_S), _MAX_PAUSE_S)

    def _reconnect(self) -> bool:
        if self._logins_refused >= _MAX_REFUSED_LOGINS or time.monotonic() < self._retry_at:
            return False
        try:
            if not self._session_lives():
                root = self._http.request("GET", _ROOT_PATH)
                if root.status != 200 or not isinstance(root.body, dict):
                    self._lose(root.refused or f"the service is not up (status {root.status})")
                    return False
                self._login(root.body)
        except OSError as error:
            self._lose(str(error))
        except SensorError as error:
            self._lose(error.message.rstrip("."))
            self._retry_at = time.monotonic() + _LOGIN_PAUSE_S
            self._logins_refused += isinstance(error, AuthenticationFailed)
        else:
            self._lost = ""
            self._backoff = 0.0
            self._logins_refused = 0
            self.reconnects += 1
            return True
        return False

    def _session_lives(self) -> bool:
        """Whether our session goes on: a lost connection need not have ended it.

        Each new session takes one of the few slots.
        """
        if not self._session:
            return False
        lives = self._http.request("GET", self._session).status == 200
        self._session = self._session if lives else ""
        return lives

    def close(self) -> None:
        if self._session and not self._lost:
            try:
                self._http.request("DELETE", self._session)
            except (OSError, SensorError):
                self._session = ""
        self._session = ""
        self._http.close()


def _sensor_place(path: str, sensor: dict[str, Any], name: str, scope: str) -> _ValuePlace:
    return _ValuePlace(
        path=path,
        keys=("Reading",),
        how="Sensor",
        name=name,
        scope=scope,
        range_end_w=_range_end_w(sensor),
    )


def _members(body: dict[str, Any]) -> list[Any]:
    members = body.get("Members")
    if isinstance(members, list):
        return members[:_MAX_MEMBERS]
    return []


def make(address: Address, options: Options) -> RedfishSource:
    if not address.host:
        raise UsageError("redfish: needs a host.", hint="Write redfish://bmc.")
    return RedfishSource(address, options)
