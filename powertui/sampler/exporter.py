"""What a recording reads, for scraping: `powertui record --exporter :9400`, as OpenMetrics.

    powertui_energy_joules_total     counter: joules since the recording began, as far as read
    powertui_covered_seconds_total   counter: the time that those joules are of
    powertui_power_watts             gauge: the last reading; absent while there is none

Each series carries host, source, channel, scope and resolution (s between two readings). Counters
carry the moment up to which they count, so that two scrapes give the joules between two readings to
the last digit. Gauges carry none: a server then knows at once that one has gone.

It answers on loopback unless told otherwise, and only to GET /metrics.
"""

from __future__ import annotations

import contextlib
import http.server
import ipaddress
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable

from powertui.errors import SensorError, UsageError
from powertui.named_tuples import NamedTuple
from powertui.plain import plain
from powertui.sampler.health import Health
from powertui.sampler.urls import host_port, join_host_port

__all__ = ["Exporter", "exporter_address", "exposition"]

_CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LOOPBACK = "127.0.0.1"
_TIMEOUT_S = 5.0  # for one request: whoever sends none is not waited for
_MAX_REQUESTS = 8  # answered at the same time: more come in turn
_MAX_LABEL_CHARS = 200  # chosen: names of channels are shorter
_FAMILIES = (
    ("powertui_energy_joules", "counter", "joules", "Energy since the recording began."),
    ("powertui_covered_seconds", "counter", "seconds", "The time that this energy covers."),
    ("powertui_power_watts", "gauge", "watts", "The last reading."),
)


class ExporterAddress(NamedTuple):
    """Where to answer."""

    host: str
    port: int

    def __str__(self) -> str:
        return join_host_port(self.host, self.port)


def exporter_address(text: str) -> ExporterAddress:
    """`:9400` and `9400` are on loopback; `0.0.0.0:9400` and `[::]:9400` are for everybody."""
    written = text.strip()
    if written.isdigit():
        written = f":{written}"
    host, port = host_port(written)
    if port is None:
        raise UsageError(
            f"--exporter {plain(text, 80)} names no port.",
            hint="Write --exporter :9400, or 0.0.0.0:9400 to answer to other machines.",
        )
    return ExporterAddress(host or _LOOPBACK, port)


def exposition(channels: Iterable[Health], here: str) -> str:
    """The text of one scrape. `here` names the machine that we run on."""
    samples: dict[str, list[str]] = {family[0]: [] for family in _FAMILIES}

    def add(family: str, suffix: str, labels: str, value: str) -> None:
        samples[family].append(f"{family}{suffix}{labels} {value}")

    for health in channels:
        labels = _labels(health, here)
        total, last = health.counted()
        if last is None:
            continue
        if total.covered_s > 0:
            moment = f"{last.t:.3f}"
            add("powertui_energy_joules", "_total", labels, f"{total.joules!r} {moment}")
            add("powertui_covered_seconds", "_total", labels, f"{total.covered_s!r} {moment}")
        if last.watts is not None and not health.reason:
            add("powertui_power_watts", "", labels, f"{last.watts!r}")
    lines = []
    for name, kind, unit, help_text in _FAMILIES:
        lines += [f"# TYPE {name} {kind}", f"# UNIT {name} {unit}", f"# HELP {name} {help_text}"]
        lines += samples[name]
    return "\n".join([*lines, "# EOF", ""])


def _labels(health: Health, here: str) -> str:
    channel = health.channel
    resolution_s = max(health.interval, channel.period_s or 0.0)
    named = {
        "host": channel.host or here,
        "source": health.source,
        "channel": channel.name,
        "scope": channel.scope,
        "kind": channel.kind,
        "resolution": f"{resolution_s:g}s",
    }
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in named.items()) + "}"


def _escaped(value: str) -> str:
    """A label's value. It may come from a BMC or a file: it stays on its line."""
    shown = plain(value, _MAX_LABEL_CHARS)
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Exporter:
    """Answers scrapes in threads of its own, from what was read last: it asks no sensor."""

    def __init__(self, address: ExporterAddress, channels: Callable[[], Iterable[Health]]) -> None:
        here = socket.gethostname()
        self._server = _listening(address, lambda: exposition(channels(), here))
        self.port: int = self._server.server_address[1]
        self.address = ExporterAddress(address.host, self.port)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            name="exporter",
            daemon=True,
        )

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines can ask."""
        with contextlib.suppress(ValueError):
            return not ipaddress.ip_address(self.address.host).is_loopback
        return self.address.host != "localhost"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_TIMEOUT_S)


def _listening(address: ExporterAddress, text: Callable[[], str]) -> _Server:
    try:
        family = socket.getaddrinfo(
            address.host,
            address.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0][0]
        server_class = _ServerV6 if family == socket.AF_INET6 else _Server
        return server_class((address.host, address.port), text)
    except OSError as error:
        raise SensorError(
            f"The exporter cannot listen on {address}: {error.strerror or error}.",
            hint="Name another port: --exporter :9401.",
        ) from None


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that hangs does not hold up the end of a recording
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], text: Callable[[], str]) -> None:
        self.text = text
        self._turns = threading.BoundedSemaphore(_MAX_REQUESTS)
        super().__init__(address, _Scrape)

    def server_bind(self) -> None:
        # Without HTTPServer's look-up of our own name, which may wait for a name server.
        socketserver.TCPServer.server_bind(self)

    def process_request(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        if not self._turns.acquire(timeout=_TIMEOUT_S):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._turns.release()

    def handle_error(self, request, client_address) -> None:  # type: ignore[no-untyped-def]
        """Say nothing of a client that went away: the terminal is the recording's."""


class _ServerV6(_Server):
    address_family = socket.AF_INET6


class _Scrape(http.server.BaseHTTPRequestHandler):
    timeout = _TIMEOUT_S
    server: _Server
    server_version, sys_version = "powertui", ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404, "only /metrics is here")
            return
        body = self.server.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", _CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: requests come from anybody, and the terminal is the recording's."""
