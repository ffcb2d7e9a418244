"""Traces of planes that a test makes up, read as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from powertui.data.formats import registry
from powertui.data.model import Trace
from tests.synthetic.xplane import Event, Line, Plane, encode


def trace_of(tmp_path: Path, *planes: Plane) -> Trace:
    """The planes as a reader sees them."""
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(encode(planes))
    return registry.read(path)


def host(*lines: Sequence[Event]) -> Plane:
    """A host with a Python thread for each line."""
    return Plane(
        "/host:CPU", [Line(f"python/{i}", events, key=i + 1) for i, events in enumerate(lines)]
    )
