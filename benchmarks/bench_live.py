"""The live screen: bytes per tick at 200×50, for one BMC and for 64, against sending the whole screen each time.

The BMCs are the tests' own, over UDP on loopback; the screen runs in a pty that answers like a terminal.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import ROOT, Table

SIZE = (200, 50)
SECONDS = 20.0
TICK_S = 0.5


def measure(hosts: int) -> tuple[float, int, int, float]:
    """(bytes per tick, bytes of a full repaint, readings, CPU share of the screen) with so many BMCs."""
    from tests.bmc.rmcpplus import Bmc
    from tests.e2e.terminal import Terminal, environment

    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        bmcs = [stack.enter_context(Bmc(host=f"127.0.1.{i + 1}")) for i in range(hosts)]
        moving = threading.Event()

        def move() -> None:
            begin = time.monotonic()
            while not moving.wait(0.2):
                for i, bmc in enumerate(bmcs):
                    bmc.machine.watts = int(250 + 40 * math.sin((time.monotonic() - begin) / 5 + i))

        threading.Thread(target=move, daemon=True).start()
        password = Path(folder, "password")
        password.write_text("pw-viewer\n")
        password.chmod(0o600)
        output = Path(folder, "power.csv")
        arguments = [part for bmc in bmcs for part in ("--source", f"ipmi://viewer@{bmc.host}:{bmc.port}")]
        command = [sys.executable, "-m", "powertui", "live", *arguments, "--password-file", str(password), "-o", str(output)]
        env = environment(extra={"PYTHONPATH": str(ROOT)})
        try:
            with Terminal(command, size=SIZE, env=env) as terminal:
                terminal.wait_for(r"changed|sum of", limit=60)
                terminal.run(8.0)
                cpu, before, begin = _cpu(terminal.pid), terminal.total, time.monotonic()
                terminal.run(SECONDS)
                took = time.monotonic() - begin
                per_tick = (terminal.total - before) / (took / TICK_S)
                share = (_cpu(terminal.pid) - cpu) / took
                before = terminal.total
                terminal.press("C-l")
                terminal.run(0.4)
                repaint = terminal.total - before
                terminal.press("q")
                terminal.wait_exit()
        finally:
            moving.set()
        readings = sum(1 for line in output.read_text().splitlines() if line[:1].isdigit())
    return per_tick, repaint, readings, share


def _cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    table = Table(
        "Live screen at 200×50, two ticks a second",
        ["hosts", "bytes per tick", "whole screen", "tick ÷ whole", "CPU of the screen"],
    )
    for hosts in (1, 64):
        per_tick, repaint, _, share = measure(hosts)
        table.row(hosts, f"{per_tick:,.0f}", f"{repaint:,}", f"{per_tick / repaint:.3f}", f"{share:.1%} of a core")
    table.note("Target: at most 4,096 bytes per tick.")
    table.print()
