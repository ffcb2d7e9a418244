from __future__ import annotations

from pathlib import Path

import pytest

import powertui
from powertui import api
from tests.synthetic.xplane import blob

JAX = "logdirs/jax_cpu"
NAME = "2026_11_21_00_50_50"


@pytest.fixture
def run(data: Path) -> api.RunView:
    return powertui.open(data / JAX)[0]


@pytest.fixture
def two_hosts(data: Path, tmp_path: Path) -> api.RunView:
    folder = tmp_path / "plugins/profile/x"
    folder.mkdir(parents=True)
    content = (data / JAX / "plugins/profile" / NAME / "vm.xplane.pb").read_bytes()
    for host in ("a.b", "c.d"):  # their names in the files: the same bytes would be one host
        (folder / f"{host}.xplane.pb").write_bytes(content + blob(4, host.encode()))
    return powertui.open(tmp_path)[0]
