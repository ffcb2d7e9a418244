"""An IPMI 2.0 connection over LAN: python-ipmi, with what it lacks for sampling a BMC around the
clock (ipmi_interface.py).

Every call has one deadline however many packets it takes, and a dead connection is dropped without
a word to the BMC (closing a session politely would wait for it).
"""

from __future__ import annotations

import logging
import socket
import time
from typing import Any

from powertui.errors import AuthenticationFailed, NotSupported, SensorError
from powertui.sampler.credentials import Secret
from powertui.sampler.ipmi_interface import interface_class, library, resend_s
from powertui.sampler.ipmi_login import SUITE_REFUSED, Refused

__all__ = ["KNOWN_SUITES", "LEVELS", "Connection", "Transient"]

_DEFAULT_SUITES = (17, 3)  # SHA-256 first; 3 only when the BMC says that it does not take 17
KNOWN_SUITES = frozenset({1, 2, 3, 15, 16, 17})
LEVELS = ("user", "operator", "administrator")
_BMC_ADDRESS = 0x20
_RECORDS_TIMEOUT_S = 30.0  # for a whole sensor repository
_RECORD_RETRIES = 15  # of a request that is no reading
_UNLIMITED_RETRIES = 1_000_000  # retries while logging in: a BMC may be busy for seconds
_MAX_NAME_BYTES, _MAX_PASSWORD_BYTES = 16, 20  # bytes that IPMI allows


class Transient(Exception):
    """No answer this time. The message says what happened, for a person."""


