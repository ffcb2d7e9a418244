"""Names that a person gave to hosts stand in the tables, whatever a recording calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import cli, config
from powertui.data.asked import ReadOptions
from powertui.data.power import called_hosts, registry
from powertui.feed import ReplayFeed

RECORDING = """\
# powertui recording 1
# created: 2026-11-24T20:46:35+00:00
# host: vm
# source: {"name": "10.0.0.7", "source": "ipmi DCMI", "url": "ipmi://10.0.0.7", "host": "10.0.0.7", "channels": [{"name": "power", "host": "10.0.0.7", "scope": "node"}]}
# source: {"name": "10.0.0.8", "source": "ipmi DCMI", "url": "ipmi://10.0.0.8", "host": "10.0.0.8", "channels": [{"name": "power", "host": "10.0.0.8", "scope": "node"}]}
time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark
"""
CONFIG = """\
[hosts.node17]
host = "10.0.0.7"
[hosts.node18]
source = "ipmi://admin@10.0.0.8"
"""


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Made by address, before anybody wrote names into the config file."""
    path = tmp_path / "power.csv"
    lines = []
    for second in range(30):
        for host in ("10.0.0.7", "10.0.0.8"):
            lines.append(f"{1795553195 + second}.5,{second}.5,{host},power,245,,0.001,ok,,\n")
    path.write_text(RECORDING + "".join(lines))
    monkeypatch.setenv("POWERTUI_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text(CONFIG)
    return path


def test_energy_has_the_names_of_the_config_file(recording: Path, capsys) -> None:
    assert cli.main(["energy", str(recording)]) == 0
    page = capsys.readouterr().out
    assert "node17 power" in page
    assert "node18 power" in page
    assert "10.0.0." not in page


def test_what_is_said_now_wins_over_the_config_file(recording: Path, capsys) -> None:
    assert cli.main(["report", str(recording), "--power-host", "10.0.0.7=gpu-a"]) == 0
    page = capsys.readouterr().out
    assert "gpu-a power: 245" in page
    assert "node18 power: 245" in page
    assert "10.0.0." not in page


def test_a_replay_has_the_names_too(recording: Path) -> None:
    settings = config.load()
    names = ReadOptions(called_hosts=settings.called_hosts).shown_names
    power = called_hosts.with_names(registry.load(str(recording)).series, names)
    feed = ReplayFeed(power, "replay")
    assert sorted(history.host for history in feed.board.histories.values()) == ["node17", "node18"]


def test_a_log_that_several_hosts_share_keeps_its_name(recording: Path) -> None:
    series = registry.load(str(recording)).series
    pairs = [("10.0.0.7", "rank0"), ("10.0.0.7", "rank1")]
    assert [s.sensor.called for s in called_hosts.with_names(series, pairs)] == ["", ""]
