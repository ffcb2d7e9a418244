"""python-ipmi's RMCP+ interface, with what it lacks for sampling a BMC around the clock.

Two shortcomings of python-ipmi 0.6.1 are mended here, in a subclass, each only while a test of the
feature shows it:

* `SessionKeys` derives K1 and K2 of the SHA-256 suites from constants of 32 bytes; BMCs use 20 for
  every suite. The login succeeds and the first command is never answered. (`_long_key_constants`)
* The timeout is 2 s and the socket is IPv4, whatever one wants. (`_fixed_socket`)

The login is our own (ipmi_login.py): python-ipmi's insists on an RMCP ping, which many BMCs never
answer, and takes every packet at its word. What does not authenticate or does not fit the
outstanding request is left alone until the deadline.
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

from powertui.errors import NotSupported
from powertui.sampler.ipmi_login import User, log_in

__all__ = ["interface_class", "library", "resend_s"]

_KEY_CONSTANT_BYTES = 20
_REMEMBERED_SEQUENCES = 256  # messages of a session whose numbers are remembered
# How long an answer is waited for before the request is sent again. Chosen, not measured.
_MIN_RESEND_S = 0.1
_RESEND_ROUND_TRIPS = 6


class _NoDebug(logging.Filter):
    """python-ipmi logs whole messages at DEBUG, and command lines with passwords in one of its
    interfaces.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG


@functools.cache
def library() -> Any:
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
    module = library().interfaces.rmcpplus
    keys = module.SessionKeys(module.CIPHER_SUITES[17], b"any key")
    return bool(
        keys.k1 != hmac.new(b"any key", b"\x01" * _KEY_CONSTANT_BYTES, hashlib.sha256).digest()
    )


@functools.cache
def _fixed_socket() -> bool:
    return not inspect.signature(library().interfaces.rmcpplus.RmcpPlus.open).parameters.keys() & {
        "timeout",
        "family",
    }


def resend_s(round_trip_s: float) -> float:
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
        self.host = session.rmcp_host
        self.port = session.rmcp_port
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
        self.step = min(patient, resend_s(time.monotonic() - begin))
        login = log_in(self, user, suites, self.rmcpplus.AUTH_ALGORITHMS)
        self._console_session_id = login.console_id
        self._sik = login.integrity_key
        self.suite = login.suite.id
        session.sid = login.session_id
        session.sequence_number = 0
        session.activated = True
        self._session = session
        self._keys = self.rmcpplus.SessionKeys(login.suite, login.integrity_key)
        self.step = min(patient, 2 * resend_s(self.rtt))
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

    # What `ipmi_login.Wire` asks for.

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
            packet: bytes = self._sock.recv(4096)  # more than any message of IPMI
            # RMCP, version 1.0: its pings and acknowledgements have another class.
            if len(packet) > 4 and packet[0] == 6 and packet[3] == self.rmcpplus.RMCP_CLASS_IPMI:
                return packet[4:]
            self.ignored += 1


@functools.cache
def interface_class() -> Any:
    pyipmi = library()
    errors = pyipmi.errors

    class Interface(_DoubtingInterface, pyipmi.interfaces.rmcpplus.RmcpPlus):  # type: ignore[misc, name-defined]
        """RmcpPlus as we need it."""

        rmcpplus = pyipmi.interfaces.rmcpplus
        rmcp = pyipmi.interfaces.rmcp
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
