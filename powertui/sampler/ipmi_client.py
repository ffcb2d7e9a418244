"""An IPMI 2.0 connection over LAN: python-ipmi, with what it lacks for sampling a BMC around the clock.

Three shortcomings of python-ipmi 0.6.1 are mended here, in a subclass, each only while a test of the feature shows it:

* `SessionKeys` derives K1 and K2 of the SHA-256 suites from constants of 32 bytes; BMCs use 20 for every suite. The
  login succeeds and the first command is never answered. (`_long_key_constants`)
* A session is only opened after an RMCP ping was answered, which many BMCs never do. (`_insists_on_ping`)
* The timeout is 2 s and the socket is IPv4, whatever one wants. (`_fixed_socket`)

Beside those: every call has one deadline however many packets it takes, and a dead connection is dropped without a word
to the BMC (closing a session politely would wait for it).
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import inspect
import logging
import socket
import time
from typing import Any

from powertui.errors import AuthenticationFailed, NotSupported, SensorError
from powertui.sampler.credentials import Secret

__all__ = ["KNOWN_SUITES", "LEVELS", "Connection", "Transient"]

SUITES = (17, 3)  # SHA-256 first; 3 only when the BMC says that it does not take 17
KNOWN_SUITES = frozenset({1, 2, 3, 15, 16, 17})
LEVELS = ("user", "operator", "administrator")
_SUITE_REFUSED = frozenset({0x04, 0x05, 0x06, 0x07, 0x10, 0x11})
_BMC_TARGET = 0x20
_CONSTANT_LENGTH = 20


class Transient(Exception):
    """No answer this time. The message says what happened, for a person."""


class _NoDebug(logging.Filter):
    """python-ipmi logs whole messages at DEBUG, and command lines with passwords in one of its interfaces."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG


@functools.cache
def _library() -> Any:
    """python-ipmi's modules; imported when the first BMC is opened, and kept from logging secrets."""
    try:
        import pyipmi
        import pyipmi.errors
        import pyipmi.interfaces.rmcpplus
    except ImportError:
        raise NotSupported(
            "The package python-ipmi (0.6.1 or newer) is needed to ask a BMC over the network.",
            hint="pip install 'python-ipmi[rmcpplus]', or use ipmitool://HOST.",
        ) from None
    for name in ("base", "rmcp", "rmcpplus", "ipmb", "ipmitool"):
        logging.getLogger(f"pyipmi.interfaces.{name}").addFilter(_NoDebug())
    return pyipmi


class _Deaf:
    """A socket that never hears anything."""

    def send(self, data: bytes) -> int:
        return len(data)

    def recv(self, size: int) -> bytes:
        raise TimeoutError


@functools.cache
def _insists_on_ping() -> bool:
    library = _library()
    probe = library.interfaces.rmcpplus.RmcpPlus(keep_alive_interval=0)
    probe._sock = _Deaf()
    try:
        probe.ping()
    except library.errors.IpmiConnectionError:
        return True
    return False


@functools.cache
def _long_key_constants() -> bool:
    module = _library().interfaces.rmcpplus
    keys = module.SessionKeys(module.CIPHER_SUITES[17], b"any key")
    return bool(keys.k1 != hmac.new(b"any key", b"\x01" * _CONSTANT_LENGTH, hashlib.sha256).digest())


@functools.cache
def _fixed_socket() -> bool:
    return not inspect.signature(_library().interfaces.rmcpplus.RmcpPlus.open).parameters.keys() & {"timeout", "family"}


