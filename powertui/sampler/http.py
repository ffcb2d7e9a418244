"""One kept connection to a server that speaks JSON: for Redfish and Prometheus. TLS certificates
are checked unless told not to.

The server is not trusted: an answer has one deadline from the connection to its last byte, a
largest size, and JSON that is neither deep nor full of endless numbers. What goes beyond is refused
with a reason, and the connection with it where need be.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import http.client
import io
import json
import re
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from typing import Any

from powertui.errors import SensorError
from powertui.named_tuples import NamedTuple
from powertui.sampler.credentials import Secret
from powertui.sampler.urls import join_host_port

__all__ = ["MAX_ANSWER_BYTES", "Http", "Reply", "TooLarge", "basic", "link", "number", "parse"]

MAX_ANSWER_BYTES = 1 << 20  # bytes of one answer; a BMC's resources have some thousand
_HTTPS = 443
_MAX_HEAD_BYTES = 1 << 16  # bytes of its status line and headers beside that
_MAX_DEPTH = 64  # levels of JSON
_MAX_LINK_CHARS = 2000  # characters of a link
_MAX_NUMBER_CHARS = 64  # characters of one number in it
# An open one ends with the document: one pass, whatever comes.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
# How a BMC ends a connection that was kept too long: then the request is sent again on a new one.
_CLOSED = (
    http.client.RemoteDisconnected,
    ConnectionResetError,
    BrokenPipeError,
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
)
_GZIP = frozenset({"gzip", "x-gzip"})
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # as zlib calls a stream with gzip's head
_NEITHER_QUOTE_NOR_BRACKET = bytes(set(range(256)) - set(b'"[]{}'))
_NO_BRACKET = re.compile(r"[^\[\]{}]+")


class TooLarge(OSError):
    """An answer that is larger than is taken."""


class _Unpackable(OSError):
    """An answer that came compressed and cannot be unpacked."""


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: Any  # parsed JSON, None when it was none
    refused: str = ""  # why a body that came was not taken


def basic(user: str, password: Secret | None) -> str:
    """The value of an Authorization header."""
    text = f"{user}:{password.reveal() if password else ''}"
    return "Basic " + base64.b64encode(text.encode()).decode()


def link(value: Any) -> str:
    """The path of an "@odata.id": only a path on the same server is followed."""
    if isinstance(value, dict):
        path = value.get("@odata.id")
    else:
        path = None
    if (
        not isinstance(path, str)
        or len(path) > _MAX_LINK_CHARS
        or not path.isascii()
        or not path.isprintable()
        or " " in path
    ):
        return ""
    if path.startswith("/") and not path.startswith("//"):
        return path
    return ""


def number(value: Any) -> float | None:
    """A finite number; some servers send it as text."""
    if (
        isinstance(value, bool)
        or value is None
        or (isinstance(value, str) and len(value) > _MAX_NUMBER_CHARS)
    ):
        return None
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if abs(result) < float("inf"):
        return result
    return None


def parse(raw: bytes) -> tuple[Any, str]:
    """(JSON, "") or (None, why it is refused)."""
    try:
        text = raw.decode("utf-8-sig")
        if _is_deeper(text, _MAX_DEPTH):
            return None, f"an answer nested deeper than {_MAX_DEPTH} levels"
        return json.loads(text, parse_int=_int, parse_float=_float), ""
    except _Refused as refused:
        return None, str(refused)
    except ValueError:
        return None, "an answer that is not JSON"


def _unpacked(raw: bytes, largest: int) -> bytes:
    """A body that came compressed, which proxies do unasked."""
    stream = zlib.decompressobj(wbits=_GZIP_WINDOW)
    try:
        body = stream.decompress(raw, largest + 1)
    except zlib.error:
        raise _Unpackable("an answer that says it is compressed and is not") from None
    if len(body) > largest:
        raise TooLarge
    if not stream.eof:
        raise _Unpackable("the answer ended before it was whole")
    return body


class _Refused(Exception):
    pass


def _int(text: str) -> int:
    return int(_checked_number(text))


def _float(text: str) -> float:
    return float(_checked_number(text))


def _checked_number(text: str) -> str:
    if len(text) > _MAX_NUMBER_CHARS:
        raise _Refused(f"an answer with a number of {len(text)} digits")
    return text


def _is_deeper(text: str, most: int) -> bool:
    """Found before parsing: the parser recurses, and a caller may have lifted Python's own limit of
    that.
    """
    if text.count("[") + text.count("{") <= most:
        return False
    if "\\" not in text:  # then each quote begins or ends a string, whatever else there is
        text = text.encode().translate(None, _NEITHER_QUOTE_NOR_BRACKET).decode()
    depth = 0
    for bracket in _NO_BRACKET.sub("", _STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > most:
            return True
    return False


class _Wire:
    """A socket on which an exchange must end by its deadline and within its size, however it comes
    in pieces.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.until = 0.0
        self.budget = 0
        self.received = 0

    def renew(self, until: float, budget: int) -> None:
        self.until = until
        self.budget = budget
        self.received = 0

    def arm(self) -> None:
        self.sock.settimeout(_remaining_s(self.until))

    def sendall(self, data: bytes) -> None:
        self.arm()
        self.sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Stream(self))

    def close(self) -> None:
        self.sock.close()


