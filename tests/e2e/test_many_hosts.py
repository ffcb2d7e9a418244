"""A run of many hosts in a terminal: they are read by processes beside the screen, which live no
longer than it does.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from ..unit.many_hosts import write_hosts
from ..waiting import until
from .conftest import Opener
from .processes import family, state
from .terminal import Terminal

READY = r"w/s zoom"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_hosts(tmp_path / "logs", hosts=16)


def workers(terminal: Terminal) -> set[int]:
    """The processes that the program started."""
    return family([terminal.pid]) - {terminal.pid}


def are_gone(pids: set[int]) -> bool:
    return all(state(pid) in ("", "Z") for pid in pids)


def opened(start: Opener, logs: Path) -> tuple[Terminal, set[int]]:
    terminal = start(logs)
    terminal.wait_for(READY)
    beside = workers(terminal)
    assert beside
    return terminal, beside


def test_quitting_ends_all_processes(start: Opener, logs: Path) -> None:
    terminal, beside = opened(start, logs)
    terminal.press("q")
    assert terminal.wait_exit() == 0
    assert terminal.left_on() == []
    assert terminal.as_before()
    until(lambda: are_gone(beside))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_program_ends_all_processes(
    start: Opener, logs: Path, number: signal.Signals
) -> None:
    terminal, beside = opened(start, logs)
    terminal.signal(number)
    terminal.wait_exit()
    until(lambda: are_gone(beside))


def test_a_program_that_was_suspended_reads_on_after_fg(start: Opener, logs: Path) -> None:
    terminal, beside = opened(start, logs)
    terminal.write(b"\x1a")
    terminal.wait_until(lambda: state(terminal.pid) == "T", "stopped")
    terminal.signal(signal.SIGCONT)
    terminal.wait_for(READY)
    terminal.wait_until(lambda: "reading" not in terminal.text(), "all hosts are read")
    assert workers(terminal) == beside
    terminal.press("q")
    assert terminal.wait_exit() == 0
    until(lambda: are_gone(beside))


def test_a_process_that_is_killed_takes_nothing_from_the_screen(start: Opener, logs: Path) -> None:
    terminal, beside = opened(start, logs)
    for pid in beside:
        os.kill(pid, signal.SIGKILL)
    terminal.wait_until(lambda: "reading" not in terminal.text(), "all hosts are read")
    terminal.press("v")  # chooses among all hosts
    terminal.wait_for("node15")
    terminal.press("Esc")
    terminal.wait_for(READY)
    terminal.press("q")
    assert terminal.wait_exit() == 0


def test_a_run_of_few_hosts_needs_no_process(start: Opener, tmp_path: Path) -> None:
    terminal = start(write_hosts(tmp_path / "few", hosts=3))
    terminal.wait_for(READY)
    assert not workers(terminal)