@functools.cache
def _interface_class() -> Any:
    module = _library().interfaces.rmcpplus

    base: Any = module.RmcpPlus

    class Interface(base):  # type: ignore[misc]
        """RmcpPlus with a deadline, any address family, and the two protocol faults mended."""

        deadline = 0.0
        step = 1.0
        family: int = socket.AF_INET
        _sik = b""

        def open(self) -> None:
            if _fixed_socket():
                self._sock = socket.socket(self.family, socket.SOCK_DGRAM)
                self.set_timeout(self.step)
            else:
                super().open()

        def ping(self) -> None:
            if not _insists_on_ping():
                super().ping()

        def _rakp(self, session: Any, suite: Any, managed_session_id: int) -> bytes:
            self._sik = super()._rakp(session, suite, managed_session_id)
            self.suite = suite.id
            return self._sik

        @property
        def _keys(self) -> Any:
            return self.__dict__.get("keys")

        @_keys.setter
        def _keys(self, keys: Any) -> None:
            if keys is not None and _long_key_constants():
                digest = module.AUTH_ALGORITHMS[keys.suite.authentication][0]
                keys.k1 = hmac.new(self._sik, b"\x01" * _CONSTANT_LENGTH, digest).digest()
                keys.k2 = hmac.new(self._sik, b"\x02" * _CONSTANT_LENGTH, digest).digest()
            self.__dict__["keys"] = keys

        def _receive_rmcp_msg(self) -> Any:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._sock.settimeout(min(left, self.step))
            return super()._receive_rmcp_msg()

    return Interface


