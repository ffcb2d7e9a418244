"""The end of the process: at once, with the right code, while a thread is in the middle of compiled
code.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

BUSY = """
import sys, threading
import numpy as np
from powertui import __main__ as program

def work():
    matrix = np.random.default_rng(0).random((400, 400))
    while True:
        np.linalg.lstsq(matrix, matrix[:, 0], rcond=None)

def main():
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    print("said before the end", end="")  # still in the buffer
    return {code}

program.main = main
program.run()
"""


def ended(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("code", [0, 3, 129])
def test_a_thread_that_computes_does_not_hold_up_or_abort_the_end(code: int) -> None:
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", BUSY.replace("{code}", str(code))],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stderr
        assert done.stdout == "said before the end"


def test_what_was_registered_for_the_end_is_done() -> None:
    script = BUSY.replace(
        "def main():", "def main():\n    import atexit; atexit.register(print, ', and this')"
    ).replace("{code}", "0")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.replace("\n", "") == "said before the end, and this"
