"""A power source is one file and one line of the table: a toy one, found everywhere that sources
are.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from powertui import cli
from powertui.errors import AuthenticationFailed, UsageError
from powertui.sampler import inventory, schemes
from powertui.sampler.schemes import SCHEMES, Scheme
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp, open_source
from powertui.sampler.urls import Address


class ToySource:
    """Watts in a file."""

    name = "toy"
    min_period = 0.1
    reconnects = 0
    channels: Sequence[Channel] = ()

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self) -> Info:
        if not self._path.exists():
            raise AuthenticationFailed("The toy is closed.")
        self.channels = (Channel("toy", scope="node"),)
        return Info("toy", "toy:", "", self.channels)

    def read(self) -> list[Reading]:
        stamp = Stamp.now()
        watts = float(self._path.read_text())
        t, mono, rtt = stamp.middle()
        return [Reading(t, mono, watts, rtt, self.name, "toy")]

    def close(self) -> None: ...


def make(_address: Address, options: Options) -> ToySource:
    return ToySource(Path(options.root) / "toy_watts")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(sys.modules, "powertui.sampler.toy", sys.modules[__name__])
    monkeypatch.setattr(
        schemes,
        "SCHEMES",
        {**SCHEMES, "toy": Scheme("toy:make", "toy:", "toy:", to_open="the toy")},
    )
    monkeypatch.setattr("powertui.sampler.source.SCHEMES", schemes.SCHEMES)
    (tmp_path / "toy_watts").write_text("123.5")
    return tmp_path


def test_a_further_source_is_opened_named_found_and_recorded(toy: Path) -> None:
    source = open_source("toy:", Options(root=str(toy)))
    source.open()
    assert [one.watts for one in source.read()] == [123.5]
    assert [(one.url, one.watts) for one in inventory.look_here(str(toy)) if one.ok] == [
        ("toy:", {"toy": 123.5})
    ]
    assert [one.url for one in inventory.local_targets(str(toy))] == ["toy:"], (
        "record without --host"
    )
    for verb in ("record", "live", "capture"):
        with redirect_stdout(io.StringIO()) as told, pytest.raises(SystemExit):
            cli.main([verb, "--help"])
        assert " toy: " in " ".join(told.getvalue().split()), verb
    with pytest.raises(UsageError) as caught:
        open_source("joy:")
    assert ", toy." in str(caught.value.hint)


def test_what_an_administrator_can_open_comes_from_the_table(toy: Path) -> None:
    (toy / "toy_watts").unlink()
    assert (
        "Ask its administrator for a BMC account with privilege USER, or the toy, or "
        in "\n".join(inventory.as_lines(inventory.look_here(str(toy))))
    )


@pytest.mark.parametrize("name", SCHEMES)
def test_a_line_of_the_table_holds_what_it_promises(name: str) -> None:
    scheme = SCHEMES[name]
    assert scheme.written.partition(":")[0] in (name, "")
    assert scheme.here.partition(":")[0] in (name, "")
    asked = list(schemes.local())
    before = asked[: asked.index(scheme.here)] if scheme.here else []
    assert {other for other in scheme.yields_to if other.endswith(":")} <= set(before), (
        "it would be recorded first"
    )
    url = (
        "csv:x"
        if name == "csv"
        else f"{name}://host"
        if scheme.bmc or name == "prometheus"
        else f"{name}:"
    )
    assert open_source(url).reconnects == 0
