from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bmc.fixtures import bmc, ipmi, ipmi_sim, metric_server, prometheus, redfish

__all__ = ["bmc", "ipmi", "ipmi_sim", "metric_server", "prometheus", "redfish"]

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What a person's shell would give, without any config of this machine."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("IPMI", "POWERTUI", "XDG_CONFIG"))
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "IPMI_PASSWORD": "pw-viewer",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.fixture
def powertui(
    tmp_path: Path, environment: dict[str, str]
) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """powertui("record", …) → a started process in an empty folder; ended at the end, if it still
    runs.
    """
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, **more: object) -> subprocess.Popen[str]:
        options: dict[str, object] = {
            "cwd": tmp_path,
            "env": environment,
            "text": True,
            "start_new_session": True,
        }
        options |= {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **more,
        }
        process = subprocess.Popen([sys.executable, "-m", "powertui", *words], **options)  # type: ignore[call-overload]
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):  # with the command that it runs
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
