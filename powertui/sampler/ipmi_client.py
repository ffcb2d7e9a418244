"""An IPMI 2.0 connection over LAN: python-ipmi, with what it lacks for sampling a BMC around the
clock.

Two shortcomings of python-ipmi 0.6.1 are mended here, in a subclass, each only while a test of the
feature shows it:

* `SessionKeys` derives K1 and K2 of the SHA-256 suites from constants of 32 bytes; BMCs use 20 for
  every suite. The login succeeds and the first command is never answered. (`_long_key_constants`)
* The timeout is 2 s and the socket is IPv4, whatever one wants. (`_fixed_socket`)

The login is our own (ipmi_login.py): python-ipmi's insists on an RMCP ping, which many BMCs never
answer, and takes every packet at its word. What does not authenticate or does not fit the
outstanding request is left alone until the deadline. Every call has one deadline however many
packets it takes, and a dead connection is dropped without a word to the BMC (closing a session
politely would wait for it).
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import inspect
import logging
import socket
import struct
import time
from collections import deque
from typing import Any

from powertui.errors import AuthenticationFailed, NotSupported, SensorError
from powertui.sampler.credentials import Secret
from powertui.sampler.ipmi_login import SUITE_REFUSED, Refused, User, log_in

__all__ = ["KNOWN_SUITES", "LEVELS", "Connection", "Transient"]

_DEFAULT_SUITES = (17, 3)  # SHA-256 first; 3 only when the BMC says that it does not take 17
KNOWN_SUITES = frozenset({1, 2, 3, 15, 16, 17})
LEVELS = ("user", "operator", "administrator")
_BMC_ADDRESS = 0x20
_KEY_CONSTANT_BYTES = 20
_REMEMBERED_SEQUENCES = 256  # messages of a session whose numbers are remembered
_MIN_RESEND_S = 0.1  # s before a request is sent again
_RESEND_ROUND_TRIPS = 6  # … and so many usual ones
_RECORD_RETRIES = 15  # of a request that is no reading
_UNLIMITED_RETRIES = 1_000_000  # retries while logging in: a BMC may be busy for seconds
_MAX_NAME_BYTES, _MAX_PASSWORD_BYTES = 16, 20  # bytes that IPMI allows


class Transient(Exception):
    """No answer this time. The message says what happened, for a person."""


class _NoDebug(logging.Filter):
    """python-ipmi logs whole messages at DEBUG, and command lines with passwords in one of its
    interfaces.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG


@functools.cache
def _library() -> Any:
    """python-ipmi's modules; imported when the first BMC is opened, and kept from logging
    secrets.
    """
    try:
        import pyipmi
        import pyipmi.errors
        import pyipmi.interfaces.rmcpplus
    except ImportError:
        raise NotSupported(
            "The package python-ipmi (0.6.1 or newer) is needed to reach a BMC over the network.",
            hint="Run pip install 'python-ipmi[rmcpplus]', or use ipmitool://HOST.",
        ) from None
    for name in ("base", "rmcp", "rmcpplus", "ipmb", "ipmitool"):
        logging.getLogger(f"pyipmi.interfaces.{name}").addFilter(_NoDebug())
    return pyipmi


@functools.cache
def _long_key_constants() -> bool:
    module = _library().interfaces.rmcpplus
    keys = module.SessionKeys(module.CIPHER_SUITES[17], b"any key")
    return bool(
        keys.k1 != hmac.new(b"any key", b"\x01" * _KEY_CONSTANT_BYTES, hashlib.sha256).digest()
    )


@functools.cache
def _fixed_socket() -> bool:
    return not inspect.signature(_library().interfaces.rmcpplus.RmcpPlus.open).parameters.keys() & {
        "timeout",
        "family",
    }


def _resend_s(round_trip_s: float) -> float:
    """How long an answer is waited for before the request is sent again."""
    return max(_MIN_RESEND_S, _RESEND_ROUND_TRIPS * round_trip_s)


