"""What the ipmitool source makes of that program's ways, with a program of the same name; the real
one is asked in tests/e2e.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from powertui.errors import NotSupported, UsageError
from powertui.sampler.credentials import Secret
from powertui.sampler.source import Options, open_source

SENSORS = "Total Power,280,Watts,ok\nInlet Temp,24,degrees C,ok\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ipmitool without DCMI whose walk over the sensors ends with an error after it has told
    them.
    """
    folder = tmp_path / "bin"
    folder.mkdir(mode=0o755)
    path = folder / "ipmitool"
    path.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"  *'sdr list full'*) printf '{SENSORS}'; echo 'Get SDR 00aa command failed' >&2; "
        "exit 1;;\n"
        "  *'dcmi'*|*' raw '*) echo 'Invalid command' >&2; exit 1;;\n"
        f"  *) printf '{SENSORS}';;\n"
        "esac\n"
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return path


def test_sensors_that_were_told_before_an_error_are_taken(program: Path) -> None:
    """A BMC with one broken record makes ipmitool end with 1 although all the others are there."""
    source = open_source("ipmitool://viewer@127.0.0.1", Options(password=Secret("pw")))
    info = source.open()
    source.close()
    assert [channel.name for channel in info.channels] == ["Total Power"]


def test_a_path_that_names_no_device_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="ipmitool:close is not a source"):
        open_source("ipmitool:close")
    assert open_source("ipmitool:open").name == "ipmitool"


@pytest.mark.skipif(not shutil.which("ipmitool"), reason="ipmitool is not installed")
def test_a_machine_without_a_bmc_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match="no BMC device"):
        open_source("ipmitool:open", Options(root=str(tmp_path))).open()
