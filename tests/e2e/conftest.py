"""Real processes in a terminal of our own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from .ssh import find_sshd
from .terminal import Terminal, environment

ROOT = Path(__file__).resolve().parents[2]

Opener = Callable[..., Terminal]


def python_env(
    extra: Mapping[str, str] | None = None, *, term: str = "xterm-256color"
) -> dict[str, str]:
    """An environment in which `python -m powertui` finds this checkout."""
    env = environment(term, extra)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH", "")]))
    return env


@pytest.fixture
def profile(data: Path) -> Path:
    """A run of one host, recorded on a CPU."""
    return data / "logdirs" / "jax_cpu"


@pytest.fixture
def logdir(data: Path) -> Path:
    """Several runs."""
    return data / "logdirs"


@pytest.fixture
def start() -> Iterator[Opener]:
    """Start powertui in a terminal: `start(path, size=(80, 24), term=…, env=…)`.

    All are closed at the end.
    """
    opened: list[Terminal] = []

    def opener(
        *arguments: str | Path,
        size: tuple[int, int] = (120, 30),
        term: str = "xterm-256color",
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Terminal:
        command = [sys.executable, "-m", "powertui", *map(str, arguments)]
        terminal = Terminal(command, size=size, env=python_env(env, term=term), **options)
        opened.append(terminal)
        return terminal

    yield opener
    for terminal in opened:
        terminal.close()


@pytest.fixture(scope="session")
def needs_sshd() -> None:
    """Skip where there is no sshd."""
    if find_sshd() is None:
        pytest.skip("no sshd here: install openssh-server and openssh-client")
