"""A Redfish service over TLS, in the shape of OpenBMC on POWER: sessions, chassis,
EnvironmentMetrics, Power, Sensors.

Faults: `metrics=False` (older firmware), `power=False`, watts None (host off: null), `gone` (404),
sessions used up, sessions that end, and a port that closes.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import secrets
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHASSIS = "/redfish/v1/Chassis/chassis"
SESSIONS = "/redfish/v1/SessionService/Sessions"


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for localhost and 127.0.0.1: (certificate, key)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_path, key_path = folder / "cert.pem", folder / "key.pem"
    certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate_path, key_path


class RedfishServer:
    def __init__(self, folder: Path) -> None:
        self.watts: float | None = 245.0
        self.user, self.password = "admin", "pw"
        self.metrics = self.power = True
        self.gone = False
        self.max_sessions = 8
        self.tokens: set[str] = set()
        self.requests: list[str] = []
        self.attempts: list[tuple[str, str]] = []  # user and password of each login, as they came
        self.raw: dict[
            str, Callable[[Writer], object]
        ] = {}  # path → writes the whole answer, status line and all
        self.sent = 0  # bytes of such answers
        self.certificate, self._key = make_certificate(folder)
        self.port = 0
        self._server: ThreadingHTTPServer | None = None

    def start(self) -> RedfishServer:
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", self.port), type("Handler", (_Handler,), {"bmc": self})
        )
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self._key)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self.tokens.clear()

    def __enter__(self) -> RedfishServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def resources(self) -> dict[str, Any]:
        watts = self.watts
        chassis: dict[str, Any] = {"Id": "chassis", "Sensors": {"@odata.id": CHASSIS + "/Sensors"}}
        found: dict[str, Any] = {
            "/redfish/v1/Chassis": {"Members": [{"@odata.id": CHASSIS}]},
            CHASSIS: chassis,
            CHASSIS + "/Sensors": {
                "Members": [
                    {"@odata.id": CHASSIS + "/Sensors/" + s}
                    for s in ("fan0", "power_total_power", "power_p0")
                ]
            },
            CHASSIS + "/Sensors/power_total_power": _sensor("total power", watts),
            CHASSIS + "/Sensors/power_p0": _sensor(
                "p0 power", None if watts is None else watts / 2
            ),
        }
        if self.metrics:
            chassis["EnvironmentMetrics"] = {"@odata.id": CHASSIS + "/EnvironmentMetrics"}
            found[CHASSIS + "/EnvironmentMetrics"] = {"PowerWatts": {"Reading": watts}}
        if self.power:
            chassis["Power"] = {"@odata.id": CHASSIS + "/Power"}
            found[CHASSIS + "/Power"] = {
                "PowerControl": [{"Name": "Chassis Power Control", "PowerConsumedWatts": watts}]
            }
        return found


def _sensor(name: str, watts: float | None) -> dict[str, Any]:
    return {"Name": name, "Reading": watts, "ReadingType": "Power", "ReadingUnits": "W"}


class Writer:
    """Where a hostile answer goes. Counts, and ends when the client has hung up."""

    def __init__(self, handler: _Handler) -> None:
        self._handler = handler

    def __call__(self, data: bytes | str) -> None:
        data = data.encode() if isinstance(data, str) else data
        self._handler.wfile.write(data)
        self._handler.bmc.sent += len(data)


class _Handler(BaseHTTPRequestHandler):
    bmc: RedfishServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, ssl.SSLError):
            self.close_connection = True

    def _send(self, status: int, body: Any, **headers: str) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def _known(self) -> bool:
        return self.headers.get("X-Auth-Token", "") in self.bmc.tokens

    def do_GET(self) -> None:
        self.bmc.requests.append("GET " + self.path)
        if self.path.rstrip("/") in self.bmc.raw:
            self.close_connection = True
            self.bmc.raw[self.path.rstrip("/")](Writer(self))
            return None
        if self.path.startswith(SESSIONS + "/"):
            return self._send(
                200 if self._known() and self.path.rpartition("/")[2] in self.bmc.tokens else 401,
                {},
            )
        if self.path.rstrip("/") == "/redfish/v1":
            body = {
                "RedfishVersion": "1.9.0",
                "Chassis": {"@odata.id": "/redfish/v1/Chassis"},
                "Links": {"Sessions": {"@odata.id": SESSIONS}},
            }
            return self._send(200, body)
        if not self._known():
            return self._send(401, {"error": {"code": "Base.1.0.NoValidSession"}})
        body = None if self.bmc.gone else self.bmc.resources().get(self.path.rstrip("/"))
        return self._send(200 if body is not None else 404, body or {})

    def do_POST(self) -> None:
        self.bmc.requests.append("POST " + self.path)
        given = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path.rstrip("/") != SESSIONS:
            return self._send(405, {})
        self.bmc.attempts.append((given.get("UserName"), given.get("Password")))
        if (given.get("UserName"), given.get("Password")) != (self.bmc.user, self.bmc.password):
            return self._send(401, {"error": {"code": "Base.1.0.ResourceAtUriUnauthorized"}})
        if len(self.bmc.tokens) >= self.bmc.max_sessions:
            return self._send(503, {"error": {"code": "Base.1.0.SessionLimitExceeded"}})
        token = secrets.token_hex(10)
        self.bmc.tokens.add(token)
        return self._send(
            201,
            {"@odata.id": f"{SESSIONS}/{token}"},
            X_Auth_Token=token,
            Location=f"{SESSIONS}/{token}",
        )

    def do_DELETE(self) -> None:
        self.bmc.requests.append("DELETE " + self.path)
        self.bmc.tokens.discard(self.path.rpartition("/")[2])
        self._send(200, {})
