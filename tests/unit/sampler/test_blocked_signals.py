"""Blocked signals are taken one by one, with and without `sigtimedwait`, which macOS lacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from powertui.sampler import blocked_signals, runner
from powertui.sampler.blocked_signals import ArrivedSignal

AS_ON_MACOS = (
    "import signal; [delattr(signal, name) for name in ('sigtimedwait', "
    "'sigwaitinfo') if hasattr(signal, name)]; "
)
RUN = (
    "import os, sys; from powertui.sampler import runner; sys.exit(runner.run(sys.argv[1:], "
    "os.environ))"
)
WANTED = {signal.SIGUSR1, signal.SIGUSR2}


@pytest.fixture(params=["sigtimedwait", "without"])
def blocked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "without":
        monkeypatch.delattr(signal, "sigtimedwait", raising=False)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WANTED)
    yield
    while blocked_signals.take(WANTED, 0) is not None:
        """What a failing test left must not strike later."""
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.usefixtures("blocked")
def test_nothing_came() -> None:
    assert blocked_signals.take(WANTED, 0) is None
    assert blocked_signals.take(WANTED, 0.06) is None
    assert blocked_signals.take(WANTED, -1) is None


@pytest.mark.usefixtures("blocked")
def test_each_comes_once() -> None:
    for number in (signal.SIGUSR2, signal.SIGUSR1):
        signal.pthread_kill(threading.get_ident(), number)  # other threads have not blocked them
    assert {taken.number for _ in WANTED if (taken := blocked_signals.take(WANTED, 5))} == WANTED
    assert blocked_signals.take(WANTED, 0) is None


@pytest.mark.parametrize("system", ["", AS_ON_MACOS])
def test_a_commands_end_is_seen(system: str) -> None:
    assert (
        subprocess.run(
            [sys.executable, "-c", system + RUN, "sh", "-c", "exit 3"], timeout=60
        ).returncode
        == 3
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", system + RUN, "sh", "-c", "kill -9 $$"], timeout=60
        ).returncode
        == 128 + 9
    )


@pytest.mark.parametrize("system", ["", AS_ON_MACOS])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_what_somebody_sends_is_passed_on(system: str, number: signal.Signals) -> None:
    # Short sleeps: a signal that comes between two instructions does not end the sleep that
    # follows.
    command = (
        f"import signal, sys, time; signal.signal({int(number)}, lambda *_: sys.exit(42)); "
        "print(1, flush=True)\n"
        "while True: time.sleep(0.1)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", system + RUN, sys.executable, "-c", command], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        os.kill(process.pid, number)
        assert process.wait(300) == 42


def test_keys_are_not_passed_on_where_nobody_tells_who_pressed_them() -> None:
    """The terminal has sent them to the command, too: twice would end what asks "really?" after the
    first.
    """
    assert not runner._is_to_forward(ArrivedSignal(signal.SIGINT), 1)
    assert runner._is_to_forward(ArrivedSignal(signal.SIGINT, True, 2), 1)
    assert not runner._is_to_forward(ArrivedSignal(signal.SIGINT, True, 1), 1)
    assert not runner._is_to_forward(ArrivedSignal(signal.SIGINT, False), 1)