class _Stream(io.RawIOBase):
    """What comes from a wire. Holds the socket open as its own file objects do."""

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        self._raw = wire.sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._wire.arm()
        count = self._raw.readinto(buffer)
        self._wire.received += count or 0
        if self._wire.received > self._wire.budget:
            raise TooLarge
        return int(count) if count is not None else None

    def close(self) -> None:
        self._raw.close()
        super().close()


def _remaining_s(until: float) -> float:
    remaining_s = until - time.monotonic()
    if remaining_s <= 0:
        raise TimeoutError
    return remaining_s


class _Connection(http.client.HTTPConnection):
    """With one deadline over name, connection, handshake, request and answer."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        super().__init__(host, port)
        if context:
            self.default_port = http.client.HTTPS_PORT
        else:
            self.default_port = http.client.HTTP_PORT
        self.until = 0.0
        self._context = context

    def connect(self) -> None:
        sock = socket.create_connection((self.host, self.port), _remaining_s(self.until))
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                sock.settimeout(_remaining_s(self.until))  # of the whole handshake
                sock = self._context.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise
        self.sock: Any = _Wire(sock)

    def begin(self, until: float, budget: int) -> _Wire:
        self.until = until
        if self.sock is None:
            self.connect()
        wire: _Wire = self.sock
        wire.renew(until, budget)
        return wire


class Http:
    """Requests one after the other on one connection.

    Raises OSError (with a readable text) when it is lost.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        tls: bool,
        insecure: bool,
        timeout: float,
        largest: int = MAX_ANSWER_BYTES,
    ) -> None:
        self.host = host
        self.port = port
        self.timeout = timeout
        self.largest = largest
        self.headers: dict[str, str] = {"Accept": "application/json", "User-Agent": "powertui"}
        self._context: ssl.SSLContext | None = None
        if tls:
            self._context = ssl.create_default_context()
            if insecure:
                self._context.check_hostname = False
                self._context.verify_mode = ssl.CERT_NONE
        self._connection: _Connection | None = None

    def request(self, method: str, path: str, body: Any = None, *, form: str = "") -> Reply:
        """One exchange, within the timeout as a whole."""
        headers = dict(self.headers)
        data: bytes | None = None
        if form:
            data = form.encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        elif body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        exchange = functools.partial(
            self._exchange,
            until=time.monotonic() + self.timeout,
            method=method,
            path=path,
            data=data,
            headers=headers,
        )
        try:
            if self._connection is not None:
                # The server may have closed a kept connection: then once more, on a new one.
                with contextlib.suppress(*_CLOSED):
                    return exchange(connection=self._connection)
            self._connection = _Connection(self.host, self.port, self._context)
            return exchange(connection=self._connection)
        except ssl.SSLCertVerificationError as error:
            where = join_host_port(self.host, None if self.port == _HTTPS else self.port)
            raise SensorError(
                f"The certificate of {where} is not trusted here: {error.verify_message}.",
                hint=(
                    "Name its authority in $SSL_CERT_FILE, or accept any certificate with "
                    "--insecure."
                ),
            ) from None
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise _readable(error) from None

    def _exchange(
        self,
        connection: _Connection,
        until: float,
        method: str,
        path: str,
        data: bytes | None,
        headers: dict[str, str],
    ) -> Reply:
        keep = False
        wire: _Wire | None = None
        response: http.client.HTTPResponse | None = None
        try:
            try:
                wire = connection.begin(until, self.largest + _MAX_HEAD_BYTES)
                connection.request(method, path, data, headers)
                response = connection.getresponse()
                raw = response.read(self.largest + 1)
            except TimeoutError:
                begun = "whole " if wire and wire.received else ""
                raise TimeoutError(f"no {begun}answer within {self.timeout:g} s") from None
            if len(raw) > self.largest:
                raise TooLarge
            if response.length:  # of what its head has announced
                raise http.client.IncompleteRead(raw, response.length)
            if raw and response.getheader("Content-Encoding", "").strip().lower() in _GZIP:
                raw = _unpacked(raw, self.largest)
            keep = response.isclosed() and not response.will_close
        except TooLarge:
            raise TooLarge(
                f"an answer of more than {self.largest >> 20} MiB is not accepted"
            ) from None
        finally:
            if not keep:
                if response is not None:
                    response.close()
                self.close()
        if raw:
            parsed, refused = parse(raw)
        else:
            parsed, refused = None, ""
        return Reply(
            response.status, {k.lower(): v for k, v in response.getheaders()}, parsed, refused
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _readable(error: Exception) -> OSError:
    if isinstance(error, (TooLarge, TimeoutError, _Unpackable)):
        return error
    if isinstance(error, ConnectionRefusedError):
        return ConnectionRefusedError("the connection is refused")
    if isinstance(error, ssl.SSLError):
        return OSError("it does not speak TLS")
    if isinstance(error, OSError):
        return OSError(error.strerror or type(error).__name__)
    if isinstance(error, http.client.IncompleteRead):
        return OSError("the answer ended before it was whole")
    return OSError("an answer that is not HTTP")
