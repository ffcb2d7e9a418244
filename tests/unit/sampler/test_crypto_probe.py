"""A library whose import kills the process: found out in a child, and another way is taken and
said.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from powertui.errors import NotSupported
from powertui.sampler import crypto_probe, programs
from powertui.sampler.ipmi import IpmiSource
from powertui.sampler.ipmitool import IpmitoolSource
from powertui.sampler.source import Options, open_source


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    crypto_probe.trouble.cache_clear()
    yield
    crypto_probe.trouble.cache_clear()


def python(folder: Path, *lines: str) -> str:
    path = folder / "python"
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return str(path)


def test_a_child_that_dies_is_told_by_its_signal(tmp_path: Path) -> None:
    assert crypto_probe.dies_by([python(tmp_path, "kill -ILL $$")]) == "SIGILL"
    assert crypto_probe.dies_by([python(tmp_path, "exit 1")]) == "", (
        "an error of the import is told by the import"
    )
    assert crypto_probe.dies_by([str(tmp_path / "none")]) == ""
    assert crypto_probe.dies_by([sys.executable, "-I"]) == "", "it runs here"


def test_on_power_ipmitool_takes_over_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "ppc64le")
    monkeypatch.delitem(sys.modules, "pyipmi.interfaces.rmcpplus", raising=False)
    monkeypatch.setattr(sys, "executable", python(tmp_path, "kill -ILL $$"))
    source = open_source("ipmi://monitor@bmc", Options(root=str(tmp_path)))
    assert isinstance(source, IpmitoolSource)
    monkeypatch.setattr(programs, "find", lambda name, as_root: programs.Program(""))
    with pytest.raises(NotSupported) as caught:
        source.open()
    assert "SIGILL" in caught.value.message
    assert "The program ipmitool is not installed." in caught.value.message


def test_one_that_is_too_old_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What pip takes on a 32-bit machine, for which PyPI has no newer build."""
    monkeypatch.setattr(metadata, "version", lambda name: "2.6.1")
    source = open_source("ipmi://monitor@bmc", Options(root=str(tmp_path)))
    assert isinstance(source, IpmitoolSource)
    monkeypatch.setattr(programs, "find", lambda name, as_root: programs.Program(""))
    with pytest.raises(
        NotSupported, match=r"cryptography 2\.6\.1 is too old .* ipmitool is not installed"
    ):
        source.open()


def test_where_it_runs_nothing_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "ppc64le")
    monkeypatch.delitem(sys.modules, "pyipmi.interfaces.rmcpplus", raising=False)
    assert isinstance(open_source("ipmi://monitor@bmc", Options(root=str(tmp_path))), IpmiSource)
    crypto_probe.trouble.cache_clear()
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(
        crypto_probe,
        "dies_by",
        lambda python: pytest.fail("nothing is asked where no such wheel is known"),
    )
    assert isinstance(open_source("ipmi://monitor@bmc", Options(root=str(tmp_path))), IpmiSource)
