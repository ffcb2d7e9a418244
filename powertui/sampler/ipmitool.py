"""Power through the program ipmitool: this machine's own BMC (`ipmitool:open`), and BMCs that the
native client cannot do.

It starts a process for every reading (10 to 15 ms over LAN; a few hundred in-band on some servers).
The password goes through the child's environment, never onto its command line. `-C`, `-L`, `-N` and
`-R` are always given: left to itself ipmitool asks the BMC which cipher suites it has, which costs
10 s where that is not answered, and wants to be administrator. DCMI is asked for as raw bytes:
ipmitool's text for it differs from version to version.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from powertui.errors import AuthenticationFailed, NotSupported, SensorError, UsageError
from powertui.sampler import dcmi, programs
from powertui.sampler.bmc_sensors import DCMI_CHANNEL, pick_sensors
from powertui.sampler.credentials import Secret
from powertui.sampler.ipmi_client import LEVELS
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp, machine_of
from powertui.sampler.urls import Address, join_host_port

__all__ = ["IpmitoolSource", "device_of", "make"]

_DEVICES = ("dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0")
_COMPLETION_CODE = re.compile(r"rsp=0x([0-9a-fA-F]{2})")
_SUITE_REFUSED = re.compile(
    (
        r"open session response.*(no matching|invalid (authentication|integrity|confidentiality) "
        r"algorithm)"
    ),
    re.IGNORECASE,
)
_SENSOR_LIST_TIMEOUT_S = 60.0  # a whole sensor repository, in-band on an old BMC
# ipmitool's own limit comes first; these, chosen, are for one that hangs.
_HANG_MARGIN_S = 1.0
_PROBE_MARGIN_S = 2.0
_SENSOR_READING_MIN_S = 5.0  # it reads the sensor's record first, which takes many exchanges
_ROLE_REFUSED = re.compile(
    r"unauthorized role|[Ii]nvalid role|Set Session Privilege Level to \w+ failed"
)


def device_of(root: str) -> Path | None:
    """The device of this machine's own BMC."""
    return next((p for name in _DEVICES if (p := Path(root) / name).exists()), None)


