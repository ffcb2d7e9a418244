"""One kept connection to a server that speaks JSON: for Redfish and Prometheus. TLS certificates are checked unless told not to."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

from powertui.errors import SensorError
from powertui.sampler.credentials import Secret

__all__ = ["Answer", "Http", "basic", "link", "number"]

_LARGEST = 64 << 20  # bytes of one answer


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: Any  # parsed JSON, None when it was none


def basic(user: str, password: Secret | None) -> str:
    """The value of an Authorization header."""
    text = f"{user}:{password.reveal() if password else ''}"
    return "Basic " + base64.b64encode(text.encode()).decode()


def link(value: Any) -> str:
    """The path of an "@odata.id": only a path on the same server is followed."""
    path = value.get("@odata.id") if isinstance(value, dict) else None
    safe = isinstance(path, str) and path.startswith("/") and not path.startswith("//") and path.isprintable() and " " not in path
    return str(path) if safe else ""


def number(value: Any) -> float | None:
    """A finite number; some servers send it as text."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        result = float(value)
    except (TypeError, ValueError):
        return None
    return result if abs(result) < float("inf") else None


class Http:
    """Requests one after the other on one connection. Raises OSError (with a readable text) when it is lost."""

    def __init__(self, host: str, port: int, *, tls: bool, insecure: bool, timeout: float) -> None:
        self.host, self.port, self.timeout = host, port, timeout
        self.headers: dict[str, str] = {"Accept": "application/json", "User-Agent": "powertui"}
        self._context: ssl.SSLContext | None = None
        if tls:
            self._context = ssl.create_default_context()
            if insecure:
                self._context.check_hostname = False
                self._context.verify_mode = ssl.CERT_NONE
        self._connection: http.client.HTTPConnection | None = None

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            if self._context is not None:
                self._connection = http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self._context)
            else:
                self._connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
        return self._connection

    def request(self, method: str, path: str, body: Any = None, *, form: str = "") -> Answer:
        connection = self._connect()
        fresh = connection.sock is None
        headers = dict(self.headers)
        data: bytes | None = None
        if form:
            data, headers["Content-Type"] = form.encode(), "application/x-www-form-urlencoded"
        elif body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            raw = response.read(_LARGEST)
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise SensorError(
                f"The certificate of {self.host} is not trusted here: {error.verify_message}.",
                hint="Name its authority in $SSL_CERT_FILE, or accept any certificate with --insecure.",
            ) from None
        except (http.client.HTTPException, OSError) as error:
            self.close()
            if not fresh and isinstance(error, (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)):
                return self.request(
                    method, path, body, form=form
                )  # a kept connection that the server had closed: once, on a new one
            raise _readable(error, self.timeout) from None
        try:
            parsed = json.loads(raw) if raw else None
        except ValueError:
            parsed = None
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, parsed)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _readable(error: Exception, timeout: float) -> OSError:
    if isinstance(error, TimeoutError):
        return TimeoutError(f"no answer within {timeout:g} s")
    if isinstance(error, ConnectionRefusedError):
        return ConnectionRefusedError("the connection is refused")
    if isinstance(error, ssl.SSLError):
        return OSError("no TLS there")
    if isinstance(error, OSError):
        return OSError(error.strerror or type(error).__name__)
    return OSError("an answer that is no HTTP")