class _DoubtingInterface:
    """What RmcpPlus lacks: a deadline, any address family, a login that doubts, and an ear for what
    is meant for it alone. `_interface_class` puts this class before RmcpPlus.
    """

    # python-ipmi is imported late, so its modules are handed in.
    rmcpplus: Any
    rmcp: Any
    errors: Any
    unusable: tuple[type[Exception], ...]  # how its decoder refuses a packet
    kg: bytes | None
    max_retries: int
    cipher_suites: tuple[int, ...]
    _sock: Any
    _get_channel_auth_cap: Any
    _set_session_privilege_level: Any
    _send_payload: Any
    set_timeout: Any

    deadline = 0.0
    step = 1.0
    rtt = 0.0
    family: int = socket.AF_INET
    ignored = 0  # packets since the last request
    _sik = b""
    _accepted: deque[int]

    def open(self) -> None:
        self._accepted = deque(maxlen=_REMEMBERED_SEQUENCES)
        if _fixed_socket():
            self._sock = socket.socket(self.family, socket.SOCK_DGRAM)
            self.set_timeout(self.step)
        else:
            super().open()  # type: ignore[misc]

    @property
    def _keys(self) -> Any:
        return self.__dict__.get("keys")

    @_keys.setter
    def _keys(self, keys: Any) -> None:
        if keys is not None and _long_key_constants():
            digest = self.rmcpplus.AUTH_ALGORITHMS[keys.suite.authentication][0]
            keys.k1 = hmac.new(self._sik, b"\x01" * _KEY_CONSTANT_BYTES, digest).digest()
            keys.k2 = hmac.new(self._sik, b"\x02" * _KEY_CONSTANT_BYTES, digest).digest()
        self.__dict__["keys"] = keys

    def establish_session(self, session: Any) -> None:
        self._session, self._keys = None, None
        self.host, self.port = session.rmcp_host, session.rmcp_port
        self._sock.connect((self.host, self.port))
        begin = time.monotonic()
        if not self._get_channel_auth_cap(session).ipmi_2_0:
            raise self.errors.NotSupportedError("BMC does not support IPMI v2.0 (RMCP+)")
        suites = self._usable_suites()
        user = User(
            session.auth_username_bytes,
            session.auth_password_bytes,
            self.kg or b"",
            session.priv_level,
        )
        patient = self.step
        self.step = min(patient, _resend_s(time.monotonic() - begin))
        login = log_in(self, user, suites, self.rmcpplus.AUTH_ALGORITHMS)
        self._console_session_id = login.console_id
        self._sik = login.integrity_key
        self.suite = login.suite.id
        session.sid, session.sequence_number, session.activated = login.session_id, 0, True
        self._session = session
        self._keys = self.rmcpplus.SessionKeys(login.suite, login.integrity_key)
        self.step = min(patient, 2 * _resend_s(self.rtt))
        self._set_session_privilege_level(session.priv_level)

    def _usable_suites(self) -> list[Any]:
        """Those asked for, without the encrypted ones where there is no AES."""
        suites = [self.rmcpplus.CIPHER_SUITES[number] for number in self.cipher_suites]
        if self.rmcpplus.aes_available():
            return suites
        unencrypted = self.rmcpplus.CONFIDENTIALITY_ALGO_NONE
        suites = [suite for suite in suites if suite.confidentiality == unencrypted]
        if not suites:
            raise self.errors.NotSupportedError(self.rmcpplus.AES_NOT_AVAILABLE)
        return suites

    def send_setup(self, kind: int, body: bytes) -> None:
        self._send_payload(kind, body)

    def receive_setup(self, until: float) -> tuple[int, bytes]:
        while True:
            packet = self._packet(until)
            try:
                kind, session_id, _, body = self.rmcpplus.unpack_rmcpplus(packet, None)
            except self.unusable:
                continue
            if session_id == 0:
                return kind, body

    def _receive_response(self, header: Any) -> bytes:
        """The answer to this very request."""
        until = min(time.monotonic() + self.step, self.deadline)
        while True:
            try:
                packet = self._packet(until)
            except TimeoutError:
                if time.monotonic() >= self.deadline:
                    self.max_retries = 0  # it is sent again until then, and never after
                raise
            try:
                data = self._unsealed(packet)
                if self.rmcp.rx_filter(header, data):
                    return data
            except self.unusable:
                pass
            self.ignored += 1

    def _unsealed(self, packet: bytes) -> bytes:
        if self._keys is None:  # before there is a session: IPMI 1.5
            return self.rmcp.IpmiMsg().unpack(packet) or b""
        kind, session_id, sequence, data = self.rmcpplus.unpack_rmcpplus(packet, self._keys)
        if (
            kind != self.rmcpplus.PAYLOAD_TYPE_IPMI
            or session_id != self._console_session_id
            or sequence in self._accepted
        ):
            raise self.errors.DecodingError("not for this session, or not for the first time")
        if sequence:
            self._accepted.append(sequence)
        return bytes(data)

    def _packet(self, until: float) -> bytes:
        """The next IPMI message, without its RMCP header."""
        while True:
            remaining_s = min(until, self.deadline) - time.monotonic()
            if remaining_s <= 0:
                raise TimeoutError
            self._sock.settimeout(remaining_s)
            packet: bytes = self._sock.recv(4096)
            if len(packet) > 4 and packet[0] == 6 and packet[3] == self.rmcpplus.RMCP_CLASS_IPMI:
                return packet[4:]
            self.ignored += 1


