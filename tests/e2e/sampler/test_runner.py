"""What is typed on a terminal while a command is still being started."""

from __future__ import annotations

import sys

from pty_process import PtyProcess

CODE = """
import os, signal, sys, time
from powertui.sampler import runner
mask = signal.pthread_sigmask
def typed(how, signals):
    before = mask(how, signals)
    if how == signal.SIG_BLOCK and signal.SIGINT in signals:
        print("blocked", flush=True)
        while signal.SIGINT not in signal.sigpending():
            time.sleep(0.01)
    return before
signal.pthread_sigmask = typed
print("code", runner.run(["sleep", "1000"], os.environ))
"""


def test_ctrl_c_before_the_command_began_reaches_it(environment, tmp_path) -> None:
    """The terminal's signal came while it was blocked and nobody else was there to take it: it must
    not be lost.
    """
    program = PtyProcess([sys.executable, "-c", CODE], environment, tmp_path)
    program.wait("blocked")
    program.send("\x03")
    program.wait("code 130")
    program.close()
