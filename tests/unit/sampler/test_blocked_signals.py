"""Blocked signals are taken one by one, with and without `sigtimedwait`, which macOS lacks."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from powertui.sampler import blocked_signals

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
    assert {blocked_signals.take(WANTED, 5), blocked_signals.take(WANTED, 5)} == {signal.SIGUSR1, signal.SIGUSR2}
    assert blocked_signals.take(WANTED, 0) is None
