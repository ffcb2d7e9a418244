"""Recordings that a daemon lays out for everybody, in /run/powertui."""

from __future__ import annotations

import os
import sys
import time
import types
from pathlib import Path

import pytest

from powertui.errors import SensorError
from powertui.sampler import inventory
from powertui.sampler.own_file import open_own
from powertui.sampler.source import Options
from powertui.sampler.targets import Target
from tests.unit.sampler.counting import counting
from tests.unit.sampler.test_in_band import rapl_tree

HEADER = (
    "# powertui recording 1\n"
    '# source: {"name": "bmc1", "host": "node7", "channels": [{"name": "Total Power", "scope": '
    '"node"}, '
    '{"name": "P0", "scope": "x"}]}\n'
    '# source: {"name": "odd", "channels": [7, {"name": 8}]}\n# source: [\n'
    "time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark\n"
)


def published(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, grows: bool = True, header: str = HEADER
) -> Path:
    """A row comes while somebody waits."""
    path = root / "run/powertui/power.csv"
    path.parent.mkdir(parents=True)
    path.write_text(header)

    def sleep(_seconds: float) -> None:
        if grows:
            with path.open("a") as file:
                file.write(f"{time.time():.6f},1.0,bmc1,Total Power,612,,0.01,ok,,\n")

    monkeypatch.setattr(inventory, "time", types.SimpleNamespace(sleep=sleep))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return path


def test_a_published_recording_is_found_and_stands_for_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = published(tmp_path, monkeypatch)
    (found,) = (one for one in inventory.look_here(str(tmp_path)) if one.ok)
    assert found.url == f"csv:{path}"
    assert [(c.name, c.host, c.scope) for c in found.channels] == [
        ("bmc1 Total Power", "node7", "node"),
        ("bmc1 P0", "node7", "unknown"),
    ]
    assert found.watts == {"bmc1 Total Power": 612.0, "bmc1 P0": None}
    assert found.reasons == {"bmc1 P0": "no new value came meanwhile"}
    assert "Ask its administrator" not in "\n".join(inventory.as_lines([found]))
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 5_000_000)})
    with counting(tmp_path):
        assert [one.url for one in inventory.local_targets(str(tmp_path))] == [
            found.url
        ]  # the node holds the processors


def test_a_recording_that_has_ended_keeps_no_source_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a daemon that begins again would follow its own file."""
    published(tmp_path, monkeypatch, grows=False)
    with pytest.raises(SensorError, match="No power can be read"):
        inventory.local_targets(str(tmp_path))
    rapl_tree(tmp_path, {"intel-rapl:0": ("package-0", 5_000_000)})
    with counting(tmp_path):
        assert [one.url for one in inventory.local_targets(str(tmp_path))] == ["rapl:"]


def test_a_file_whose_rows_name_the_channels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = published(tmp_path, monkeypatch, grows=False, header="time,index,watts\n")

    def sleep(_seconds: float) -> None:
        with path.open("a") as file:
            file.write("1700000000,0,101\n1700000000,1,102\n")

    monkeypatch.setattr(inventory, "time", types.SimpleNamespace(sleep=sleep))
    (found,) = inventory.look_there([Target(f"csv:{path}", Options())])
    assert found.watts == {"watts": None, "watts 0": 101.0, "watts 1": 102.0}


def test_a_recording_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = published(tmp_path, monkeypatch)
    really_open = os.open

    def refuse(name: str | Path, *arguments: int, **named: int | None) -> int:
        if name == path:
            raise PermissionError(13, "Permission denied")
        return really_open(name, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    (found,) = inventory.look_there([Target(f"csv:{path}", Options())])
    assert (found.ok, found.denied, found.hint) == (
        False,
        True,
        f"Ask its owner to make it readable: chmod a+r {path}",
    )


def test_a_file_that_everybody_may_read_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    path.touch()
    path.chmod(0o644)
    os.close(open_own(path))
    assert path.stat().st_mode & 0o777 == 0o644
