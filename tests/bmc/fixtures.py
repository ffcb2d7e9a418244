"""The test parts as pytest fixtures; a conftest.py imports what its folder needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from powertui.sampler.credentials import Secret
from powertui.sampler.source import Options, Source, open_source

from . import prometheus as prometheus_parts
from . import sim as sim_parts
from . import victoria as victoria_parts
from .redfish import RedfishServer
from .rmcpplus import Bmc

PASSWORDS = {"viewer": "pw-viewer", "admin": "pw-admin"}


@pytest.fixture
def bmc() -> Iterator[Bmc]:
    with Bmc() as running:
        yield running


@pytest.fixture
def ipmi_sim(tmp_path: Path) -> Iterator[sim_parts.SimulatedBmc]:
    if reason := sim_parts.why_not():
        pytest.skip(reason)
    with sim_parts.SimulatedBmc(tmp_path / "sim") as running:
        yield running


@pytest.fixture
def redfish(tmp_path: Path) -> Iterator[RedfishServer]:
    with RedfishServer(tmp_path) as running:
        yield running


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[prometheus_parts.Prometheus]:
    if reason := prometheus_parts.why_not():
        pytest.skip(reason)
    server = prometheus_parts.Prometheus(tmp_path)
    yield server
    server.stop()


@pytest.fixture(params=["Prometheus", "VictoriaMetrics"])
def metric_server(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[prometheus_parts.Prometheus | victoria_parts.VictoriaMetrics]:
    """Each of the servers that answer one API, to be filled and started."""
    parts = prometheus_parts if request.param == "Prometheus" else victoria_parts
    if reason := parts.why_not():
        pytest.skip(reason)
    server = getattr(parts, request.param)(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def ipmi() -> Iterator[Callable[..., Source]]:
    """ipmi(port, user="viewer", …) → a source that is closed at the end."""
    opened: list[Source] = []

    def make(
        port: int,
        user: str = "viewer",
        *,
        password: str | None = None,
        query: str = "",
        host: str = "127.0.0.1",
        **options: object,
    ) -> Source:
        options.setdefault(
            "timeout", 20.0
        )  # a busy machine takes its time, and what is asked twice opens two sessions
        secret = Secret(PASSWORDS.get(user, "") if password is None else password)
        name = f"[{host}]" if ":" in host else host
        source = open_source(
            f"ipmi://{user}@{name}:{port}{query}", Options(password=secret, **options)
        )  # type: ignore[arg-type]
        opened.append(source)
        return source

    yield make
    for source in opened:
        source.close()


def impatient(source: Source, seconds: float) -> None:
    """From now on it waits no longer than this for an answer.

    It was opened with all the time that a busy machine needs.
    """
    source._options = replace(source._options, timeout=seconds)  # type: ignore[attr-defined]
    source._link.timeout = seconds  # type: ignore[attr-defined]