class IpmitoolSource:
    """A BMC through ipmitool. Without a host: the BMC of this machine."""

    min_period = 0.2
    reconnects = 0  # every reading is a login of its own

    def __init__(self, address: Address, options: Options, note: str = "") -> None:
        """`note`: why it is ipmitool, for a person who asked for something else."""
        if options.level not in LEVELS:
            raise UsageError(
                f"The privilege level {options.level!r} is not one of {', '.join(LEVELS)}."
            )
        self._host = address.host
        self._options = options
        self._note = note
        self._machine = machine_of(address, options)
        if address.host:
            self.name = join_host_port(address.host, address.port)
        else:
            self.name = "ipmitool"
        self.channels: tuple[Channel, ...] = ()
        self._port = address.port or 623
        self._url = str(
            Address(
                scheme="ipmitool",
                host=address.host,
                port=address.port,
                user=options.user,
                path=address.path,
                query=address.query,
            )
        )
        self._suites = [s for s in address.query.get("suite", "17,3").split(",") if s.isdigit()]
        self._suite = ""  # what the BMC took
        self._sudo = address.query.get("sudo") == "1"
        self._program: list[str] = []  # what open() found
        self._asker = programs.Asker()
        self._sensors: list[str] = []
        self._dcmi = False

    # opening

    def open(self) -> Info:
        program = self._find("ipmitool", "Install your distribution's ipmitool package.")
        facts = {"program": program.path}
        notes = [self._note] if self._note else []
        if program.owner:
            notes.append(
                f"{program.path} runs with the BMC's password and belongs to {program.owner}."
            )
        self._program = self._command_words(program.path)
        self._login()
        if self._host:
            facts |= {"cipher suite": self._suite, "privilege": self._options.level.upper()}
        named = [s for s in self._options.sensors if s.casefold() not in ("dcmi", DCMI_CHANNEL)]
        asks_dcmi = not self._options.sensors or len(named) < len(self._options.sensors)
        why_not = self._probe_dcmi() if asks_dcmi else "not asked for"
        channels: list[Channel] = []
        if not why_not:
            self._dcmi = True
            channels.append(self._dcmi_channel())
        # Listing the sensors may take a minute: only where one is named, or nothing else is there.
        if named or why_not:
            names = self._list_sensors()
            self._sensors = pick_sensors(names, named)
            channels += [self._sensor_channel(name) for name in self._sensors]
            if not channels:
                raise _nothing_measures_power(why_not, names)
            if asks_dcmi and not named:
                notes.append(
                    f"No DCMI power reading ({why_not}); the sensor {channels[0].name!r} is "
                    "read instead."
                )
        self.channels = tuple(channels)
        return Info(
            source="ipmitool DCMI" if self._dcmi else "ipmitool sensor",
            url=self._url,
            host=self._machine,
            channels=self.channels,
            facts=facts,
            notes=tuple(notes),
        )

    def _command_words(self, path: str) -> list[str]:
        if not self._sudo or self._host:
            return [path]
        sudo = self._find("sudo", "Or give your group access to the BMC's device.")
        # -n: it fails where sudo would ask for a password, which nobody is there to type.
        return [sudo.path, "-n", path]

    def _dcmi_channel(self) -> Channel:
        return Channel(
            name=DCMI_CHANNEL,
            host=self._machine,
            scope="node",
            quantum_w=1.0,
            note="DCMI power reading, whole watts",
            running=not self._host,
        )

    def _sensor_channel(self, name: str) -> Channel:
        """The only one is taken for the machine's; what each of several covers is not known."""
        if len(self._sensors) > 1:
            return Channel(name, self._machine, "unknown", note="sensor")
        return Channel(
            name=name,
            host=self._machine,
            scope="node",
            note="sensor",
            running=not self._host,
        )

    def _find(self, name: str, hint: str) -> programs.Program:
        program = programs.find(name, as_root=self._sudo and not self._host)
        if not program.path:
            missing = program.refused or f"The program {name} is not installed."
            raise NotSupported(f"{self._note} {missing}".strip(), hint=hint)
        return program

    def _login(self) -> None:
        """Find the suite that the BMC takes, and tell a refusal from a silent host: only -v
        does.
        """
        if not self._host:
            self._check_device()
            return
        for suite in self._suites or ["17"]:
            self._suite = suite
            code, _, error = self._run(
                "-v", "mc", "info", timeout=self._options.timeout + _HANG_MARGIN_S
            )
            if not _SUITE_REFUSED.search(error):
                break
        if code != 0:
            raise self._login_error(error)

    def _check_device(self) -> None:
        """Raise why this machine's own BMC cannot be asked."""
        device = device_of(self._options.root)
        if device is None:
            raise NotSupported(
                "This machine has no BMC device (/dev/ipmi0).",
                hint="On a server with a BMC: modprobe ipmi_devintf ipmi_si (or ipmi_powernv).",
            )
        if not self._sudo and not os.access(device, os.R_OK | os.W_OK):
            raise AuthenticationFailed(
                f"{device} is not open to you.",
                hint=(
                    f"Run as root, or have {device} opened to your group by a udev rule, "
                    "or use ipmitool:open?sudo=1."
                ),
            )

    def _login_error(self, error: str) -> SensorError:
        """What ipmitool's messages say of the login: it ends with code 1 whatever it was."""
        user = self._options.user
        host = self._machine
        if _SUITE_REFUSED.search(error):
            return NotSupported(
                f"{host} accepts neither cipher suite {' nor '.join(self._suites)}."
            )
        if "HMAC is invalid" in error or "RAKP 4" in error:
            return AuthenticationFailed(
                f"{host} refuses the password of {user!r}.",
                hint="It may have a key K_G: give it with --kg-file.",
            )
        if "unauthorized name" in error:
            return AuthenticationFailed(
                f"{host} does not know the user {user!r}.", hint="Name one with --user."
            )
        if _ROLE_REFUSED.search(error):
            return AuthenticationFailed(
                f"{host} does not give {user!r} the privilege level {self._options.level.upper()}.",
                hint="Ask for another with --level.",
            )
        if "insufficient resources" in error.lower():
            return SensorError(
                f"{host}: the BMC has no free session.",
                hint="Wait a minute. Unused sessions end by themselves.",
            )
        return SensorError(
            f"{host} does not answer as a BMC within {self._options.timeout:g} s (ipmitool, "
            f"UDP port {self._port})."
        )

    def _probe_dcmi(self) -> str:
        payload, why = self._dcmi_payload(self._options.timeout + _PROBE_MARGIN_S)
        if payload is None:
            return why
        return dcmi.verdict(payload)

    def _list_sensors(self) -> list[str]:
        code, out, error = self._run("-c", "sdr", "list", "full", timeout=_SENSOR_LIST_TIMEOUT_S)
        if code and not out:
            raise SensorError(f"ipmitool could not list the sensors: {_last_line(error)}.")
        fields = (line.split(",") for line in out.splitlines())
        return [f[0] for f in fields if len(f) >= 3 and f[2].strip().casefold() == "watts"]

    # running ipmitool

    def _command(self) -> list[str]:
        if not self._host:
            return [*self._program, "-I", "open"]
        # Whole seconds, one repetition: -N is the wait for one answer, -R 1 sends it once more.
        seconds = max(1, round(self._options.timeout / 2))
        # fmt: off
        command = [*self._program, "-I", "lanplus",
                   "-H", self._host, "-p", str(self._port), "-U", self._options.user, "-E",
                   "-C", self._suite, "-L", self._options.level.upper(),
                   "-N", str(seconds), "-R", "1"]
        # fmt: on
        return [*command, "-K"] if self._options.kg else command

    def _environment(self) -> dict[str, str]:
        environment = {**programs.environment(os.environ), "LC_ALL": "C"}
        password = self._options.password
        kg = self._options.kg
        if self._host:
            environment["IPMITOOL_PASSWORD"] = (password or Secret("")).reveal()
            environment["IPMI_PASSWORD"] = environment["IPMITOOL_PASSWORD"]
            if kg:
                environment["IPMI_KGKEY"] = kg.reveal()
        return environment

    def _run(self, *words: str, timeout: float) -> programs.Done:
        """(exit code, output, errors). 124 when it took too long."""
        return self._asker.run([*self._command(), *words], self._environment(), timeout)

    def _dcmi_payload(self, timeout: float) -> tuple[dcmi.PowerReading | None, str]:
        data = [f"{byte:#04x}" for byte in (dcmi.NETFN, dcmi.POWER_READING, *dcmi.REQUEST)]
        code, out, error = self._run("raw", *data, timeout=timeout)
        if code:
            return None, _fault(error, self._options.timeout)
        try:
            return dcmi.decode(bytes.fromhex("".join(out.split()))), ""
        except ValueError:
            return None, "an answer that is not a power reading"

    # reading

    def read(self) -> list[Reading]:
        return [self._read_one(channel.name) for channel in self.channels]

    def _read_one(self, channel: str) -> Reading:
        stamp = Stamp.now()
        limit_s = self._options.timeout + _HANG_MARGIN_S
        if channel == DCMI_CHANNEL and self._dcmi:
            watts, why_not = self._dcmi_watts(limit_s)
        else:
            watts, why_not = self._sensor_watts(channel, max(limit_s, _SENSOR_READING_MIN_S))
        if watts is None:
            return stamp.middle().gap(self.name, channel, why_not)
        return stamp.middle().reading(self.name, channel, watts)

    def _dcmi_watts(self, limit_s: float) -> tuple[float | None, str]:
        reading, why_not = self._dcmi_payload(limit_s)
        if reading is None:
            return None, why_not
        why_not = dcmi.verdict(reading)
        if why_not:
            return None, why_not
        return float(reading.watts), ""

    def _sensor_watts(self, channel: str, limit_s: float) -> tuple[float | None, str]:
        code, out, error = self._run("-c", "sensor", "reading", channel, timeout=limit_s)
        if code and (why_not := _fault(error, self._options.timeout)):
            return None, why_not
        try:
            return float(out.strip().rpartition(",")[2]), ""
        except ValueError:
            return None, "the sensor has no reading (is the host on?)"

    def close(self) -> None:
        """Nothing is held between readings."""


