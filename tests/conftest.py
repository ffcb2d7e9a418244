"""Where test data lies."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.worked_out_once import read_once, worked_out_once

__all__ = ["read_once", "worked_out_once"]

# How long an example takes is the machine's affair: by default Hypothesis fails what is slow on a
# busy one.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

_HERE = Path(__file__).resolve().parent

# How much is made before garbage is looked for, and how often all that lives is looked through: with
# Python's own 700, 10, 10 that took a sixth of the processor time of tests of screens, with these
# about a twelfth, for 80 MB more in each process (2026-12-01).
_GARBAGE = (10_000, 10, 10)


def pytest_configure() -> None:
    """Collect quickly, and hear signals."""
    # Nearly all that collecting makes stays to the end: to look whether it does took a fifth of it.
    gc.disable()
    # A runner that was started with nohup or in the background ignores these, and every process
    # inherits that.
    for number, wanted in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGTSTP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, wanted)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """The tests themselves stay to the end: nobody has to look again and again whether they do."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(*_GARBAGE)


@pytest.fixture(autouse=True, scope="session")
def _no_state_of_ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a person put together by hand, or marked, on the machine that runs the tests is none of
    theirs.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The small recordings that belong to the project."""
    return _HERE / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """More and larger recordings beside the checkout (own/, public/, golden/).

    Tests that use them skip without.
    """
    folder = _HERE.parent.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data beside this checkout")
    return folder