class Connection:
    """One session with a BMC. Not for two threads at once.

    `open()` raises AuthenticationFailed or NotSupported for what will not pass by itself and
    Transient for the rest; `raw()` returns the completion code and the bytes after it, or raises
    Transient.
    """

    def __init__(
        self,
        host: str,
        port: int,
        user: str,
        password: Secret | None,
        *,
        level: str = "user",
        kg: Secret | None = None,
        timeout: float = 2.0,
        suites: tuple[int, ...] = _DEFAULT_SUITES,
        name: str = "",
    ) -> None:
        self.host = host
        self.port = port
        self.user = user
        self.level = level
        self.timeout = timeout
        self.name = name or host  # in what is said of it: several BMCs may be behind one host
        self.suite = 0
        self._password = password
        self._kg = kg
        self._suites = suites
        self._who = repr(user) if user else "the nameless user (name one with --user)"
        self._ipmi: Any = None
        self._address: tuple[int, str] | None = None
        self._rtt = 0.0  # a usual round trip, s; 0: not known yet

    @property
    def patience(self) -> float:
        """How long a request is waited for before it is sent again, s: several usual round trips,
        half of the timeout at most.
        """
        most_s = self.timeout / 2
        if self._rtt:
            return min(most_s, resend_s(self._rtt))
        return most_s

    @property
    def is_open(self) -> bool:
        return self._ipmi is not None

    def _resolve(self) -> tuple[int, str]:
        """Look the name up once: while it trains, a name server that is away must not cost
        readings.
        """
        if self._address is None:
            try:
                addresses = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_DGRAM)
            except OSError as error:
                raise SensorError(
                    f"The host name {self.host!r} cannot be resolved ({error.strerror})."
                ) from None
            self._address = int(addresses[0][0]), str(addresses[0][4][0])
        return self._address

    def open(self, within: float = 0.0) -> None:
        """Log in, with the first cipher suite that the BMC takes."""
        pyipmi = library()
        errors = pyipmi.errors
        if len(self.user.encode()) > _MAX_NAME_BYTES:
            raise AuthenticationFailed(
                f"The user name is longer than the {_MAX_NAME_BYTES} bytes that IPMI allows."
            )
        if self._password and len(self._password.reveal().encode()) > _MAX_PASSWORD_BYTES:
            raise AuthenticationFailed(
                f"The password is longer than the {_MAX_PASSWORD_BYTES} bytes that IPMI allows."
            )
        family, address = self._resolve()
        interface = interface_class()(
            keep_alive_interval=0,  # sampling keeps the session alive
            max_retries=_UNLIMITED_RETRIES,
            kg=self._kg.reveal().encode() if self._kg else None,
        )
        interface.cipher_suites = self._suites
        interface.family = family
        interface.step = self.timeout / 8
        allowed = within or 2 * self.timeout  # five exchanges, each of them may be lost once
        interface.deadline = time.monotonic() + allowed
        ipmi = pyipmi.create_connection(interface)
        ipmi.session.set_session_type_rmcp(address, self.port)
        ipmi.session.set_auth_type_user(
            self.user, self._password.reveal() if self._password else ""
        )
        ipmi.session.set_priv_level(self.level)
        ipmi.target = pyipmi.Target(ipmb_address=_BMC_ADDRESS)
        try:
            ipmi.open()
        except BaseException as error:
            interface.close()
            if isinstance(error, Refused):
                self._refused(error.what)
            if isinstance(error, errors.CompletionCodeError):
                raise AuthenticationFailed(
                    (
                        f"{self.name} does not give {self._who} the privilege level "
                        f"{self.level.upper()} (code {error.cc:02x})."
                    ),
                    hint="Ask for another with --level.",
                ) from None
            if isinstance(error, errors.NotSupportedError):
                raise NotSupported(
                    f"{self.name}: {error}.", hint="Try ipmitool:// for this host."
                ) from None
            if isinstance(
                error,
                (OSError, errors.RetryError, errors.DecodingError, errors.IpmiConnectionError),
            ):
                raise Transient(self._why(error, allowed)) from None
            raise
        # A reading is asked for again by its source, with a new time stamp.
        interface.max_retries = 0
        self.suite = interface.suite
        self._rtt = self._rtt or interface.rtt
        self._ipmi = ipmi

    def _refused(self, status: int | str) -> None:
        """The BMC's answer to the login, as the error that fits it."""
        if status == "kg":
            raise AuthenticationFailed(
                f"{self.name} accepted the password of {self._who}, but not the BMC key K_G.",
                hint="Give the right one with --kg-file."
                if self._kg
                else "This BMC has a K_G. Give it with --kg-file.",
            ) from None
        if status in SUITE_REFUSED:
            suites = " nor ".join(map(str, self._suites))
            raise NotSupported(
                f"{self.name} accepts neither cipher suite {suites}."
                if len(self._suites) > 1
                else f"{self.name} refuses suite {suites}.",
                hint="Enable suite 17 (or 3) for its LAN channel, or use redfish://.",
            ) from None
        if status in (0x09, 0x0A):
            raise AuthenticationFailed(
                f"{self.name} does not give {self._who} the privilege level {self.level.upper()}.",
                hint="Ask for a lower one with --level."
                if self.level != "user"
                else "Give this user the USER privilege on the LAN channel.",
            ) from None
        if status in (0x0C, 0x0D):
            raise AuthenticationFailed(
                f"{self.name} does not know the user {self._who}.", hint="Name one with --user."
            ) from None
        if status in (0x0F, "password"):
            raise AuthenticationFailed(
                f"{self.name} refuses the password of {self._who}."
            ) from None
        words = {
            0x01: "the BMC has no free session",
            0x0B: "the BMC has no free session",
            0x02: "the BMC lost the session",
        }
        code = int(status)
        raise Transient(
            words.get(code, f"the BMC refused the session (status {code:02x})")
        ) from None

    def _why(self, error: BaseException, allowed: float = 0.0) -> str:
        if isinstance(error, ConnectionRefusedError):
            return f"nothing listens on port {self.port}"
        if isinstance(error, TimeoutError) or type(error).__name__ == "RetryError":
            heard = self._ipmi is not None and self._ipmi.interface.ignored
            return (
                f"no answer within {allowed or self.timeout:g} s"
                + ", only packets that do not match" * bool(heard)
            )
        if isinstance(error, OSError):
            return error.strerror or type(error).__name__
        return "an answer that is not an IPMI message"

    def raw(
        self,
        netfn: int,
        command: int,
        data: bytes,
        *,
        lun: int = 0,
        timeout: float = 0.0,
    ) -> tuple[int, bytes]:
        """One request in the session: (completion code, payload)."""
        if self._ipmi is None:
            raise Transient("not connected")
        errors = library().errors
        interface = self._ipmi.interface
        interface.step = timeout or self.timeout
        interface.ignored = 0
        begin = time.monotonic()
        interface.deadline = begin + interface.step
        try:
            answer: bytes = interface.send_and_receive_raw(
                self._ipmi.target, lun, netfn, bytes([command]) + data
            )
        except errors.CompletionCodeError as error:
            return error.cc, b""
        except (
            OSError,
            errors.RetryError,
            errors.DecodingError,
            errors.AuthenticationError,
        ) as error:
            raise Transient(self._why(error)) from None
        # A running mean of eight: one late answer must not double every wait after it.
        self._rtt += (time.monotonic() - begin - self._rtt) / (8 if self._rtt else 1)
        if not answer:
            raise Transient("an empty answer")
        return answer[0], bytes(answer[1:])

    def records(self) -> list[Any]:
        """The full sensor records of the BMC's sensor repository.

        What cannot be read of it is left out.
        """
        pyipmi = library()
        if self._ipmi is None:
            raise Transient("not connected")
        interface = self._ipmi.interface
        interface.step = self.timeout / 8
        interface.max_retries = _RECORD_RETRIES
        # Hundreds of records, three packets each.
        interface.deadline = time.monotonic() + _RECORDS_TIMEOUT_S
        found_records: list[Any] = []
        try:
            for record in self._ipmi.sdr_repository_entries():
                if isinstance(record, pyipmi.sdr.SdrFullSensorRecord):
                    found_records.append(record)
        except (OSError, pyipmi.errors.RetryError, pyipmi.errors.AuthenticationError) as error:
            raise Transient(self._why(error)) from None
        except (pyipmi.errors.CompletionCodeError, pyipmi.errors.DecodingError):
            pass
        finally:
            interface.max_retries = 0
        return found_records

    def drop(self) -> None:
        """Forget the session without telling the BMC: it is dead, or has forgotten us."""
        if self._ipmi is not None:
            self._ipmi.interface.close()
            self._ipmi = None

    def close(self) -> None:
        """Log out. Session slots are few, so this is worth one short wait."""
        if self._ipmi is None:
            return
        interface = self._ipmi.interface
        interface.step = min(self.timeout, 0.5)
        interface.deadline = time.monotonic() + interface.step
        try:
            self._ipmi.session.close()
        except Exception:  # whatever it is, the connection ends here
            logging.getLogger(__name__).debug("the BMC did not confirm the end of the session")
        self.drop()