def _nothing_measures_power(why_not: str, names: Sequence[str]) -> NotSupported:
    hint = "None of its sensors is in watts."
    if names:
        hint = f"Choose with --sensor among: {', '.join(names)}."
    return NotSupported(
        f"There is no DCMI power reading ({why_not}) and no sensor that is clearly "
        "the machine's power.",
        hint=hint,
    )


def _last_line(text: str) -> str:
    # "IANA PEN registry open failed" is printed by every ipmitool without that file: no fault.
    lines = [line for line in text.strip().splitlines() if "IANA PEN" not in line]
    if lines:
        return lines[-1].strip().rstrip(".")
    return "no reason given"


def _fault(error: str, timeout: float) -> str:
    match = _COMPLETION_CODE.search(error)
    if match:
        return dcmi.completion(int(match[1], 16))
    if "Unable to establish" in error:
        return f"no session within {timeout:g} s"
    return _last_line(error)


def make(address: Address, options: Options) -> IpmitoolSource:
    if not address.host and address.path not in ("open", ""):
        raise UsageError(
            f"ipmitool:{address.path} is not a source.",
            hint="Write ipmitool:open for this machine, or ipmitool://HOST.",
        )
    return IpmitoolSource(address, options)


def sensor_records(source: IpmitoolSource, names: Sequence[str]) -> str:
    """`sensor get` as ipmitool prints it, thresholds and all: what PowerBoard kept of each
    reading.
    """
    code, out, error = source._run("sensor", "get", *names, timeout=10.0)
    if code and not out:
        raise SensorError(f"ipmitool: {_last_line(error)}.")
    return out