@functools.cache
def _interface_class() -> Any:
    library = _library()
    errors = library.errors

    class Interface(_DoubtingInterface, library.interfaces.rmcpplus.RmcpPlus):  # type: ignore[misc, name-defined]
        """RmcpPlus as we need it."""

        rmcpplus = library.interfaces.rmcpplus
        rmcp = library.interfaces.rmcp
        unusable = (
            errors.DecodingError,
            errors.AuthenticationError,
            struct.error,
            ValueError,
            IndexError,
            TypeError,
        )

    Interface.errors = errors
    return Interface


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
        self.host, self.port, self.user, self.level, self.timeout = host, port, user, level, timeout
        self.name = name or host  # in what is said of it: several BMCs may be behind one host
        self.suite = 0
        self._password, self._kg, self._suites = password, kg, suites
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
        return min(most_s, _resend_s(self._rtt)) if self._rtt else most_s

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
        library = _library()
        errors = library.errors
        if len(self.user.encode()) > _MAX_NAME_BYTES:
            raise AuthenticationFailed(
                f"The user name is longer than the {_MAX_NAME_BYTES} bytes that IPMI allows."
            )
        if self._password and len(self._password.reveal().encode()) > _MAX_PASSWORD_BYTES:
            raise AuthenticationFailed(
                f"The password is longer than the {_MAX_PASSWORD_BYTES} bytes that IPMI allows."
            )
        family, address = self._resolve()
        interface = _interface_class()(
            keep_alive_interval=0,  # sampling keeps the session alive
            max_retries=_UNLIMITED_RETRIES,
            kg=self._kg.reveal().encode() if self._kg else None,
        )
        interface.cipher_suites = self._suites
        interface.family, interface.step = family, self.timeout / 8
        allowed = within or 2 * self.timeout  # five exchanges, each of them may be lost once
        interface.deadline = time.monotonic() + allowed
        ipmi = library.create_connection(interface)
        ipmi.session.set_session_type_rmcp(address, self.port)
        ipmi.session.set_auth_type_user(
            self.user, self._password.reveal() if self._password else ""
        )
        ipmi.session.set_priv_level(self.level)
        ipmi.target = library.Target(ipmb_address=_BMC_ADDRESS)
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
        interface.max_retries = (
            0  # a reading is asked for again by its source, with a new time stamp
        )
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
        self, netfn: int, command: int, data: bytes, *, lun: int = 0, timeout: float = 0.0
    ) -> tuple[int, bytes]:
        """One request in the session: (completion code, payload)."""
        if self._ipmi is None:
            raise Transient("not connected")
        errors = _library().errors
        interface = self._ipmi.interface
        interface.step, interface.ignored = timeout or self.timeout, 0
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
        self._rtt += (time.monotonic() - begin - self._rtt) / (8 if self._rtt else 1)
        if not answer:
            raise Transient("an empty answer")
        return answer[0], bytes(answer[1:])

    def records(self) -> list[Any]:
        """The full sensor records of the BMC's sensor repository.

        What cannot be read of it is left out.
        """
        library = _library()
        if self._ipmi is None:
            raise Transient("not connected")
        interface = self._ipmi.interface
        interface.step, interface.max_retries = self.timeout / 8, _RECORD_RETRIES
        interface.deadline = time.monotonic() + 30  # hundreds of records, three packets each
        found_records: list[Any] = []
        try:
            for record in self._ipmi.sdr_repository_entries():
                if isinstance(record, library.sdr.SdrFullSensorRecord):
                    found_records.append(record)
        except (OSError, library.errors.RetryError, library.errors.AuthenticationError) as error:
            raise Transient(self._why(error)) from None
        except (library.errors.CompletionCodeError, library.errors.DecodingError):
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
