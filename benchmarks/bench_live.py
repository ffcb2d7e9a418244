"""The live screen: bytes per tick at 200×50, for one BMC and for 64, against sending the whole
screen each time.

The BMCs are the tests' own, over UDP on loopback; the screen runs in a pty that answers like a
terminal.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import ROOT, Amount, Table

SIZE = (200, 50)
SECONDS = Amount(8, 20, "s")
STARTS = Amount(2, 5, "starts")
TICK_S = 0.5


def measure(hosts: int) -> tuple[float, int, int, float]:
    """(bytes per tick, bytes of a full repaint, readings, CPU share of the screen) with so many
    BMCs.
    """
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
        arguments = [
            part for bmc in bmcs for part in ("--source", f"ipmi://viewer@{bmc.host}:{bmc.port}")
        ]
        command = [
            sys.executable,
            "-m",
            "powertui",
            "live",
            *arguments,
            "--password-file",
            str(password),
            "-o",
            str(output),
        ]
        env = environment(extra={"PYTHONPATH": str(ROOT)})
        try:
            with Terminal(command, size=SIZE, env=env) as terminal:
                terminal.wait_for(r"changed|sum of|hosts: least", limit=60)
                terminal.run(8.0)
                cpu, before, begin = _cpu(terminal.pid), terminal.total, time.monotonic()
                terminal.run(SECONDS.count)
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


def first_frame(hosts: int) -> tuple[float, float, float]:
    """(s until the screen stands, CPU s of it, s that an interpreter takes to import a screen) with
    so many silent hosts.

    The hosts take every packet and answer none, as a BMC behind a firewall does; each is asked in
    all three protocols.
    """
    from tests.bmc.rmcpplus import Bmc
    from tests.e2e.terminal import Terminal, environment

    stands, cpu, alone = [], [], []
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        bmcs = [stack.enter_context(Bmc(host=f"127.0.1.{i + 1}", drop=True)) for i in range(hosts)]
        password = Path(folder, "password")
        password.write_text("pw-viewer\n")
        password.chmod(0o600)
        words = [part for bmc in bmcs for part in ("--host", f"{bmc.host}:{bmc.port}")]
        words += [
            "--user",
            "viewer",
            "--password-file",
            str(password),
            "-o",
            str(Path(folder, "power.csv")),
        ]
        env = environment(extra={"PYTHONPATH": str(ROOT)})
        for _ in range(STARTS.count):
            with Terminal(
                [sys.executable, "-m", "powertui", "live", *words], size=SIZE, env=env
            ) as terminal:
                terminal.wait_for("waiting for the first reading")
                stands.append(time.monotonic() - terminal.started)
                cpu.append(_cpu(terminal.pid))
                terminal.press("q")
                terminal.wait_exit()
            begin = time.monotonic()
            subprocess.run(
                [sys.executable, "-c", "import powertui.screens.shell, powertui.screens.live"],
                env=env,
                check=True,
            )
            alone.append(time.monotonic() - begin)
    return statistics.median(stands), statistics.median(cpu), statistics.median(alone)


def _cpu(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    table = Table(
        f"Live screen at 200×50, two ticks a second, watched for {SECONDS}",
        ["hosts", "bytes per tick", "whole screen", "tick ÷ whole", "CPU of the screen"],
    )
    for hosts in (1, 64):
        per_tick, repaint, _, share = measure(hosts)
        table.row(
            hosts,
            f"{per_tick:,.0f}",
            f"{repaint:,}",
            f"{per_tick / repaint:.3f}",
            f"{share:.1%} of a core",
        )
    table.note("Target: at most 4,096 bytes per tick.")
    table.print()
    table = Table(
        f"First frame of `live` at 200×50 while no host answers, median of {STARTS}",
        ["silent hosts", "the screen stands after", "CPU until then", "the imports alone", "ratio"],
    )
    for hosts in (1, 64):
        stands, cpu, alone = first_frame(hosts)
        table.row(
            hosts, f"{stands:.2f} s", f"{cpu:.2f} s", f"{alone:.2f} s", f"{stands / alone:.2f}"
        )
    table.note("Target: 0.5 s, whatever the hosts do.")
    table.print()