class Connection:
    """One session with a BMC. Not for two threads at once.

    `open()` raises AuthenticationFailed or NotSupported for what will not pass by itself and Transient for the rest;
    `raw()` returns the completion code and the bytes after it, or raises Transient.
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
        suites: tuple[int, ...] = SUITES,
    ) -> None:
        self.host, self.port, self.user, self.level, self.timeout = host, port, user, level, timeout
        self.suite = 0
        self._password, self._kg, self._suites = password, kg, suites
        self._who = repr(user) if user else "the nameless user (name one with --user)"
        self._ipmi: Any = None
        self._address: tuple[int, str] | None = None

    @property
    def is_open(self) -> bool:
        return self._ipmi is not None

    def _resolve(self) -> tuple[int, str]:
        """Look the name up once: while it trains, a name server that is away must not cost readings."""
        if self._address is None:
            try:
                found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_DGRAM)
            except OSError as error:
                raise SensorError(f"The host name {self.host!r} is not known here ({error.strerror}).") from None
            self._address = int(found[0][0]), str(found[0][4][0])
        return self._address

    def open(self, within: float = 0.0) -> None:
        """Log in, with the first cipher suite that the BMC takes."""
        library = _library()
        errors = library.errors
        family, address = self._resolve()
        interface = _interface_class()(
            keep_alive_interval=0,  # sampling keeps the session alive
            max_retries=1,
            kg=self._kg.reveal().encode() if self._kg else None,
        )
        interface.cipher_suites = self._suites
        interface.family, interface.step = family, self.timeout / 2
        interface.deadline = time.monotonic() + (within or 2 * self.timeout)  # five exchanges, each of them may be lost once
        ipmi = library.create_connection(interface)
        ipmi.session.set_session_type_rmcp(address, self.port)
        ipmi.session.set_auth_type_user(self.user, self._password.reveal() if self._password else "")
        ipmi.session.set_priv_level(self.level)
        ipmi.target = library.Target(ipmb_address=_BMC_TARGET)
        try:
            ipmi.open()
        except BaseException as error:
            interface.close()
            if isinstance(error, errors.MessageStatusCodeError):
                self._refused(error.msc)
            if isinstance(error, errors.IpmiLongPasswordError):
                raise AuthenticationFailed("The password is longer than the 20 bytes that IPMI allows.") from None
            if isinstance(error, errors.AuthenticationError):
                raise self._wrong_key(str(error)) from None
            if isinstance(error, errors.CompletionCodeError):
                raise AuthenticationFailed(
                    f"{self.host} does not give {self._who} the privilege level {self.level.upper()} (code {error.cc:02x}).",
                    hint="Ask for another with --level.",
                ) from None
            if isinstance(error, errors.NotSupportedError):
                raise NotSupported(f"{self.host}: {error}.", hint="Try ipmitool:// for this host.") from None
            if isinstance(error, (OSError, errors.RetryError, errors.DecodingError, errors.IpmiConnectionError)):
                raise Transient(self._why(error)) from None
            raise
        interface.max_retries = 0  # a reading is asked for again by its source, with a new time stamp
        self.suite = interface.suite
        self._ipmi = ipmi

    def _refused(self, status: int) -> None:
        """The BMC's answer to the login, as the error that fits it."""
        if status in _SUITE_REFUSED:
            suites = " nor ".join(map(str, self._suites))
            raise NotSupported(
                f"{self.host} accepts neither cipher suite {suites}."
                if len(self._suites) > 1
                else f"{self.host} refuses suite {suites}.",
                hint="Enable suite 17 (or 3) for its LAN channel, or use redfish://.",
            ) from None
        if status in (0x09, 0x0A):
            raise AuthenticationFailed(
                f"{self.host} does not give {self._who} the privilege level {self.level.upper()}.",
                hint="Ask for less with --level."
                if self.level != "user"
                else "Give this user the USER privilege on the LAN channel.",
            ) from None
        if status in (0x0C, 0x0D):
            raise AuthenticationFailed(f"{self.host} does not know the user {self._who}.", hint="Name one with --user.") from None
        if status == 0x0F:
            raise AuthenticationFailed(f"{self.host} refuses the password of {self._who}.") from None
        words = {0x01: "the BMC has no free session", 0x0B: "the BMC has no free session", 0x02: "the BMC lost the session"}
        raise Transient(words.get(status, f"the BMC refused the session (status {status:02x})")) from None

    def _wrong_key(self, text: str) -> AuthenticationFailed:
        if "message 4" in text:
            return AuthenticationFailed(
                f"{self.host} accepted the password of {self._who}, but not the BMC key K_G.",
                hint="Give the right one with --kg-file." if self._kg else "This BMC has a K_G: give it with --kg-file.",
            )
        if "name longer" in text:
            return AuthenticationFailed("The user name is longer than the 16 bytes that IPMI allows.")
        return AuthenticationFailed(f"{self.host} refuses the password of {self._who}.")

    def _why(self, error: BaseException) -> str:
        if isinstance(error, ConnectionRefusedError):
            return f"nothing listens on port {self.port}"
        if isinstance(error, TimeoutError) or type(error).__name__ == "RetryError":
            return f"no answer within {self.timeout:g} s"
        if isinstance(error, OSError):
            return error.strerror or type(error).__name__
        return "an answer that is no IPMI message"

    def raw(self, netfn: int, command: int, data: bytes, *, lun: int = 0, timeout: float = 0.0) -> tuple[int, bytes]:
        """One request in the session: (completion code, payload)."""
        if self._ipmi is None:
            raise Transient("not connected")
        errors = _library().errors
        interface = self._ipmi.interface
        interface.step = timeout or self.timeout
        interface._timeout = interface.step
        interface.deadline = time.monotonic() + interface.step
        try:
            answer: bytes = interface.send_and_receive_raw(self._ipmi.target, lun, netfn, bytes([command]) + data)
        except errors.CompletionCodeError as error:
            return error.cc, b""
        except (OSError, errors.RetryError, errors.DecodingError, errors.AuthenticationError) as error:
            raise Transient(self._why(error)) from None
        if not answer:
            raise Transient("an empty answer")
        return answer[0], bytes(answer[1:])

    def records(self) -> list[Any]:
        """The full sensor records of the BMC's sensor repository. What cannot be read of it is left out."""
        library = _library()
        if self._ipmi is None:
            raise Transient("not connected")
        interface = self._ipmi.interface
        interface.step, interface.max_retries = self.timeout, 1
        interface.deadline = time.monotonic() + 30  # hundreds of records, three packets each
        found: list[Any] = []
        try:
            for record in self._ipmi.sdr_repository_entries():
                if isinstance(record, library.sdr.SdrFullSensorRecord):
                    found.append(record)
        except (OSError, library.errors.RetryError, library.errors.AuthenticationError) as error:
            raise Transient(self._why(error)) from None
        except (library.errors.CompletionCodeError, library.errors.DecodingError):
            pass
        finally:
            interface.max_retries = 0
        return found

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
        interface.step = interface._timeout = min(self.timeout, 0.5)
        interface.deadline = time.monotonic() + interface.step
        try:
            self._ipmi.session.close()
        except Exception:  # whatever it is, the connection ends here
            logging.getLogger(__name__).debug("the BMC did not confirm the end of the session")
        self.drop()
