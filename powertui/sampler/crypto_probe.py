"""Whether python-ipmi's cryptography works here: asked of a child process where finding out may
kill it.

PyPI's newest wheels of `cryptography` for POWER are compiled for POWER9: on a POWER8 their import
ends with SIGILL, which no `except` sees. So there a child imports it first. Elsewhere no wheel of
that kind is known, and nothing is asked. Where PyPI has no newer build (32-bit machines), pip may
have taken one that is too old for python-ipmi.
"""

from __future__ import annotations

import functools
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata

__all__ = ["dies_by", "trouble"]

_IMPORT = "import pyipmi.interfaces.rmcpplus"
_IMPORT_TIMEOUT_S = 120.0  # an import from a slow network disk
_MIN_VERSION = (3, 1)  # since then a cipher needs no backend to be named
_POWER_MACHINES = ("ppc64le", "ppc64")


def dies_by(python: Sequence[str]) -> str:
    """The name of the signal that ends this Python when it imports the library; "" for none."""
    try:
        done = subprocess.run(
            [*python, "-c", _IMPORT],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_IMPORT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode >= 0:
        return ""
    try:
        return signal.Signals(-done.returncode).name
    except ValueError:
        return f"signal {-done.returncode}"


@functools.cache
def trouble() -> str:
    """Why the native IPMI client cannot be used in this process, as a sentence; "" when it can."""
    try:
        version = metadata.version("cryptography")
    except metadata.PackageNotFoundError:
        return ""  # the import says so
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _MIN_VERSION:
        return (
            f"The package cryptography {version} is too old for IPMI over LAN (needed: "
            f"{'.'.join(map(str, _MIN_VERSION))})."
        )
    if platform.machine() not in _POWER_MACHINES or "pyipmi.interfaces.rmcpplus" in sys.modules:
        return ""
    name = dies_by((sys.executable, "-I"))
    return (
        f"The package cryptography does not run on this processor (its import ends with {name})."
        if name
        else ""
    )
