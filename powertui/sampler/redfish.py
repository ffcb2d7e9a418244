"""Power from a BMC's Redfish service (HTTPS, JSON).

Tried in this order on each chassis: EnvironmentMetrics (newer), Power (deprecated; what POWER9 and
POWER10 machines have), and a sensor of the Sensors collection that is called total power. Links are
followed, ids never guessed. A value that is null or an answer of 404 means that there is no value
(OpenBMC shows total power only while the host runs), not zero. Session slots are few: the session
is ended when the source is closed.
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.sampler import limits
from powertui.sampler.http import Http, Reply, basic, link, number
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, machine_of, none
from powertui.sampler.urls import Address, join_host_port

__all__ = ["RedfishSource", "make"]

_ROOT_PATH = "/redfish/v1/"
_SESSIONS_PATH = "/redfish/v1/SessionService/Sessions"
_MAX_MEMBERS = 64
_MAX_REFUSED_LOGINS = 3
_LOGIN_PAUSE_S = 30.0
_MAX_TOKEN_CHARS = 4096  # characters of a session's token
_DISCOVERY_S = 30.0  # s to look around in all the resources of a service


class _ValuePlace(NamedTuple):
    """Where in a resource a value stands."""

    path: str
    keys: tuple[str | int, ...]
    how: str  # "EnvironmentMetrics", "Power", "Sensor"
    name: str
    scope: str
    most: float | None = None  # where its range ends, when it says so


def _value_at(body: Any, keys: tuple[str | int, ...]) -> Any:
    for key in keys:
        try:
            body = body[key]
        except (KeyError, IndexError, TypeError):
            return None
    return body


def _range_end_w(sensor: Any) -> float | None:
    most = number(sensor.get("ReadingRangeMax")) if isinstance(sensor, dict) else None
    return most if most is not None and most > 0 else None


def _name(value: Any, default: str) -> str:
    text = (
        "".join(c for c in str(value) if c.isprintable()).strip()[:60]
        if isinstance(value, str)
        else ""
    )
    return text or default


class RedfishSource:
    min_period = 0.2

    def __init__(self, address: Address, options: Options) -> None:
        self._options, self._host = options, machine_of(address, options)
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
        self._until = 0.0  # looking around ends
        self._refused: list[str] = []  # resources whose answers were not taken

    # opening

    def open(self) -> Info:
        self._until, self._refused = time.monotonic() + _DISCOVERY_S, []
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
        if not places and self._refused:
            self.close()
            raise SensorError(
                f"{self._host} has no power reading that can be used: "
                f"{'; '.join(self._refused[:3])}."
            )
        if not places:
            self.close()
            wanted = (
                " called " + " or ".join(self._options.sensors) if self._options.sensors else ""
            )
            raise NotSupported(
                f"The Redfish service of {self._host} has no power reading{wanted}.",
                hint="Some have it only while the host is on.",
            )
        self._http.timeout = self._options.timeout
        self._places = {p.name: p for p in places}
        self.channels = tuple(
            Channel(p.name, self._host, p.scope, None, note=f"Redfish {p.how}", most_w=p.most)
            for p in places
        )
        facts = {
            "Redfish": _name(root.body.get("RedfishVersion"), "?"),
            "TLS": "not checked" if self._options.insecure else "checked",
        }
        return Info("redfish " + places[0].how, self._url, self._host, self.channels, facts)

    def _login(self, root: dict[str, Any]) -> None:
        password = self._options.password
        path = link(_value_at(root, ("Links", "Sessions"))) or _SESSIONS_PATH
        self._http.headers.pop("X-Auth-Token", None)
        answer = self._http.request(
            "POST",
            path,
            {"UserName": self._options.user, "Password": password.reveal() if password else ""},
        )
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
            raise AuthenticationFailed(
                f"{self._host} refuses the user {self._options.user!r} or the password."
            )
        elif answer.status in (404, 405, 501):  # a service without sessions
            self._http.headers["Authorization"] = basic(self._options.user, password)
        else:
            raise SensorError(
                f"{self._host} opens no session (status {answer.status}).",
                hint="Its session slots may be used up. Wait a few minutes.",
            )

    def _get(self, path: str) -> Any:
        if time.monotonic() > self._until:
            raise TimeoutError(f"its resources were not read within {_DISCOVERY_S:g} s")
        answer = self._http.request("GET", path) if path else Reply(404, {}, None)
        if answer.status in (401, 403):
            raise AuthenticationFailed(
                f"{self._host} does not let {self._options.user!r} read {path}."
            )
        if answer.refused:
            self._refused.append(f"{path}: {answer.refused}")
        return answer.body if answer.status == 200 and isinstance(answer.body, dict) else {}

    def _find(self, root: dict[str, Any]) -> Iterator[_ValuePlace]:
        chassis = [link(m) for m in _members(self._get(link(root.get("Chassis"))))]
        found = 0
        for path in chassis:
            body = self._get(path)
            label = (
                _name(body.get("Id"), path.rstrip("/").rpartition("/")[2])
                if len(chassis) > 1
                else ""
            )
            scope = "node" if not found else "unknown"  # a second chassis may lie inside the first
            for place in (
                self._sensors_of(body) if self._options.sensors else self._whole(body, label, scope)
            ):
                found += 1
                yield place

    def _whole(self, chassis: dict[str, Any], label: str, scope: str) -> Iterator[_ValuePlace]:
        name = f"{label} power".strip()
        path = link(chassis.get("EnvironmentMetrics"))
        keys: tuple[str | int, ...] = ("PowerWatts", "Reading")
        found = self._get(path)
        if path and number(_value_at(found, keys)) is not None:
            yield _ValuePlace(
                path,
                keys,
                "EnvironmentMetrics",
                name,
                scope,
                _range_end_w(_value_at(found, keys[:1])),
            )
            return
        path = link(chassis.get("Power"))
        controls = self._get(path).get("PowerControl")
        for index, control in enumerate(controls if isinstance(controls, list) else []):
            if number(_value_at(control, ("PowerConsumedWatts",))) is not None:
                yield _ValuePlace(
                    path, ("PowerControl", index, "PowerConsumedWatts"), "Power", name, scope
                )
                return
        for path, body in self._power_sensors(chassis):
            if "total" in _name(body.get("Name"), path).casefold():
                yield _ValuePlace(path, ("Reading",), "Sensor", name, scope, _range_end_w(body))
                return

    def _sensors_of(self, chassis: dict[str, Any]) -> Iterator[_ValuePlace]:
        for path, body in self._power_sensors(chassis):
            name = _name(body.get("Name"), path.rstrip("/").rpartition("/")[2])
            if any(fnmatch.fnmatch(name.casefold(), s.casefold()) for s in self._options.sensors):
                scope = "node" if "total" in name.casefold() else "unknown"
                yield _ValuePlace(path, ("Reading",), "Sensor", name, scope, _range_end_w(body))

    def _power_sensors(self, chassis: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        for member in _members(self._get(link(chassis.get("Sensors")))):
            path = link(member)
            if "power" in path.casefold() or "watt" in path.casefold():
                body = self._get(path)
                if (
                    body.get("ReadingType") in ("Power", None)
                    and body.get("ReadingUnits") in ("W", None)
                    and "Reading" in body
                ):
                    yield path, body

    # reading

    def read(self) -> list[Reading]:
        if self._lost and not self._reconnect():
            stamp = Stamp.now()
            return [self._reading(stamp, name, None, self._lost) for name in self._places]
        out: list[Reading] = []
        bodies: dict[str, tuple[Stamp, Reply]] = {}
        for name, place in self._places.items():
            stamp = Stamp.now()
            if self._lost:
                out.append(self._reading(stamp, name, None, self._lost))
                continue
            try:
                if place.path not in bodies:
                    bodies[place.path] = stamp, self._http.request("GET", place.path)
            except (OSError, SensorError) as error:
                self._lose(error.message if isinstance(error, SensorError) else str(error))
                out.append(self._reading(stamp, name, None, self._lost))
                continue
            stamp, answer = bodies[place.path]
            if answer.status == 401:
                self._session = ""
                self._lose("the session has ended")
                self._retry_at = 0.0
                out.append(self._reading(stamp, name, None, self._lost))
                continue
            value = number(_value_at(answer.body, place.keys)) if answer.status == 200 else None
            if answer.status == 200 and place.how != "Sensor":
                index = (
                    place.keys[1]
                    if place.how == "Power" and isinstance(place.keys[1], int)
                    else None
                )
                self._limits[name] = limits.redfish_limit_w(answer.body, index)
            why = (
                "no value (is the host on?)"
                if answer.status in (200, 404)
                else f"status {answer.status}"
            )
            why = answer.refused or why
            out.append(self._reading(stamp, name, value, why))
        return out

    def limits(self) -> list[PowerLimit]:
        """What stood beside the last readings: nothing is asked for it."""
        return [PowerLimit(name, watts) for name, watts in self._limits.items()]

    def _reading(self, stamp: Stamp, channel: str, value: float | None, why: str) -> Reading:
        t, mono, rtt = stamp.middle()
        return Reading(t, mono, value, rtt, self.name, channel, none(why) if value is None else OK)

    def _lose(self, why: str) -> None:
        self._lost = why
        self._http.close()
        self._retry_at = time.monotonic() + self._backoff
        self._backoff = min(max(self._backoff * 2, 0.25), 5.0)

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
            self._lost, self._backoff, self._logins_refused = "", 0.0, 0
            self.reconnects += 1
            return True
        return False

    def _session_lives(self) -> bool:
        """A lost connection need not have ended it, and each new one takes a slot of the few that
        there are.
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


def _members(body: dict[str, Any]) -> list[Any]:
    members = body.get("Members")
    return members[:_MAX_MEMBERS] if isinstance(members, list) else []


def make(address: Address, options: Options) -> RedfishSource:
    if not address.host:
        raise UsageError("redfish: needs a host.", hint="Write redfish://bmc.")
    return RedfishSource(address, options)
